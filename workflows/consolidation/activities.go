package consolidation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/window"
)

// Announcer publishes the changes of a consolidation.
type Announcer interface {
	// Announce publishes changes of a user, in order. A repeated change carries the same ids.
	Announce(ctx context.Context, scope memory.Scope, changes []memory.Change, at time.Time) error
	// DeadLetter keeps the turns of a batch that failed, so that they can be replayed.
	DeadLetter(ctx context.Context, b Batch, reason string, at time.Time) error
}

// Formers finds the former of a tenant's strategy and policy. An unknown pair is an error.
type Formers func(strategy, policy string) (formation.Former, error)

// Activities are the steps of a consolidation. They hold no state: any worker can run and repeat them.
type Activities struct {
	Formers  Formers
	Embedder embedding.Embedder
	Bank     bank.Bank
	Window   window.Window
	Announce Announcer
	// Erasures continues an erasure once the bank is empty.
	Erasures Erasures
}

// Extract asks the policy for the candidates of the turns that have no earlier decision, and embeds them. It waits
// for a model, except for a read of the bank. It removes repeated turns from the model's input, because one candidate
// may come from several turns.
func (a *Activities) Extract(ctx context.Context, b Batch) (Extracted, error) {
	known, reused, err := a.known(ctx, b)
	if err != nil {
		return Extracted{}, classify(err)
	}
	b = b.without(known)
	if len(b.Turns) == 0 {
		return Extracted{Known: known, Reused: reused}, nil
	}
	former, err := a.Formers(b.Strategy, b.Policy)
	if err != nil {
		return Extracted{}, classify(err)
	}
	session := b.session()
	if r, ok := former.(formation.Reader); ok && r.Reads() > 0 && !b.Plain {
		if session.Known, err = a.searchNear(ctx, b, r.Reads()); err != nil {
			return Extracted{}, classify(fmt.Errorf("look up known entries: %w", err))
		}
	}
	candidates, err := former.Extract(ctx, session)
	if err == nil {
		err = checkCandidates(b, candidates)
	}
	if err != nil {
		return Extracted{}, classify(fmt.Errorf("extract: %w", err))
	}
	candidates, failed := sound(candidates)
	formation.Number(candidates)
	candidates = candidates[min(b.Skip, len(candidates)):]
	more := b.Take > 0 && len(candidates) > b.Take
	if more {
		candidates = candidates[:b.Take]
	}
	texts := make([]string, len(candidates))
	for i, c := range candidates {
		texts[i] = c.Content
	}
	vectors, err := a.Embedder.Embed(ctx, texts)
	if err != nil {
		return Extracted{}, classify(fmt.Errorf("embed candidates: %w", err))
	}
	for i := range candidates {
		candidates[i].Vector = vectors[i]
	}
	out := Extracted{Candidates: candidates, More: more, Known: known, Reused: reused, Failed: failed}
	return out, fits("the content of the turns", out)
}

// sound removes faulty candidates.
func sound(candidates []formation.Candidate) (good []formation.Candidate, failed []formation.Failure) {
	for _, c := range candidates {
		if c.Fault == "" {
			good = append(good, c)
		} else {
			failed = append(failed, formation.Failure{Sources: c.Sources, Reason: c.Fault})
		}
	}
	return good, failed
}

// checkCandidates refuses candidates with sources outside the turns to form.
func checkCandidates(b Batch, candidates []formation.Candidate) error {
	ids := b.turnIDs()
	for _, c := range candidates {
		for _, id := range c.Sources {
			if !slices.Contains(ids, id) {
				return fault.Terminal("candidate.sources", "names turn %q, which is not a turn of the batch", id)
			}
		}
	}
	return nil
}

// known returns the turns of a batch that have an earlier decision. The bank has such a turn, or the filter dropped a
// turn of the same id before it let this one pass. So another text under a dropped turn's id does not replace that
// turn. A turn that passed first survives a later decision on its id. A turn without a known decision time survives,
// too. Reused turns are known turns that differ from the turn of the first decision, as far as the bank keeps it. The
// bank keeps no text of a dropped turn.
func (a *Activities) known(ctx context.Context, b Batch) (known, reused []string, err error) {
	ids := b.turnIDs()
	kept, err := a.Bank.Turns(ctx, b.Scope, ids)
	if err != nil {
		return nil, nil, fmt.Errorf("look up consolidated turns: %w", err)
	}
	dropped, err := a.Bank.Dropped(ctx, b.Scope, ids)
	if err != nil {
		return nil, nil, fmt.Errorf("look up dropped turns: %w", err)
	}
	for _, t := range b.Turns {
		again := slices.IndexFunc(kept, func(k memory.Turn) bool { return k.ID == t.ID })
		refused := slices.IndexFunc(dropped, func(d memory.Dropped) bool {
			return d.TurnID == t.ID && !d.DecidedAt.IsZero() && d.DecidedAt.Before(t.DecidedAt)
		})
		if again < 0 && refused < 0 {
			continue
		}
		known = append(known, t.ID)
		if again >= 0 && !kept[again].SameAs(t.Turn) || again < 0 && dropped[refused].SessionID != t.SessionID {
			reused = append(reused, t.ID)
		}
	}
	return known, reused, nil
}

