package consolidation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// maxRounds limits the number of searches that a former may make before it decides. Formers have tighter limits; this
// one stops a broken former.
const maxRounds = 32

// steps carries out the steps of a consolidation: as activities in a workflow, as direct calls in Form.
type steps interface {
	extract(Batch) (Extracted, error)
	relate(RelateInput) (Neighbourhood, error)
	decide(DecideInput) (Decided, error)
	search(SearchInput) (SearchResult, error)
	apply(ApplyInput) error
	deadLetter(DeadLetterInput) error
	// pause waits before another attempt. now is the recorded clock.
	pause(time.Duration)
	now() time.Time
	// keepsExtracted reports whether extracted content is kept while its decision is repeated.
	keepsExtracted() bool
	// retriesWithoutContext reports whether the workflow asks a model again without context, after the model gave no
	// answer about a turn.
	retriesWithoutContext() bool
	// stopped reports whether a failure ended the whole run, not this batch alone.
	stopped(error) bool
}

// consolidate works on the next batch of a session. It handles a failure with a smaller batch, another attempt, or
// the dead letters. It returns only errors that stop the run.
func (s *State) consolidate(do steps, p Params, session *Session, closes bool) error {
	n, _ := session.batch(p.Tuning.turns(closes))
	batch := Batch{
		Scope: p.Scope, Strategy: p.Strategy, Policy: p.Policy, SessionID: session.ID,
		Turns: slices.Clone(session.Turns[:n]), Skip: session.Skip, Take: session.Take,
		Closes: closes && n == len(session.Turns), ClosedAt: session.ClosedAt, ClosedBy: session.ClosedBy,
	}
	if batch.Plain = session.Plain; !batch.Plain {
		batch.Context = session.context(n)
	}
	slices.SortStableFunc(batch.Turns, func(a, b Turn) int { return a.Time.Compare(b.Time) })
	extracted, failed, err := consolidate(do, session, batch)
	if isType(err, errorBudget) && tenant.Policy(p.Policy).Kind() != tenant.PolicyEmbedded {
		batch.Instead, batch.Policy = batch.Policy, policyWithoutModel
		extracted, failed, err = consolidate(do, session, batch)
	}
	switch {
	case err == nil:
		s.LastFailure = ""
		if batch.Instead != "" && !extracted.More {
			s.LastFailure = reasonBudget
			if err := s.sendToDeadLetters(do, batch.without(extracted.Known), reasonBudget); err != nil {
				return err
			}
		}
		if len(failed) > 0 {
			s.LastFailure = failed[0].Reason
			if err := s.sendToDeadLetters(do, batch.only(sourcesOf(failed)), reasonFailed(failed)); err != nil {
				return err
			}
		}
		if reused := batch.only(extracted.Reused); len(reused.Turns) > 0 {
			if err := s.sendToDeadLetters(do, reused, reasonReused); err != nil {
				return err
			}
		}
		if extracted.More {
			session.Skip += session.Take
			return nil
		}
	case do.stopped(err):
		return err
	case isType(err, errorTooLarge) && session.halve(n), isType(err, errorTooLong) && n > 1 && session.halve(n):
		return nil
	case isType(err, errorTooLong) && !session.Plain && do.retriesWithoutContext():
		session.Plain = true // the context may be the part that is too large for the model, or refused
		return nil
	default:
		s.LastFailure = reason(err)
		session.Failures++
		if isType(err, errorMalformed) && session.Failures < p.Tuning.MalformedAttempts {
			// Each pause is longer. Signals that arrive meanwhile stay in their channel, so the session keeps its place
			// in the state.
			do.pause(min(time.Duration(1<<session.Failures)*time.Second, time.Minute))
			return nil
		}
		if err := s.sendToDeadLetters(do, batch, reason(err)); err != nil {
			return err
		}
	}
	s.done(session, n)
	return nil
}

// reasonReused is the reason of dead letters with the turn id of another turn.
const reasonReused = "turn.turn_id: is the id of a turn with another session or text, want ids that are unique per user"

// policyWithoutModel forms turns if the budget does not allow the tenant's policy.
const policyWithoutModel = string(tenant.PolicyEmbedded)

// reasonBudget is the reason of dead letters that were formed without a model.
const reasonBudget = "the tenant's budget of model tokens is used up: formed by the embedded policy, and by the " +
	"model when it is replayed"

// reasonFailed is the reason of dead letters with some content that led to no operation.
func reasonFailed(failed []formation.Failure) string {
	text := fmt.Sprintf("%d statements failed, and the others were formed. The first error: %s", len(failed),
		failed[0].Reason)
	return strings.ToValidUTF8(text[:min(len(text), maxReason)], "?")
}

