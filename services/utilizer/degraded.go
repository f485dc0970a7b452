package utilizer

import (
	"errors"

	"go.opentelemetry.io/otel/metric"

	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// Degradation names the missing part of a recall or an answer. It is a value of RecallResponse.degraded and a label
// of the metric.
type Degradation string

// The degradations.
const (
	EmbeddingUnusable   Degradation = "embedding_unusable"
	DialogueUnavailable Degradation = "dialogue_unavailable"
	WindowUnavailable   Degradation = "window_unavailable"
	CoreUnavailable     Degradation = "core_unavailable"
	RerankerUnavailable Degradation = "reranker_unavailable"
	ModelUnavailable    Degradation = "model_unavailable"
	ModelTooSlow        Degradation = "model_too_slow"
	ModelBudget         Degradation = "model_budget"
	ModelUnusable       Degradation = "model_unusable"
	FeedbackUnavailable Degradation = "feedback_unavailable"
)

var degradations = map[Degradation]string{
	EmbeddingUnusable:   "the query's embedding is of no use: memories are found by their words alone",
	DialogueUnavailable: "the dialogue behind memories is not available: they are ranked and shown without",
	WindowUnavailable:   "working memory is not available: the newest turns are missing",
	CoreUnavailable:     "the core block is not available: what always holds of the user may be missing",
	RerankerUnavailable: "the reranker is not available: memories are in the order of its shared start",
	ModelUnavailable:    "the model is not available: the profile lists memories as they are",
	ModelTooSlow:        "there was no time for the model: the profile lists memories as they are",
	ModelBudget:         "the tenant's budget of model tokens is used up: profile and answer are made without a model",
	ModelUnusable:       "the model gives no answer that can be used, or refuses to: this one is made without it",
	FeedbackUnavailable: "the citations of this answer could not be reported as feedback",
}

// String explains the missing part and its effect. A value of another version is returned unchanged.
func (d Degradation) String() string {
	if sentence, ok := degradations[d]; ok {
		return sentence
	}
	return string(d)
}

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
