package reranker

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/metric"

	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// Metrics are what is counted.
type Metrics struct {
	Memories, Reports, Steps, Traces, Degraded metric.Int64Counter
	Update                                     metric.Float64Histogram
}

// NewMetrics makes the instruments.
func NewMetrics(m metric.Meter) (Metrics, error) {
	memories, err1 := telemetry.MetricFeedback.Counter(m)
	reports, err2 := telemetry.MetricReports.Counter(m)
	steps, err3 := telemetry.MetricWeightSteps.Counter(m)
	traces, err4 := telemetry.MetricRecallTraces.Counter(m)
	degraded, err5 := telemetry.MetricRerankDegraded.Counter(m)
	update, err6 := telemetry.MetricWeightUpdate.Histogram(m)
	return Metrics{Memories: memories, Reports: reports, Steps: steps, Traces: traces, Degraded: degraded, Update: update},
		errors.Join(err1, err2, err3, err4, err5, err6)
}

// Outcomes of a report of citations.
const (
	outcomeLearned    = "learned"
	outcomeDuplicate  = "duplicate"
	outcomeUnknown    = "unknown recall"
	outcomeExpired    = "expired"
	outcomeNotShown   = "nothing shown"
	outcomeUserRate   = "rate of user"
	outcomeTenantRate = "rate of tenant"
	outcomeOtherSet   = "other features"
	outcomeUnusable   = "unusable"
)

// What became of a memory that a report speaks of.
const (
	memoryCited    = "cited"
	memoryPassed   = "not cited"
	memoryInvented = "not in the recall"
)

// What became of the trace of a recall.
const (
	traceKept    = "kept"
	traceDropped = "dropped"
	traceFailed  = "failed"
)

// How a version came about.
const (
	stepLearned    = "learned"
	stepRolledBack = "rolled back"
)

// What an order went without.
const (
	withoutWeights = "weights"
	withoutMaps    = "maps"
)

func add(ctx context.Context, c metric.Int64Counter, tenant, outcome string, n int) {
	if n > 0 {
		c.Add(ctx, int64(n), metric.WithAttributes(telemetry.AttrTenant.String(tenant), telemetry.AttrOutcome.String(outcome)))
	}
}

func (m Metrics) trace(ctx context.Context, tenant, outcome string) {
	add(ctx, m.Traces, tenant, outcome, 1)
}

func (m Metrics) degraded(ctx context.Context, tenant, what string) {
	add(ctx, m.Degraded, tenant, what, 1)
}

func (m Metrics) steps(ctx context.Context, tenant, how string, n int) {
	add(ctx, m.Steps, tenant, how, n)
}
