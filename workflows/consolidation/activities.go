package consolidation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/shared/bank"
	"github.com/mneme-memory/mneme/shared/embedding"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/language"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/shared/window"
)

const (
	// maxLookups bounds what a former looks up at a time.
	maxLookups = 64
	// relatedAlpha weighs vector against words when relating: alike.
	relatedAlpha = 0.5
	// maxPoolBytes bounds the texts of a batch's related entries: they go through payloads of at most 2 MB. Entries
	// cost about entryBytes beside their text.
	maxPoolBytes, entryBytes = 512 << 10, 512
	// maxExtractedBytes bounds what one consolidation extracts, for the same reason.
	maxExtractedBytes = 3 << 19
	// maxWindowBytes bounds the turns of working memory that a decision sees.
	maxWindowBytes = 64 << 10
	// relateParallel bounds the queries of one batch in flight.
	relateParallel = 8
)

// Announcer tells the world what a consolidation did.
type Announcer interface {
	// Announce publishes changes of a user, in order; a repeated one carries the same ids.
	Announce(ctx context.Context, scope memory.Scope, changes []memory.Change, at time.Time) error
	// DeadLetter keeps the turns of a batch that could not be consolidated, so that they can be replayed.
	DeadLetter(ctx context.Context, b Batch, reason string, at time.Time) error
}

// Formers finds the former of a tenant's strategy and policy; an unknown pair is an error.
type Formers func(strategy, policy string) (formation.Former, error)

// Activities are the steps of a consolidation. They hold no state: any worker can run any of
// them, and run it again.
type Activities struct {
	Formers  Formers
	Embedder embedding.Embedder
	Bank     bank.Bank
	Window   window.Window
	Announce Announcer
	// Erasures goes on with an erasure once the bank is empty.
	Erasures Erasures
}

// Extract asks the policy what the turns say, and embeds it. Model-bound.
func (a *Activities) Extract(ctx context.Context, b Batch) (Extracted, error) {
	former, err := a.Formers(b.Strategy, b.Policy)
	if err != nil {
		return Extracted{}, classify(err)
	}
	candidates, err := former.Extract(ctx, formation.Session{Scope: b.Scope, ID: b.SessionID, Turns: b.Turns})
	if err != nil {
		return Extracted{}, classify(fmt.Errorf("extract: %w", err))
	}
	formation.Number(candidates)
	texts := make([]string, len(candidates))
	for i, c := range candidates {
		texts[i] = c.Content
	}
	vectors, err := a.Embedder.Embed(ctx, texts)
	if err != nil {
		return Extracted{}, classify(fmt.Errorf("embed candidates: %w", err))
	}
	bytes := 0
	for i := range candidates {
		candidates[i].Vector = vectors[i]
		bytes += entryBytes + len(candidates[i].Content) + 6*len(vectors[i]) // four bytes a number, in base64, in JSON
	}
	if bytes > maxExtractedBytes {
		return Extracted{}, temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("%d turns say %d things, more than one consolidation takes", len(b.Turns), len(candidates)), errorTooLarge, nil)
	}
	return Extracted{Candidates: candidates}, nil
}

// Relate leaves out what was consolidated before and finds the entries near to the rest.
// Store-bound.
func (a *Activities) Relate(ctx context.Context, in RelateInput) (Neighbourhood, error) {
	fresh, known, err := a.fresh(ctx, in)
	if err != nil {
		return Neighbourhood{}, classify(err)
	}
	lookups := make([]formation.Lookup, len(fresh))
	for i, c := range fresh {
		lookups[i] = formation.Lookup{Text: c.Content, Vector: c.Vector, K: c.Neighbours}
	}
	n := Neighbourhood{Candidates: fresh, Known: known}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		n.Pool, n.Near, err = a.search(gctx, in.Batch.Scope, lookups)
		return err
	})
	if tenant.Strategy(in.Batch.Strategy).KeepsCore() {
		g.Go(func() (err error) {
			n.Core, err = a.Bank.Core(gctx, in.Batch.Scope)
			return err
		})
	}
	g.Go(func() (err error) {
		n.Window, err = a.recent(gctx, in.Batch.Scope)
		return err
	})
	if err := g.Wait(); err != nil {
		return Neighbourhood{}, classify(fmt.Errorf("relate: %w", err))
	}
	return n, nil
}

// Look makes the searches that a former asked for. Store-bound.
func (a *Activities) Look(ctx context.Context, in LookInput) (Looked, error) {
	entries, near, err := a.search(ctx, in.Scope, in.Lookups)
	if err != nil {
		return Looked{}, classify(fmt.Errorf("look up: %w", err))
	}
	return Looked{Pool: entries, Near: near}, nil
}

