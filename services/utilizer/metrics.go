package utilizer

import (
	"errors"

	"go.opentelemetry.io/otel/metric"

	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// Metrics are the metrics of recall.
type Metrics struct {
	Time              metric.Float64Histogram
	Degraded, Answers metric.Int64Counter
}

// NewMetrics creates the instruments.
func NewMetrics(m metric.Meter) (Metrics, error) {
	took, err1 := telemetry.MetricRecallTime.Histogram(m)
	degraded, err2 := telemetry.MetricDegraded.Counter(m)
	answers, err3 := telemetry.MetricAnswers.Counter(m)
	return Metrics{Time: took, Degraded: degraded, Answers: answers}, errors.Join(err1, err2, err3)
}
