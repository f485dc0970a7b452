package consolidation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// maxLookups limits the number of simultaneous lookups of a former.
const maxLookups = 64

// Decide asks the policy for the effect of the candidates on the bank, and plans the writes. Or it returns the
// lookups that the policy needs first. It waits for a model.
func (a *Activities) Decide(ctx context.Context, in DecideInput) (Decided, error) {
	former, err := a.Formers(in.Batch.Strategy, in.Batch.Policy)
	if err != nil {
		return Decided{}, classify(err)
	}
	var verdict formation.Verdict
	if len(in.Neighbourhood.Candidates) > 0 {
		if verdict, err = former.Decide(ctx, bundle(in)); err != nil {
			return Decided{}, classify(fmt.Errorf("decide: %w", err))
		}
	}
	if len(verdict.Lookups) > 0 {
		return a.ask(ctx, verdict)
	}
	before, err := a.madeBefore(ctx, in.Batch)
	if err != nil {
		return Decided{}, classify(err)
	}
	if err := a.replaceStandIns(before, &in, &verdict); err != nil {
		return Decided{}, classify(err)
	}
	if err := a.assignFreshIDs(ctx, before, in, verdict.Operations); err != nil {
		return Decided{}, classify(err)
	}
	if err := a.complete(ctx, in, verdict.Operations); err != nil {
		return Decided{}, classify(err)
	}
	decided, err := plan(in, verdict, former.Version())
	if err != nil {
		return Decided{}, classify(fmt.Errorf("plan: %w", err))
	}
	return decided, fits("the decision", decided)
}

// madeBefore returns the bank's entries, in every state, that come from the turns of a batch. Such entries exist if
// the turns come again, from the dead letters or by a repeated delivery. They also exist if one turn is worked off in
// parts.
func (a *Activities) madeBefore(ctx context.Context, b Batch) (made []memory.Memory, err error) {
	if len(b.Turns) == 0 {
		return nil, nil
	}
	o := bank.ListOptions{Sources: b.turnIDs()}
	for {
		page, err := a.Bank.List(ctx, b.Scope, o)
		if err != nil {
			return nil, fmt.Errorf("look for earlier entries of the turns: %w", err)
		}
		made = append(made, page.Memories...)
		if o.Token = page.Next; o.Token == "" {
			return made, nil
		}
	}
}

// reasonStandIn is the reason of an operation that ends a stand-in entry after a model formed the turn.
const reasonStandIn = "formed by the model"

// replaceStandIns ends the entries of the policy without a model, once the model forms their turns. A used-up budget
// had kept those turns from the model. An entry that the model's operations target stays under those operations.
// replaceStandIns may also end entries of the bank that the decision did not see.
func (a *Activities) replaceStandIns(before []memory.Memory, in *DecideInput, verdict *formation.Verdict) error {
	if len(before) == 0 || tenant.Policy(in.Batch.Policy).Kind() == tenant.PolicyEmbedded || in.Batch.Skip > 0 {
		return nil
	}
	other, err := a.Formers(in.Batch.Strategy, policyWithoutModel)
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for _, op := range verdict.Operations {
		for _, id := range op.Targets {
			named[id] = true
		}
	}
	own := in.Batch.turnIDs()
	// these turns come again, and their stand-ins hold until then
	failed := sourcesOf(slices.Concat(in.Failed, verdict.Failed))
	foreign := func(id string) bool { return !slices.Contains(own, id) || slices.Contains(failed, id) }
	for _, m := range before {
		if m.Status != memory.StatusActive || named[m.ID] || policyName(m.PolicyVersion) != policyName(other.Version()) ||
			slices.ContainsFunc(m.Sources, foreign) {
			continue
		}
		verdict.Operations = append(verdict.Operations, memory.Operation{
			Kind: memory.OpDelete, Targets: []string{m.ID}, Sources: slices.Clone(m.Sources), Reason: reasonStandIn,
			At: m.ValidFrom,
		})
		if !slices.ContainsFunc(in.Neighbourhood.Pool, func(p memory.Memory) bool { return p.ID == m.ID }) {
			in.Neighbourhood.Pool = append(in.Neighbourhood.Pool, m)
		}
	}
	return nil
}

// policyName returns the stable part of a policy's version.
func policyName(version string) string {
	name, _, _ := strings.Cut(version, "/")
	return name
}

// againFrom is the first ordinal of entries from turns that already have entries.
const againFrom = 1000