func sourcesOf(failed []formation.Failure) []string {
	var out []string
	for _, f := range failed {
		out = append(out, f.Sources...)
	}
	return out
}

// sendToDeadLetters moves a batch to the dead letters, where a replay finds it. It includes the turns to form, and not
// the context. It returns only errors that stop the run.
func (s *State) sendToDeadLetters(do steps, b Batch, reason string) error {
	b.Context = nil
	if err := do.deadLetter(DeadLetterInput{Batch: b, Reason: reason, Now: do.now()}); do.stopped(err) {
		return err
	}
	s.forget(b)
	return nil
}

// consolidate runs the four steps on a batch. It returns the extracted content and the failed parts. The turns of
// failed parts do not count as formed: they come again, and the bank has their entries then.
func consolidate(do steps, session *Session, b Batch) (extracted Extracted, failed []formation.Failure, err error) {
	var decided Decided
	if len(b.Turns) > 0 {
		if extracted, err = session.extract(do, b); err != nil {
			return extracted, nil, err
		}
		b = b.without(extracted.Known)
	}
	if len(b.Turns) > 0 {
		near, err := do.relate(RelateInput{b, extracted.Candidates})
		if err != nil {
			return extracted, nil, err
		}
		if decided, err = decide(do, b, near, extracted.Failed); err != nil {
			return extracted, nil, err
		}
	}
	failed = slices.Concat(extracted.Failed, decided.Failed)
	if len(failed) > 0 && extracted.More {
		session.extracted = nil
		// a turn is formed completely or put aside
		return extracted, nil, temporal.NewApplicationError(reasonFailed(failed), errorMalformed)
	}
	again := sourcesOf(failed)
	if b.Instead != "" {
		again = b.turnIDs()
	}
	return extracted, failed, do.apply(ApplyInput{b.without(again), decided, do.now(), extracted.More,
		b.only(again).Turns})
}

// keptExtracted is the extracted content of a batch.
type keptExtracted struct {
	Extracted
	of Batch
}

// asks reports whether another batch leads to the same question to a model.
func (b Batch) asks(other Batch) bool {
	return b.Policy == other.Policy && b.Plain == other.Plain && b.Skip == other.Skip && b.Take == other.Take &&
		len(b.Context) == len(other.Context) && slices.Equal(b.turnIDs(), other.turnIDs())
}

// extract returns the content of a batch. It does not ask the model again if only the decision was unusable.
func (o *Session) extract(do steps, b Batch) (Extracted, error) {
	if o.extracted != nil && o.extracted.of.asks(b) && do.keepsExtracted() {
		return o.extracted.Extracted, nil
	}
	out, err := do.extract(b)
	if o.extracted = nil; err == nil {
		o.extracted = &keptExtracted{out, b}
	}
	return out, err
}

// decide requests a decision. It first makes the lookups that the former needs.
func decide(do steps, b Batch, near Neighbourhood, failed []formation.Failure) (Decided, error) {
	in := DecideInput{Batch: b, Neighbourhood: near, Failed: failed, Now: do.now()}
	for range maxRounds {
		decided, err := do.decide(in)
		if err != nil || len(decided.Lookups) == 0 {
			return decided, err
		}
		found := SearchResult{Near: make([][]Neighbour, len(decided.Lookups))}
		if !b.Plain {
			if found, err = do.search(SearchInput{b.Scope, decided.Lookups}); err != nil {
				return Decided{}, err
			}
		}
		in.Memo = decided.Memo
		if err := in.extend(found); err != nil {
			return Decided{}, err
		}
	}
	return Decided{}, temporal.NewNonRetryableApplicationError(fmt.Sprintf("no decision after %d searches", maxRounds),
		errorTerminal, nil)
}

// extend adds search results to the input of a decision, while there is room and up to the size of one full search.
// It removes window turns if the memo has grown. The entries that the former has seen stay, because its decision may
// use them.
func (in *DecideInput) extend(found SearchResult) error {
	in.Found = make([][]Neighbour, len(found.Near))
	room, err := in.room()
	for err == nil && room < minPoolBytes && len(in.Neighbourhood.Window) > 0 {
		var freed int
		freed, err = size(in.Neighbourhood.Window[0])
		room += freed / 2
		in.Neighbourhood.Window = in.Neighbourhood.Window[1:]
	}
	if err != nil {
		return temporal.NewNonRetryableApplicationError(err.Error(), errorTerminal, err)
	}
	p := newPool(min(room, maxPoolBytes), in.Neighbourhood.Pool...)
	for rank := range formation.MaxNeighbours { // the nearest entries of every lookup first
		for i, near := range found.Near {
			if rank >= len(near) {
				continue
			}
			if place, ok := p.add(found.Pool[near[rank].Pool]); ok {
				in.Found[i] = append(in.Found[i], Neighbour{Pool: place, Similarity: near[rank].Similarity})
			}
		}
	}
	in.Neighbourhood.Pool = p.entries
	return nil
}

