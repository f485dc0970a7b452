package telemetry

import (
	"fmt"

	"go.opentelemetry.io/otel/metric"
)

// Metric is the name of an instrument. Its methods make the instrument with the unit and
// description that belong to the name. Prometheus shows the name with underscores, its unit
// (_seconds) and _total for counters.
type Metric string

// Metrics of the bus.
const (
	MetricProcessed    Metric = "mneme.bus.messages.processed"
	MetricDeadLettered Metric = "mneme.bus.messages.dead_lettered"
	MetricRetried      Metric = "mneme.bus.batches.retried"
	MetricProcessTime  Metric = "mneme.bus.process.duration"
	MetricLag          Metric = "mneme.bus.consumer.lag"
)

// Metrics of forming memory.
const (
	MetricTurns         Metric = "mneme.filter.turns"
	MetricFilterTime    Metric = "mneme.filter.duration"
	MetricWindowDelay   Metric = "mneme.window.delay"
	MetricFormationTime Metric = "mneme.formation.duration"
	MetricFormationWait Metric = "mneme.formation.delay"
	MetricFacts         Metric = "mneme.formation.facts"
	MetricChanges       Metric = "mneme.formation.changes"
	MetricRejected      Metric = "mneme.formation.rejected"
)

// Metrics of using memory.
const (
	MetricRecallTime    Metric = "mneme.recall.duration"
	MetricStageTime     Metric = "mneme.recall.stage.duration"
	MetricCandidates    Metric = "mneme.recall.candidates"
	MetricProfileWords  Metric = "mneme.recall.profile.words"
	MetricDegraded      Metric = "mneme.recall.degraded"
	MetricAnswers       Metric = "mneme.recall.answers"
	MetricRerankTime    Metric = "mneme.rerank.duration"
	MetricFeedback      Metric = "mneme.rerank.feedback"
	MetricReward        Metric = "mneme.rerank.reward"
	MetricRerankUpdates Metric = "mneme.rerank.updates"
)

// Metrics of the gateway, erasure, the models and the trainer.
const (
	MetricRefused     Metric = "mneme.gateway.refused"
	MetricErased      Metric = "mneme.erasure.removed"
	MetricModelTime   Metric = "gen_ai.client.operation.duration"
	MetricModelTokens Metric = "gen_ai.client.token.usage"
	MetricTrainTime   Metric = "mneme.trainer.step.duration"
	MetricTrainReward Metric = "mneme.trainer.reward"
	MetricTrainKL     Metric = "mneme.trainer.kl"
)

type meaning struct{ unit, text string }

// meanings lists every metric once.
func meanings() map[Metric]meaning {
	return map[Metric]meaning{
		MetricProcessed:    {"{message}", "messages a handler is done with, by topic, handler and outcome"},
		MetricDeadLettered: {"{message}", "messages put aside because they can never be processed, by topic and reason"},
		MetricRetried:      {"{batch}", "batches tried again because something was down, by topic and handler"},
		MetricProcessTime:  {"s", "time a handler takes, by topic and handler"},
		MetricLag:          {"{message}", "messages of a partition that wait, by topic, partition and group"},

		MetricTurns:         {"{turn}", "turns judged by the filter, by salience, tenant and policy"},
		MetricFilterTime:    {"s", "time to judge one batch of turns, by policy"},
		MetricWindowDelay:   {"s", "from a session event to its turn standing in working memory"},
		MetricFormationTime: {"s", "time of one step of formation, by operation, strategy and policy"},
		MetricFormationWait: {"s", "from a session event to its memories standing in the bank, by strategy"},
		MetricFacts:         {"{fact}", "facts extracted, by strategy and kind"},
		MetricChanges:       {"{operation}", "operations decided, by strategy, change and kind"},
		MetricRejected:      {"{operation}", "operations refused because they were malformed or named unknown entries, by strategy and reason"},

		MetricRecallTime:    {"s", "time of one recall as the caller sees it"},
		MetricStageTime:     {"s", "time of one stage of a recall, by operation"},
		MetricCandidates:    {"{memory}", "candidates found for a query"},
		MetricProfileWords:  {"{word}", "length of a profile"},
		MetricDegraded:      {"{query}", "recalls that went without something that was down, by what it was"},
		MetricAnswers:       {"{answer}", "answers given, by whether they abstained"},
		MetricRerankTime:    {"s", "time to rank one set of candidates"},
		MetricFeedback:      {"{memory}", "shown memories judged by feedback, by whether they were cited"},
		MetricReward:        {"1", "mean reward of one batch of feedback"},
		MetricRerankUpdates: {"{update}", "updates of a tenant's ranking weights"},

		MetricRefused:     {"{request}", "requests refused, by reason: key, scope, quota or input"},
		MetricErased:      {"{object}", "objects removed by erasure, by store"},
		MetricModelTime:   {"s", "time of one call of a model, by operation and model"},
		MetricModelTokens: {"{token}", "tokens of one call of a model, by operation, model and direction"},
		MetricTrainTime:   {"s", "time of one training step, by algorithm"},
		MetricTrainReward: {"1", "mean reward of one training step, by algorithm"},
		MetricTrainKL:     {"1", "divergence from the reference policy in one training step, by algorithm"},
	}
}

// Metrics lists every metric of the project, in no order.
func Metrics() []Metric {
	all := meanings()
	names := make([]Metric, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	return names
}

// Unit is the unit in UCUM notation: "s", "1", "{message}"; empty for a name not listed here.
func (m Metric) Unit() string { return meanings()[m].unit }

// Description says what is measured and by which attributes it is split.
func (m Metric) Description() string { return meanings()[m].text }

// Counter makes a counter of whole things.
func (m Metric) Counter(meter metric.Meter) (metric.Int64Counter, error) {
	c, err := meter.Int64Counter(string(m), metric.WithUnit(m.Unit()), metric.WithDescription(m.Description()))
	return c, m.wrap(err)
}

// Histogram makes a distribution.
func (m Metric) Histogram(meter metric.Meter) (metric.Float64Histogram, error) {
	h, err := meter.Float64Histogram(string(m), metric.WithUnit(m.Unit()), metric.WithDescription(m.Description()))
	return h, m.wrap(err)
}

// Gauge makes a value that is set.
func (m Metric) Gauge(meter metric.Meter) (metric.Float64Gauge, error) {
	g, err := meter.Float64Gauge(string(m), metric.WithUnit(m.Unit()), metric.WithDescription(m.Description()))
	return g, m.wrap(err)
}

func (m Metric) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("make metric %s: %w", m, err)
	}
	return nil
}