// search looks several things up, some at a time, and pools what is found.
func (a *Activities) search(ctx context.Context, scope memory.Scope, lookups []formation.Lookup) ([]memory.Memory, [][]Neighbour, error) {
	found := make([][]bank.Scored, len(lookups))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(relateParallel)
	for i, l := range lookups {
		if l.K == formation.NoNeighbours {
			continue
		}
		k := min(l.K, formation.MaxNeighbours)
		if k <= 0 {
			k = formation.MaxNeighbours
		}
		g.Go(func() (err error) {
			found[i], err = a.Bank.Search(gctx, scope, bank.Query{Text: l.Text, Vector: l.Vector, K: k, Alpha: relatedAlpha, WithVectors: true})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	entries, near := pool(lookups, found)
	return entries, near, nil
}

// recent returns the turns of working memory that have been consolidated, the newest of them that fit into a payload. What waits or was
// given up is left out: a turn that no model takes must not spoil the sessions after it.
func (a *Activities) recent(ctx context.Context, scope memory.Scope) ([]memory.Turn, error) {
	turns, err := a.Window.Recent(ctx, scope)
	if err != nil {
		return nil, fmt.Errorf("read window: %w", err)
	}
	ids := make([]string, len(turns))
	for i, t := range turns {
		ids[i] = t.ID
	}
	kept, err := a.Bank.Turns(ctx, scope, ids)
	if err != nil {
		return nil, fmt.Errorf("look up consolidated turns: %w", err)
	}
	turns = slices.DeleteFunc(turns, func(t memory.Turn) bool {
		return !slices.ContainsFunc(kept, func(k memory.Turn) bool { return k.ID == t.ID })
	})
	first, bytes := len(turns), 0
	for ; first > 0; first-- {
		bytes += len(turns[first-1].Text) + len(turns[first-1].Caption)
		if bytes > maxWindowBytes {
			break
		}
	}
	return turns[first:], nil
}

// fresh drops candidates all of whose turns are in the bank already: the session came twice. It also
// returns those turns.
func (a *Activities) fresh(ctx context.Context, in RelateInput) ([]formation.Candidate, []string, error) {
	ids := make([]string, len(in.Batch.Turns))
	for i, t := range in.Batch.Turns {
		ids[i] = t.ID
	}
	kept, err := a.Bank.Turns(ctx, in.Batch.Scope, ids)
	if err != nil {
		return nil, nil, fmt.Errorf("look up consolidated turns: %w", err)
	}
	done := make(map[string]bool, len(kept))
	for _, t := range kept {
		done[t.ID] = true
	}
	known := func(id string) bool { return done[id] }
	return slices.DeleteFunc(slices.Clone(in.Candidates), func(c formation.Candidate) bool {
		return !slices.ContainsFunc(c.Sources, func(id string) bool { return !known(id) })
	}), slices.Sorted(maps.Keys(done)), nil
}

// pool collects the entries found, each once and without its vector: the nearest of every lookup first, until
// there are maxPoolBytes of them.
func pool(lookups []formation.Lookup, found [][]bank.Scored) (entries []memory.Memory, near [][]Neighbour) {
	near = make([][]Neighbour, len(lookups))
	at := map[string]int{}
	bytes := 0
	for rank := range formation.MaxNeighbours {
		for i, hits := range found {
			if rank >= len(hits) {
				continue
			}
			m := hits[rank].Memory
			n := Neighbour{Similarity: memory.Cosine(lookups[i].Vector, m.Vector)}
			j, ok := at[m.ID]
			if !ok && bytes+len(m.Content)+len(m.Value) > maxPoolBytes {
				continue
			}
			if !ok {
				j = len(entries)
				at[m.ID] = j
				bytes += entryBytes + len(m.Content) + len(m.Value)
				m.Vector = nil
				entries = append(entries, m)
			}
			n.Pool = j
			near[i] = append(near[i], n)
		}
	}
	return entries, near
}

// Decide asks the policy what the candidates do to the bank, and plans the writes; or it returns what the policy wants to
// know first. Model-bound.
func (a *Activities) Decide(ctx context.Context, in DecideInput) (Decided, error) {
	former, err := a.Formers(in.Batch.Strategy, in.Batch.Policy)
	if err != nil {
		return Decided{}, classify(err)
	}
	if len(in.Neighbourhood.Candidates) == 0 {
		return Decided{}, nil
	}
	verdict, err := former.Decide(ctx, bundle(in))
	if err != nil {
		return Decided{}, classify(fmt.Errorf("decide: %w", err))
	}
	if len(verdict.Lookups) > 0 {
		return a.ask(ctx, verdict)
	}
	if err := a.complete(ctx, in, verdict.Operations); err != nil {
		return Decided{}, classify(err)
	}
	decided, err := plan(in, verdict, former.Version())
	if err != nil {
		return Decided{}, classify(fmt.Errorf("plan: %w", err))
	}
	return decided, nil
}

// ask is a decision put off until the lookups are made.
func (a *Activities) ask(ctx context.Context, verdict formation.Verdict) (Decided, error) {
	if len(verdict.Lookups) > maxLookups {
		return Decided{}, classify(fault.Terminal("verdict.lookups", "are %d, want at most %d at a time", len(verdict.Lookups), maxLookups))
	}
	texts := make([]string, len(verdict.Lookups))
	for i, l := range verdict.Lookups {
		texts[i] = l.Text
	}
	vectors, err := a.Embedder.Embed(ctx, texts)
	if err != nil {
		return Decided{}, classify(fmt.Errorf("embed lookups: %w", err))
	}
	for i := range verdict.Lookups {
		verdict.Lookups[i].Vector = vectors[i]
	}
	return Decided{Lookups: verdict.Lookups, Memo: verdict.Memo}, nil
}

// plan turns a verdict into writes.
func plan(in DecideInput, v formation.Verdict, version string) (Decided, error) {
	scope := in.Batch.Scope
	write, err := memory.Plan(scope, v.Operations, in.Neighbourhood.Pool, in.Now)
	if err != nil {
		return Decided{}, err
	}
	write.Core, err = memory.PlanCore(scope, in.Neighbourhood.Core, v.Core, in.Batch.SessionID, version, in.Now)
	if err != nil {
		return Decided{}, err
	}
	for _, id := range v.Retire {
		if !slices.Contains(write.Retire, id) {
			write.Retire = append(write.Retire, id)
		}
	}
	changes := append(memory.Changes(scope, v.Operations), memory.CoreChanges(scope, write.Core, v.Core)...)
	return Decided{Write: write, Changes: changes}, nil
}

func bundle(in DecideInput) formation.Bundle {
	n := in.Neighbourhood
	b := formation.Bundle{
		Session: formation.Session{Scope: in.Batch.Scope, ID: in.Batch.SessionID, Turns: in.Batch.Turns},
		Core:    n.Core, Window: n.Window, Memo: in.Memo,
	}
	for i, c := range n.Candidates {
		f := gather(n.Pool, n.Near[i])
		b.Related = append(b.Related, formation.Related{Candidate: c, Memories: f.Memories, Similarity: f.Similarity})
	}
	for _, near := range in.Found {
		b.Found = append(b.Found, gather(n.Pool, near))
	}
	return b
}

func gather(pool []memory.Memory, near []Neighbour) formation.Found {
	var f formation.Found
	for _, n := range near {
		f.Memories = append(f.Memories, pool[n.Pool])
		f.Similarity = append(f.Similarity, n.Similarity)
	}
	return f
}

// complete marks new entries with the trace and embeds those whose text is not a candidate's.
func (a *Activities) complete(ctx context.Context, in DecideInput, ops []memory.Operation) error {
	vectors := map[string]memory.Vector{}
	for _, c := range in.Neighbourhood.Candidates {
		vectors[c.Content] = c.Vector
	}
	var missing []*memory.Memory
	var texts []string
	traceID, spanID := spanIDs(ctx)
	for _, op := range ops {
		if op.New == nil {
			continue
		}
		op.New.TraceID, op.New.SpanID = traceID, spanID
		op.New.Vector = vectors[op.New.Content]
		if op.New.Vector == nil {
			missing, texts = append(missing, op.New), append(texts, op.New.Content)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	embedded, err := a.Embedder.Embed(ctx, texts)
	if err != nil {
		return fmt.Errorf("embed entries: %w", err)
	}
	for i, m := range missing {
		m.Vector = embedded[i]
	}
	return nil
}

// Apply writes what was decided, retires what W should no longer show, and announces the
// changes. Store-bound, and the same however often it runs.
func (a *Activities) Apply(ctx context.Context, in ApplyInput) error {
	w := in.Decided.Write
	// A turn that came again does not take the place of the one that the entries were made from.
	again := func(t memory.Turn) bool { return slices.Contains(in.Known, t.ID) }
	w.Turns = slices.DeleteFunc(slices.Clone(in.Batch.Turns), again)
	record, err := a.sessionRecord(ctx, in)
	if err != nil {
		return classify(err)
	}
	w.Session = record
	if err := a.Bank.Write(ctx, in.Batch.Scope, w); err != nil {
		return classify(fmt.Errorf("write bank: %w", err))
	}
	if len(w.Retire) > 0 {
		if err := a.Window.Retire(ctx, in.Batch.Scope, w.Retire); err != nil {
			return classify(fmt.Errorf("retire from window: %w", err))
		}
	}
	if len(in.Decided.Changes) == 0 {
		return nil
	}
	if err := a.Announce.Announce(ctx, in.Batch.Scope, in.Decided.Changes, in.Now); err != nil {
		return classify(fmt.Errorf("announce changes: %w", err))
	}
	return nil
}

// sessionRecord says how far the session is. FormedAt tells a repeated Apply from a further batch
// of the same session, and turns that came again are left out, so that counts are not added twice. Nil when there is
// nothing new to say.
func (a *Activities) sessionRecord(ctx context.Context, in ApplyInput) (*memory.SessionRecord, error) {
	at := in.Now.UTC().Truncate(time.Millisecond)
	old, ok, err := a.Bank.Session(ctx, in.Batch.Scope, in.Batch.SessionID)
	if err != nil {
		return nil, fmt.Errorf("look up session: %w", err)
	}
	turns := len(in.Batch.Turns) - len(in.Known)
	if ok && (old.FormedAt.Equal(at) || (turns == 0 && old.Closed)) {
		return nil, nil
	}
	return &memory.SessionRecord{
		SessionID: in.Batch.SessionID, FormedAt: at, Closed: old.Closed || in.Batch.Closes,
		Turns: old.Turns + turns, Operations: old.Operations + len(in.Decided.Changes),
	}, nil
}

// Retract takes an entry out of recall on request and announces it. An entry that is gone, or that a newer version
// took the place of, is left as it is. Store-bound.
func (a *Activities) Retract(ctx context.Context, in RetractInput) error {
	m, err := a.Bank.Get(ctx, in.Scope, in.MemoryID)
	if errors.Is(err, bank.ErrNotFound) || (err == nil && m.Status == memory.StatusSuperseded) {
		return nil
	}
	if err != nil {
		return classify(fmt.Errorf("get memory: %w", err))
	}
	// It is told as if it had never held: no question about the past shows it again.
	op := memory.Operation{Kind: memory.OpDelete, Targets: []string{m.ID}, Sources: []string{in.EventID}, At: m.ValidFrom}
	if m.Status == memory.StatusActive {
		w, err := memory.Plan(in.Scope, []memory.Operation{op}, []memory.Memory{m}, in.Now)
		if err != nil {
			return classify(err)
		}
		if err := a.Bank.Write(ctx, in.Scope, w); err != nil {
			return classify(fmt.Errorf("write bank: %w", err))
		}
	}
	// What follows is done for an entry that is retracted already, too: an earlier attempt may have ended before it.
	if err := a.Window.Retire(ctx, in.Scope, m.Sources); err != nil {
		return classify(fmt.Errorf("retire from window: %w", err))
	}
	changes := memory.Changes(in.Scope, []memory.Operation{op})
	cut, err := a.cutCore(ctx, in, m)
	if err != nil {
		return classify(fmt.Errorf("cut core block: %w", err))
	}
	changes = append(changes, cut...)
	if err := a.Announce.Announce(ctx, in.Scope, changes, in.Now); err != nil {
		return classify(fmt.Errorf("announce changes: %w", err))
	}
	return nil
}

// cutCore takes the lines that tell of an entry out of the core block, where there is one.
func (a *Activities) cutCore(ctx context.Context, in RetractInput, m memory.Memory) ([]memory.Change, error) {
	if !tenant.Strategy(in.Strategy).KeepsCore() {
		return nil, nil
	}
	core, err := a.Bank.Core(ctx, in.Scope)
	if err != nil {
		return nil, err
	}
	var ops []memory.CoreOperation
	for line := range strings.Lines(core.Content) {
		line = strings.TrimRight(line, "\n")
		if tells(line, m.Content) {
			ops = append(ops, memory.CoreOperation{Kind: memory.OpReplace, Old: line, Sources: []string{in.EventID}, Reason: "deleted on request"})
		}
	}
	next, err := memory.PlanCore(in.Scope, core, ops, m.SessionID, core.PolicyVersion, in.Now)
	if err != nil || next == nil {
		return nil, err
	}
	return memory.CoreChanges(in.Scope, next, ops), a.Bank.Write(ctx, in.Scope, memory.Write{Core: next})
}

// tellingShare is how much of an entry's words a line of the core block has when it tells of it.
const tellingShare = 0.8

// tells reports whether a line says what an entry says, in its words or most of them.
func tells(line, content string) bool {
	have, stems := language.StemSet(line), language.ContentStems(content)
	n := 0
	for _, stem := range stems {
		if have[stem] {
			n++
		}
	}
	return len(stems) > 0 && float64(n) >= tellingShare*float64(len(stems))
}

// DeadLetter keeps the turns of a batch whose consolidation failed for good. Store-bound.
func (a *Activities) DeadLetter(ctx context.Context, in DeadLetterInput) error {
	activity.GetLogger(ctx).Error("session goes to the dead letters",
		"tenant", in.Batch.Scope.Tenant, "session", in.Batch.SessionID, "turns", len(in.Batch.Turns), "reason", in.Reason)
	return a.Announce.DeadLetter(ctx, in.Batch, in.Reason, in.Now)
}
