package reranker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/weights"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// Learner moves tenants' weights by feedback.
type Learner struct {
	// Tenants are those whose feedback is taken.
	Tenants *tenant.Registry
	// Updater changes weights.
	Updater *Updater
	// Traces are what feedback is about.
	Traces weights.Traces
	// Settings say how fast is learned.
	Settings Settings
	// Limits are those of the store.
	Limits weights.Limits
	// Metrics are what is counted.
	Metrics Metrics
}

// Handle is the bus handler: one user's reports of citations make one change of the tenant's weights. A record that is not valid
// feedback is a terminal error, and nothing is learned from its batch.
func (l *Learner) Handle(ctx context.Context, batch []bus.Message) error {
	began := time.Now()
	reports := make([]contract.Feedback, len(batch))
	recallIDs, eventIDs, newest := make([]string, len(batch)), make([]string, len(batch)), time.Time{}
	for i, m := range batch {
		f, err := contract.DecodeFeedback(m.Key, m.Value, l.Updater.Now())
		if err != nil {
			return err
		}
		reports[i], recallIDs[i], eventIDs[i] = f, f.RecallID, f.EventID
		if f.Time.After(newest) {
			newest = f.Time
		}
	}
	scope := reports[0].Scope
	if _, err := l.Tenants.Lookup(scope.Tenant); err != nil {
		return err
	}
	traces, err := l.Traces.Traces(ctx, scope, recallIDs)
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	var done *feedbackUpdate
	err = l.Updater.change(ctx, scope.Tenant, func(from tenantState) (*pendingUpdate, error) {
		if from.unreadable != nil {
			return nil, from.unreadable
		}
		known, err := l.Updater.Store.Known(ctx, scope, eventIDs, newest.Add(-time.Hour))
		if err != nil {
			return nil, err
		}
		done = &feedbackUpdate{
			Learner: l, pendingUpdate: pendingUpdate{tenantState: from, user: scope.User}, known: known,
			learned: map[string]bool{}, outcomes: map[string]int{},
		}
		for i, f := range reports {
			done.outcomes[done.take(i, f, traces[i])]++
		}
		return &done.pendingUpdate, nil
	})
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	done.count(ctx, scope.Tenant)
	l.Metrics.Update.Record(ctx, time.Since(began).Seconds())
	return nil
}

// feedbackUpdate is what a batch of one user's reports changes. It may be made several times, until nobody changes the weights meanwhile.
type feedbackUpdate struct {
	*Learner
	pendingUpdate
	// known says which reports were learned from before, and how many of the user in the hour before the newest.
	known weights.Known
	// learned has the ids of the reports that this update learns from.
	learned  map[string]bool
	outcomes map[string]int
	// Memories that the reports speak of.
	cited, notCited, notInRecall int
}

// take learns from a report, or says why not. The embedded generator cites what was ranked first: to learn from it would confirm the ranker
// in whatever it does.
func (u *feedbackUpdate) take(i int, f contract.Feedback, trace []byte) (outcome string) {
	hour := f.Time.Unix() / int64(time.Hour/time.Second)
	reports := u.Reports
	if hour > u.Hour {
		reports = 0
	}
	switch {
	case f.Source == contract.CitationEmbedded:
		return outcomeEmbedded
	case f.Source == contract.CitationUnknown:
		return outcomeUnknownSource
	case u.known.Seen[i] || u.learned[f.EventID]:
		return outcomeDuplicate
	case f.Time.Before(u.Updater.Now().Add(-u.Limits.EventTTL())): // it would not be known again
		return outcomeExpired
	case trace == nil:
		return outcomeUnknownRecall
	case u.known.Recent+len(u.learned) >= u.Settings.UserRate:
		return outcomeUserRate
	case reports >= u.Settings.TenantRate:
		return outcomeTenantRate
	}
	if outcome := u.learnFrom(f, trace); outcome != outcomeLearned {
		return outcome
	}
	u.learned[f.EventID] = true
	u.events = append(u.events, weights.Event{ID: f.EventID, Time: f.Time})
	u.Hour, u.Reports = max(u.Hour, hour), reports+1
	return outcomeLearned
}

// learnFrom moves the weights by a report. What it says of memories that were not in the recall counts for nothing: nobody can make up
// what was shown.
func (u *feedbackUpdate) learnFrom(f contract.Feedback, body []byte) (outcome string) {
	trace, err := ranking.DecodeTrace(body)
	if err != nil {
		return outcomeUnusable
	}
	u.State = freshMaps(u.State, u.Updater.Prior.Weights, trace.Query)
	next, learned, err := u.Settings.ranking().Learn(u.State, u.Updater.Prior.Weights, trace, f.Shown, f.Cited)
	switch {
	case errors.Is(err, ranking.ErrFeatureSet):
		return outcomeOtherFeatures
	case err != nil: // a trace that cannot be scored cannot be scored later, either
		return outcomeUnusable
	}
	u.notInRecall += len(f.Shown) - learned.Rewarded
	if learned.Rewarded == 0 {
		return outcomeNothingShown
	}
	u.State = next
	u.cited, u.notCited = u.cited+learned.Cited, u.notCited+learned.Rewarded-learned.Cited
	if learned.Stepped {
		v := version{Weights: next.Weights, Time: u.Updater.Now(), Learned: next.Learned, Distance: learned.Distance}
		u.versions = append(u.versions, v)
	}
	return outcomeLearned
}

// freshMaps starts the maps anew where the query's vector has another width than they: the embedding model is another.
func freshMaps(s ranking.State, prior ranking.Weights, query []float32) ranking.State {
	if fits(s.Weights, query) && fits(ranking.Weights{Aq: s.Pending.Aq}, query) {
		return s
	}
	s.Weights.Aq, s.Weights.Am = prior.Aq, prior.Am
	s.Pending.Aq, s.Pending.Am = nil, nil
	return s
}

// count counts what an update that was committed came to.
func (u *feedbackUpdate) count(ctx context.Context, tenant string) {
	for outcome, n := range u.outcomes {
		add(ctx, u.Metrics.Reports, tenant, outcome, n)
	}
	add(ctx, u.Metrics.Memories, tenant, memoryCited, u.cited)
	add(ctx, u.Metrics.Memories, tenant, memoryNotCited, u.notCited)
	add(ctx, u.Metrics.Memories, tenant, memoryNotInRecall, u.notInRecall)
	add(ctx, u.Metrics.Steps, tenant, stepLearned, len(u.versions))
}