// assignFreshIDs gives new ids to entries with the id of another entry in the bank. That occurs for turns that
// already have entries, because an id depends on the turns and on the ordinal of the entry. The bank would overwrite
// nothing, but it would lose the new entry.
func (a *Activities) assignFreshIDs(
	ctx context.Context, before []memory.Memory, in DecideInput, ops []memory.Operation,
) error {
	if len(before) == 0 {
		return nil
	}
	b := in.Batch
	taken := map[string]bool{}
	free := func(id, content string) (bool, error) {
		if taken[id] {
			return false, nil
		}
		m, err := a.Bank.Get(ctx, b.Scope, id)
		if errors.Is(err, bank.ErrNotFound) {
			return true, nil
		}
		return err == nil && m.Content == content, err // an earlier attempt wrote it, and it stays as it is
	}
	renamed, holds := map[string]string{}, map[string]bool{}
	for _, m := range in.Neighbourhood.Pool {
		holds[m.ID] = true
	}
	for i := range ops {
		for k, id := range ops[i].Targets {
			switch now, again := renamed[id]; {
			case holds[id]: // the bank has another entry with the id
				holds[id] = ops[i].Kind == memory.OpNone
			case again:
				ops[i].Targets[k] = now
			}
		}
		m := ops[i].New
		if m == nil {
			continue
		}
		id := m.ID
		for n := againFrom; ; n++ {
			ok, err := free(id, m.Content)
			if err != nil {
				return fmt.Errorf("look for entries of repeated turns: %w", err)
			}
			if ok {
				break
			}
			id = memory.DeriveID(b.Scope, ops[i].Sources, n)
		}
		if id != m.ID {
			renamed[m.ID], m.ID = id, id
		}
		taken[id] = true
	}
	for i := range ops {
		if ops[i].New == nil {
			continue
		}
		for k, id := range ops[i].New.Links {
			if now, ok := renamed[id]; ok {
				ops[i].New.Links[k] = now
			}
		}
	}
	return nil
}

// ask returns a decision that is postponed until the lookups are done.
func (a *Activities) ask(ctx context.Context, verdict formation.Verdict) (Decided, error) {
	if len(verdict.Lookups) > maxLookups {
		err := fault.Terminal("verdict.lookups", "are %d, want at most %d at a time", len(verdict.Lookups), maxLookups)
		return Decided{}, classify(err)
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
	out := Decided{Lookups: verdict.Lookups, Memo: verdict.Memo}
	return out, fits("the request", out)
}

// plan converts a verdict into writes.
func plan(in DecideInput, v formation.Verdict, version string) (Decided, error) {
	scope := in.Batch.Scope
	if err := checkVerdict(in, v); err != nil {
		return Decided{}, err
	}
	memory.Attribute(v.Operations, in.Batch.turns())
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
	changes := append(memory.Changes(scope, v.Operations, in.Neighbourhood.Pool),
		memory.CoreChanges(scope, write.Core, v.Core)...)
	return Decided{Write: write, Changes: changes, Passing: v.Passing, Failed: v.Failed}, nil
}

// checkVerdict refuses a verdict with a source outside the batch and outside the sources of the shown entries.
// Context is read only, and no entry comes from it.
func checkVerdict(in DecideInput, v formation.Verdict) error {
	own, known := map[string]bool{}, map[string]bool{}
	for _, id := range in.Batch.turnIDs() {
		own[id], known[id] = true, true
	}
	for _, m := range in.Neighbourhood.Pool {
		for _, id := range m.Sources {
			known[id] = true
		}
	}
	for _, id := range in.Neighbourhood.Core.Sources {
		known[id] = true
	}
	var sources []string
	for _, op := range v.Operations {
		sources = append(sources, op.Sources...)
	}
	for _, op := range v.Core {
		sources = append(sources, op.Sources...)
	}
	if i := slices.IndexFunc(sources, func(id string) bool { return !known[id] }); i >= 0 {
		return fault.Terminal("verdict.sources", "names turn %q, which is not a turn of the batch", sources[i])
	}
	for _, p := range v.Passing {
		if !own[p.TurnID] || p.Until.IsZero() {
			return fault.Terminal("verdict.passing", "names turn %q until %s, want a turn of the batch and a time", p.TurnID,
				p.Until)
		}
	}
	return nil
}

func bundle(in DecideInput) formation.Bundle {
	n := in.Neighbourhood
	b := formation.Bundle{
		Session: in.Batch.session(), Core: n.Core, Window: n.Window, Memo: in.Memo,
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

// complete adds the trace to new entries. It embeds entries whose text is not the text of a candidate.
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
