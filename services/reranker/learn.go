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

// Learner updates tenants' weights from feedback.
type Learner struct {
	// Tenants is the registry of tenants with accepted feedback.
	Tenants *tenant.Registry
	// Updater changes weights.
	Updater *Updater
	// Traces has the traces that feedback refers to.
	Traces weights.Traces
	// Settings has the learning rate and its limits.
	Settings Settings
	// Limits has the limits of the store.
	Limits weights.Limits
	// Metrics has the counters.
	Metrics Metrics
}

// Handle is the bus handler. The citation reports of one user make one change of the tenant's weights. Invalid
// feedback is a terminal error, and nothing of its batch is learned.
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
			done.outcomes[done.applyFeedback(i, f, traces[i])]++
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

// feedbackUpdate is the change from a batch of one user's reports. It is recomputed until no other writer changes the
// weights meanwhile.
type feedbackUpdate struct {
	*Learner
	pendingUpdate
	// known has the reports that were learned before, and the number of the user's reports in the hour before the
	// newest.
	known weights.Known
	// learned has the ids of the reports in this update.
	learned  map[string]bool
	outcomes map[string]int
	// The numbers of memories in the reports.
	cited, notCited, notInRecall int
}

// applyFeedback learns from a report, or returns why not. It skips the embedded generator, because that always cites
// the first memory. Learning from it would confirm any order of the ranker.
func (u *feedbackUpdate) applyFeedback(i int, f contract.Feedback, trace []byte) (outcome string) {
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
	case f.Time.Before(u.Updater.Now().Add(-u.Limits.EventTTL())): // a repetition could not be detected
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

// learnFrom updates the weights from a report. It ignores memories outside the recall, so that a caller cannot invent
// shown memories.
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
	case err != nil: // an unusable trace stays unusable
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

// freshMaps resets the maps if the width of the query's vector differs, because the embedding model has changed.
func freshMaps(s ranking.State, prior ranking.Weights, query []float32) ranking.State {
	if fits(s.Weights, query) && fits(ranking.Weights{Aq: s.Pending.Aq}, query) {
		return s
	}
	s.Weights.Aq, s.Weights.Am = prior.Aq, prior.Am
	s.Pending.Aq, s.Pending.Am = nil, nil
	return s
}

// count counts the outcomes of a committed update.
func (u *feedbackUpdate) count(ctx context.Context, tenant string) {
	for outcome, n := range u.outcomes {
		add(ctx, u.Metrics.Reports, tenant, outcome, n)
	}
	add(ctx, u.Metrics.Memories, tenant, memoryCited, u.cited)
	add(ctx, u.Metrics.Memories, tenant, memoryNotCited, u.notCited)
	add(ctx, u.Metrics.Memories, tenant, memoryNotInRecall, u.notInRecall)
	add(ctx, u.Metrics.Steps, tenant, stepLearned, len(u.versions))
}
