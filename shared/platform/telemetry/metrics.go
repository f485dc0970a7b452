package telemetry

import (
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Metric is the name of an instrument. Its methods make the instrument with the unit and description of the name.
// Prometheus shows the name with underscores, its unit (_seconds) and _total for counters.
type Metric string

// Metrics of forming memory. Packages bus and llm define their own.
const (
	MetricTurns    Metric = "mneme.filter.turns"
	MetricStepTime Metric = "mneme.formation.step.duration"
	MetricChanges  Metric = "mneme.formation.changes"
	MetricRejected Metric = "mneme.formation.rejected"
	MetricDelay    Metric = "mneme.formation.delay"
)

// Metrics of using memory.
const (
	MetricRecallTime Metric = "mneme.recall.duration"
	MetricDegraded   Metric = "mneme.recall.degraded"
	MetricAnswers    Metric = "mneme.recall.answers"

	MetricCandidateChoice Metric = "mneme.recall.candidate_choice"

	MetricFeedback Metric = "mneme.rerank.feedback"

	MetricReports        Metric = "mneme.rerank.reports"
	MetricWeightSteps    Metric = "mneme.rerank.steps"
	MetricWeightUpdate   Metric = "mneme.rerank.update.duration"
	MetricExplored       Metric = "mneme.rerank.explored"
	MetricRecallTraces   Metric = "mneme.rerank.traces"
	MetricRerankDegraded Metric = "mneme.rerank.degraded"
)

// Metrics of the RPC layer and of the gateway.
const (
	MetricRefused Metric = "mneme.rpc.refused"

	MetricLimited           Metric = "mneme.gateway.limited"
	MetricLimitsUnavailable Metric = "mneme.gateway.limits_unavailable"
	MetricUsageLost         Metric = "mneme.usage.lost"
	MetricRecordsLost       Metric = "mneme.records.lost"
	MetricWebhooks          Metric = "mneme.gateway.webhooks"
)

type meaning struct{ unit, text string }

// meanings lists every metric once.
func meanings() map[Metric]meaning {
	return map[Metric]meaning{
		MetricTurns:    {"{turn}", "turns judged by the filter, by tenant and verdict"},
		MetricStepTime: {"s", "time of one step of forming memory, by step and outcome"},
		MetricChanges:  {"{operation}", "operations applied to banks, by tenant and change"},
		MetricRejected: {
			"{turn}", "turns of consolidations that went to the dead letters, by tenant and handler: consolidation or budget",
		},
		MetricDelay: {
			"s", "time from a session's end, or its last turn's filtering if later, until its memories are in the " +
				"bank, by tenant",
		},

		MetricRecallTime: {"s", "time of one recall within the service, by tenant"},
		MetricDegraded:   {"{recall}", "degraded recalls, by the unavailable part"},
		MetricAnswers:    {"{answer}", "answers given, by tenant and whether they abstained"},
		MetricCandidateChoice: {
			"{recall}", "recalls, by tenant and whose weights chose candidates (learned, prior, not_read, outdated)",
		},
		MetricFeedback: {"{memory}", "shown memories judged by feedback, by tenant and whether they were cited"},

		MetricReports: {
			"{report}", "reports of citations, by tenant and result (learned, embedded, duplicate, expired ...)",
		},
		MetricWeightSteps:  {"{version}", "versions of weights made, by tenant and how: learned or rolled_back"},
		MetricWeightUpdate: {"s", "time to take in one user's reports of citations, with the change of the weights"},
		MetricRecallTraces: {"{trace}", "traces of recalls, by tenant and whether they were kept, dropped or failed"},
		MetricExplored:     {"{recall}", "orders drawn to explore, by tenant and how much of them: order or last"},
		MetricRerankDegraded: {
			"{recall}", "orders made without something, by tenant and why: weights_unavailable or maps_do_not_fit",
		},

		MetricRefused: {
			"{call}", "calls refused for their credential, by code; rpc.server.call.duration does not count them",
		},

		MetricLimited:           {"{call}", "calls over a limit, by tenant and quota"},
		MetricLimitsUnavailable: {"{call}", "calls whose limits could not be told, Redis being away: served or refused"},
		MetricWebhooks: {
			"{attempt}", "attempts to deliver webhooks, by tenant and result: delivered, failed (tried again) or dead",
		},
		MetricUsageLost: {"{count}", "counts of usage not written: too many waited for Redis, or it was away"},
		MetricRecordsLost: {
			"{record}", "calls of models and outcomes not recorded: too many waited for Redis, or it was away",
		},
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

// Description describes the measured value and its attributes.
func (m Metric) Description() string { return meanings()[m].text }

// Counter makes a counter of whole numbers.
func (m Metric) Counter(meter metric.Meter) (metric.Int64Counter, error) {
	c, err := meter.Int64Counter(string(m), metric.WithUnit(m.Unit()), metric.WithDescription(m.Description()))
	return c, m.wrap(err)
}

// Histogram makes a distribution.
func (m Metric) Histogram(meter metric.Meter) (metric.Float64Histogram, error) {
	h, err := meter.Float64Histogram(string(m), metric.WithUnit(m.Unit()), metric.WithDescription(m.Description()))
	return h, m.wrap(err)
}

func (m Metric) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("make metric %s: %w", m, err)
	}
	return nil
}

// Attributes of memory. The namespace is Mneme's, below the namespace of generative AI. Adapters (bus, bank,
// window, llm) follow OpenTelemetry's semantic conventions for their systems and define those names themselves.
const (
	AttrChange     = attribute.Key("gen_ai.memory.change")          // ADD, UPDATE, ...
	AttrMemoryID   = attribute.Key("gen_ai.memory.id")              // of a link's memory
	AttrTurns      = attribute.Key("gen_ai.memory.turn.count")      // of a session
	AttrCandidates = attribute.Key("gen_ai.memory.candidate.count") // retrieved
	AttrCited      = attribute.Key("gen_ai.memory.cited.count")     // shown in a profile
	AttrAbstained  = attribute.Key("gen_ai.memory.abstained")       // bool
	AttrDegraded   = attribute.Key("gen_ai.memory.degraded")        // the missing parts of a recall
	AttrIntent     = attribute.Key("gen_ai.memory.query.intent")    // present, past, event
	AttrWants      = attribute.Key("gen_ai.memory.query.wants")     // the kinds of answer: name, amount, ...
	AttrStep       = attribute.Key("gen_ai.memory.operation")       // Extract, Relate, ...
)

// Attributes for the owner and the session of the work. They are ids only. Session ids are for spans and logs: on
// metrics they would be unbounded.
const (
	AttrTenant  = attribute.Key("mneme.tenant.id")
	AttrSession = attribute.Key("mneme.session.id")
	AttrOutcome = attribute.Key("mneme.outcome")
)

// SpanRecall is the span of a whole query.
const SpanRecall = "recall"