// Apply writes the decided operations. It updates the window: it holds passing turns and retires obsolete ones. It
// keeps the core block and announces the changes. It waits for stores only, and repeated runs have the same result.
func (a *Activities) Apply(ctx context.Context, in ApplyInput) error {
	held := passing(in)
	if in.More {
		in.Batch.Turns, in.Batch.Closes = nil, false
	}
	w := in.Decided.Write
	w.Turns = in.Batch.turns()
	record, err := a.sessionRecord(ctx, in)
	if err != nil {
		return classify(err)
	}
	w.Session = record
	if err := a.Bank.Write(ctx, in.Batch.Scope, w); err != nil {
		return classify(fmt.Errorf("write bank: %w", err))
	}
	if len(held) > 0 {
		if err := a.Window.Keep(ctx, in.Batch.Scope, held); err != nil {
			return classify(fmt.Errorf("keep in window: %w", err))
		}
	}
	if len(w.Retire) > 0 {
		if err := a.Window.Retire(ctx, in.Batch.Scope, w.Retire); err != nil {
			return classify(fmt.Errorf("retire from window: %w", err))
		}
	}
	core := coreInput{scope: in.Batch.Scope, strategy: in.Batch.Strategy, sessionID: in.Batch.SessionID, written: w.Put,
		now: in.Now}
	for _, c := range w.Close {
		core.closed = append(core.closed, c.ID)
	}
	kept, err := a.keepCore(ctx, core)
	if err != nil {
		return classify(fmt.Errorf("keep core block: %w", err))
	}
	changes := slices.Concat(in.Decided.Changes, kept)
	if len(changes) == 0 {
		return nil
	}
	return classify(fault.During("announce changes", a.Announce.Announce(ctx, in.Batch.Scope, changes, in.Now)))
}

// passing returns the turns that the window must hold for a while. The bank has no entry for them.
func passing(in ApplyInput) []window.Kept {
	var out []window.Kept
	for _, p := range in.Decided.Passing {
		for _, t := range slices.Concat(in.Batch.Turns, in.Again) {
			if t.ID == p.TurnID {
				t.Saliency = memory.SaliencyDecision{} // the window shows the text
				out = append(out, window.Kept{Turn: t.Turn, Until: p.Until})
			}
		}
	}
	return out
}

// sessionRecord describes the state of the session. FormedAt distinguishes a repeated Apply from a further batch of
// the same session, so that counts are not added twice. The result is nil when nothing changed.
func (a *Activities) sessionRecord(ctx context.Context, in ApplyInput) (*memory.SessionRecord, error) {
	at := in.Now.UTC().Truncate(time.Millisecond)
	old, ok, err := a.Bank.Session(ctx, in.Batch.Scope, in.Batch.SessionID)
	if err != nil {
		return nil, fmt.Errorf("look up session: %w", err)
	}
	turns := len(in.Batch.Turns)
	if ok && (old.FormedAt.Equal(at) || (turns == 0 && old.Closed)) {
		return nil, nil
	}
	return &memory.SessionRecord{
		SessionID: in.Batch.SessionID, FormedAt: at, Closed: old.Closed || in.Batch.Closes,
		Turns: old.Turns + turns, Operations: old.Operations + len(in.Decided.Changes),
	}, nil
}

// DeadLetter keeps the turns of a batch whose consolidation failed for good. It waits for stores only.
func (a *Activities) DeadLetter(ctx context.Context, in DeadLetterInput) error {
	activity.GetLogger(ctx).Error("session goes to the dead letters",
		"tenant", in.Batch.Scope.Tenant, "session", in.Batch.SessionID, "turns", len(in.Batch.Turns), "reason", in.Reason)
	return a.Announce.DeadLetter(ctx, in.Batch, in.Reason, in.Now)
}
