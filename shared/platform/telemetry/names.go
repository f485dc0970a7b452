package telemetry

import "go.opentelemetry.io/otel/attribute"

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