func isType(err error, name string) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.Type() == name
}

// maxReason limits the text of a failure, in bytes, because errors may quote anything.
const maxReason = 1024

// reason is the innermost message of an activity's failure.
func reason(err error) string {
	text := err.Error()
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		text = app.Message()
	}
	return strings.ToValidUTF8(text[:min(len(text), maxReason)], "?")
}

// activities runs the steps as Temporal activities.
type activities struct{ ctx workflow.Context }

// call runs an activity. It refuses arguments that are too large, because Temporal would fail the whole run.
func call[T any](ctx workflow.Context, name string, activity, in any) (out T, err error) {
	if err := fits("the input of "+name, in); err != nil {
		return out, err
	}
	err = workflow.ExecuteActivity(ctx, activity, in).Get(ctx, &out)
	return out, err
}

func (a activities) extract(in Batch) (Extracted, error) {
	return call[Extracted](modelOptions(a.ctx), "Extract", (*Activities)(nil).Extract, in)
}

func (a activities) relate(in RelateInput) (Neighbourhood, error) {
	return call[Neighbourhood](storeOptions(a.ctx), "Relate", (*Activities)(nil).Relate, in)
}

func (a activities) decide(in DecideInput) (Decided, error) {
	return call[Decided](modelOptions(a.ctx), "Decide", (*Activities)(nil).Decide, in)
}

func (a activities) search(in SearchInput) (SearchResult, error) {
	return call[SearchResult](storeOptions(a.ctx), "Search", (*Activities)(nil).Search, in)
}

func (a activities) apply(in ApplyInput) error {
	_, err := call[any](storeOptions(a.ctx), "Apply", (*Activities)(nil).Apply, in)
	return err
}

// deadLetter is retried for ever; only cancellation ends it.
func (a activities) deadLetter(in DeadLetterInput) error {
	return workflow.ExecuteActivity(foreverOptions(a.ctx), (*Activities)(nil).DeadLetter, in).Get(a.ctx, nil)
}

func (a activities) pause(d time.Duration) { _ = workflow.Sleep(a.ctx, d) } // the loop sees a cancellation

func (a activities) now() time.Time { return workflow.Now(a.ctx) }

// keepsExtracted is false in runs that repeated a question before extracted content was kept.
func (a activities) keepsExtracted() bool {
	return workflow.GetVersion(a.ctx, "keep-extracted", workflow.DefaultVersion, 1) > workflow.DefaultVersion
}

// retriesWithoutContext is false in runs that gave up such a turn before.
func (a activities) retriesWithoutContext() bool {
	return workflow.GetVersion(a.ctx, "ask-plainly", workflow.DefaultVersion, 1) > workflow.DefaultVersion
}

func (a activities) stopped(error) bool { return a.ctx.Err() != nil }

// Form processes a user's events as a run of the workflow does, but without Temporal. It has the same batches, steps
// and failure handling, in sequence, with a fixed clock. A failure that a workflow would retry without limit is an
// error here.
func Form(ctx context.Context, a *Activities, p Params, events []Event, now time.Time) error {
	s := p.State
	s.add(events, now)
	for {
		s.expire(p.Tuning, now)
		session, closes := s.ready(p.Tuning, now)
		if session == nil {
			return nil
		}
		if err := s.consolidate(calls{ctx, a, now}, p, session, closes); err != nil {
			return err
		}
	}
}

// calls runs the steps directly.
type calls struct {
	ctx  context.Context
	a    *Activities
	time time.Time
}

func (c calls) extract(in Batch) (Extracted, error)          { return c.a.Extract(c.ctx, in) }
func (c calls) relate(in RelateInput) (Neighbourhood, error) { return c.a.Relate(c.ctx, in) }
func (c calls) decide(in DecideInput) (Decided, error)       { return c.a.Decide(c.ctx, in) }
func (c calls) search(in SearchInput) (SearchResult, error)  { return c.a.Search(c.ctx, in) }
func (c calls) apply(in ApplyInput) error                    { return c.a.Apply(c.ctx, in) }
func (c calls) pause(time.Duration)                          {}
func (c calls) now() time.Time                               { return c.time }
func (c calls) keepsExtracted() bool                         { return true }
func (c calls) retriesWithoutContext() bool                  { return true }
func (c calls) deadLetter(in DeadLetterInput) error {
	return c.a.Announce.DeadLetter(c.ctx, in.Batch, in.Reason, in.Now)
}

// stopped is true for all failures that the activities do not classify, because Temporal would retry them.
func (c calls) stopped(err error) bool {
	var app *temporal.ApplicationError
	return err != nil && !errors.As(err, &app)
}
