package reranker

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/metric"

	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// Metrics are the counters of the service.
type Metrics struct {
	Memories, Reports, Steps, Traces, Explored, Degraded metric.Int64Counter
	Update                                               metric.Float64Histogram
}

// NewMetrics creates the counters.
func NewMetrics(m metric.Meter) (Metrics, error) {
	memories, err1 := telemetry.MetricFeedback.Counter(m)
	reports, err2 := telemetry.MetricReports.Counter(m)
	steps, err3 := telemetry.MetricWeightSteps.Counter(m)
	traces, err4 := telemetry.MetricRecallTraces.Counter(m)
	degraded, err5 := telemetry.MetricRerankDegraded.Counter(m)
	update, err6 := telemetry.MetricWeightUpdate.Histogram(m)
	explored, err7 := telemetry.MetricExplored.Counter(m)
	return Metrics{
		Memories: memories, Reports: reports, Steps: steps, Traces: traces, Explored: explored, Degraded: degraded,
		Update: update,
	}, errors.Join(err1, err2, err3, err4, err5, err6, err7)
}

// Outcomes of a report of citations.
const (
	outcomeLearned       = "learned"
	outcomeEmbedded      = "embedded"       // the citation of the generator without a model
	outcomeUnknownSource = "unknown_source" // a utilizer of an earlier version sent no source
	outcomeDuplicate     = "duplicate"
	outcomeExpired       = "expired"
	outcomeUnknownRecall = "unknown_recall" // its trace is not kept, or never was
	outcomeNothingShown  = "nothing_shown"  // it refers to no memory that the recall chose
	outcomeUserRate      = "user_rate"      // over MNEME_RERANKER_USER_RATE
	outcomeTenantRate    = "tenant_rate"    // over MNEME_RERANKER_TENANT_RATE
	outcomeOtherFeatures = "other_features" // its trace is for another feature set
	outcomeUnusable      = "unusable"       // its trace cannot be read or scored
)

// Outcomes of a memory in a report.
const (
	memoryCited       = "cited"
	memoryNotCited    = "not_cited"
	memoryNotInRecall = "not_in_recall"
)

// Outcomes of the trace of a recall.
const (
	traceKept    = "kept"
	traceDropped = "dropped"
	traceFailed  = "failed"
)

// The drawn part of an order.
const (
	exploredOrder = "order"
	exploredLast  = "last" // its last place
)

// The origin of a version.
const (
	stepLearned    = "learned"
	stepRolledBack = "rolled_back"
)

// The missing part of an order.
const (
	weightsUnavailable = "weights_unavailable" // the store failed: the last known weights, or the shared prior
	mapsDoNotFit       = "maps_do_not_fit"     // the query's vector and the maps come from different embedding models
)

// add adds n to the counter of an outcome. Zero creates no series.
func add(ctx context.Context, c metric.Int64Counter, tenant, outcome string, n int) {
	if n > 0 {
		c.Add(ctx, int64(n), metric.WithAttributes(telemetry.AttrTenant.String(tenant),
			telemetry.AttrOutcome.String(outcome)))
	}
}
