package utilizer

import (
	"errors"

	"go.opentelemetry.io/otel/metric"

	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// Meters are what recall counts.
type Meters struct {
	Time              metric.Float64Histogram
	Degraded, Answers metric.Int64Counter
}

// NewMeters makes the instruments.
func NewMeters(m metric.Meter) (Meters, error) {
	took, err1 := telemetry.MetricRecallTime.Histogram(m)
	degraded, err2 := telemetry.MetricDegraded.Counter(m)
	answers, err3 := telemetry.MetricAnswers.Counter(m)
	return Meters{Time: took, Degraded: degraded, Answers: answers}, errors.Join(err1, err2, err3)
}
