package reranker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/weights"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// Learner moves tenants' weights by feedback.
type Learner struct {
	// Tenants are those whose feedback is taken.
	Tenants *tenant.Registry
	// Keeper changes weights.
	Keeper *Updater
	// Traces are what feedback is about.
	Traces weights.Traces
	// Settings say how fast is learned.
	Settings Settings
	// Limits are those of the store.
	Limits weights.Limits
	Meters Metrics
}

// Handle is the bus handler: one user's reports of citations make one change of the tenant's weights. A record that is not valid
// feedback is a terminal error, and nothing is learned from its batch.
func (l *Learner) Handle(ctx context.Context, batch []bus.Message) error {
	began := time.Now()
	reports := make([]contract.Feedback, len(batch))
	for i, m := range batch {
		f, err := contract.DecodeFeedback(m.Key, m.Value, l.Keeper.Now())
		if err != nil {
			return err
		}
		reports[i] = f
	}
	scope := reports[0].Scope
	if _, err := l.Tenants.Lookup(scope.Tenant); err != nil {
		return err
	}
	traces, err := l.find(ctx, scope, reports)
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	var done *lesson
	err = l.Keeper.change(ctx, scope.Tenant, func(from tenantState) (*pendingUpdate, error) {
		if from.unreadable != nil {
			return nil, from.unreadable
		}
		known, err := l.known(ctx, scope, reports)
		if err != nil {
			return nil, err
		}
		done = &lesson{Learner: l, pendingUpdate: pendingUpdate{tenantState: from, user: scope.User}, known: known, ids: map[string]bool{}, outcomes: map[string]int{}}
		for i, f := range reports {
			done.outcomes[done.take(i, f, traces[i])]++
		}
		return &done.pendingUpdate, nil
	})
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	done.count(ctx, scope.Tenant)
	l.Meters.Update.Record(ctx, time.Since(began).Seconds())
	return nil
}

// find returns the traces that reports are about, nil where there is none.
func (l *Learner) find(ctx context.Context, scope memory.Scope, reports []contract.Feedback) ([][]byte, error) {
	ids := make([]string, len(reports))
	for i, f := range reports {
		ids[i] = f.RecallID
	}
	return l.Traces.Traces(ctx, scope, ids)
}

// known asks which reports were learned from, and how many of the user in the hour before the newest.
func (l *Learner) known(ctx context.Context, scope memory.Scope, reports []contract.Feedback) (weights.Known, error) {
	ids, newest := make([]string, len(reports)), time.Time{}
	for i, f := range reports {
		ids[i] = f.EventID
		if f.Time.After(newest) {
			newest = f.Time
		}
	}
	return l.Keeper.Store.Known(ctx, scope, ids, newest.Add(-time.Hour))
}

// lesson is what a batch of one user's reports comes to. It may be made several times, until nobody changes the weights meanwhile.
type lesson struct {
	*Learner
	pendingUpdate
	known                   weights.Known
	ids                     map[string]bool // of the reports learned from
	outcomes                map[string]int
	cited, passed, invented int
}

// take learns from a report, or says why not.
func (s *lesson) take(i int, f contract.Feedback, trace []byte) (outcome string) {
	hour := f.Time.Unix() / int64(time.Hour/time.Second)
	reports := s.Reports
	if hour > s.Hour {
		reports = 0
	}
	switch {
	case s.known.Seen[i] || s.ids[f.EventID]:
		return outcomeDuplicate
	case f.Time.Before(s.Keeper.Now().Add(-s.Limits.EventTTL())): // it would not be known again
		return outcomeExpired
	case trace == nil:
		return outcomeUnknown
	case s.known.Recent+len(s.ids) >= s.Settings.UserRate:
		return outcomeUserRate
	case reports >= s.Settings.TenantRate:
		return outcomeTenantRate
	}
	if outcome := s.study(f, trace); outcome != outcomeLearned {
		return outcome
	}
	s.ids[f.EventID] = true
	s.events = append(s.events, weights.Event{ID: f.EventID, Time: f.Time})
	s.Hour, s.Reports = max(s.Hour, hour), reports+1
	return outcomeLearned
}

// study moves the weights by a report. What it says of memories that were not in the recall counts for nothing: nobody can make up
// what was shown.
func (s *lesson) study(f contract.Feedback, body []byte) (outcome string) {
	trace, err := ranking.DecodeTrace(body)
	if err != nil {
		return outcomeUnusable
	}
	shown, cited := within(trace, f.Shown), within(trace, f.Cited)
	s.State = freshMaps(s.State, s.Keeper.Prior.Weights, trace.Query)
	next, learned, err := s.Settings.ranking().Learn(s.State, s.Keeper.Prior.Weights, trace, shown, cited)
	switch {
	case errors.Is(err, ranking.ErrFeatureSet):
		return outcomeOtherSet
	case err != nil: // a trace that cannot be scored cannot be scored later, either
		return outcomeUnusable
	}
	s.invented += len(f.Shown) - len(shown)
	if learned.Rewarded == 0 {
		return outcomeNotShown
	}
	s.State = next
	s.cited, s.passed = s.cited+learned.Cited, s.passed+learned.Rewarded-learned.Cited
	if learned.Stepped {
		s.versions = append(s.versions, version{Weights: next.Weights, Time: s.Keeper.Now(), Learned: next.Learned, Distance: learned.Distance})
	}
	return outcomeLearned
}

// within returns those of the ids that the trace chose.
func within(t ranking.Trace, ids []string) []string {
	chosen := make(map[string]bool, len(t.Shown))
	for _, place := range t.Shown {
		chosen[t.Candidates[place].ID] = true
	}
	var out []string
	for _, id := range ids {
		if chosen[id] {
			out = append(out, id)
		}
	}
	return out
}

// freshMaps starts the maps anew where the query's vector has another width than they: the embedding model is another.
func freshMaps(s ranking.State, prior ranking.Weights, query []float32) ranking.State {
	pending := ranking.Weights{Aq: s.Pending.Aq}
	if fits(s.Weights, query) && fits(pending, query) {
		return s
	}
	s.Weights.Aq, s.Weights.Am = prior.Aq, prior.Am
	s.Pending.Aq, s.Pending.Am = nil, nil
	return s
}

// count tells what a lesson that was committed came to.
func (s *lesson) count(ctx context.Context, tenant string) {
	for outcome, n := range s.outcomes {
		add(ctx, s.Meters.Reports, tenant, outcome, n)
	}
	add(ctx, s.Meters.Memories, tenant, memoryCited, s.cited)
	add(ctx, s.Meters.Memories, tenant, memoryPassed, s.passed)
	add(ctx, s.Meters.Memories, tenant, memoryInvented, s.invented)
	s.Meters.steps(ctx, tenant, stepLearned, len(s.versions))
}
