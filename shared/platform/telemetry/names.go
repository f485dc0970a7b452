package telemetry

import "go.opentelemetry.io/otel/attribute"

// Attributes of memory; the namespace is ours, below the one of generative AI. Adapters (bus, bank, window, llm) follow
// OpenTelemetry's semantic conventions for their systems and hold those names themselves.
const (
	AttrChange     = attribute.Key("gen_ai.memory.change")          // ADD, UPDATE, ...
	AttrMemoryID   = attribute.Key("gen_ai.memory.id")              // of a link's memory
	AttrTurns      = attribute.Key("gen_ai.memory.turn.count")      // of a session
	AttrCandidates = attribute.Key("gen_ai.memory.candidate.count") // retrieved
	AttrCited      = attribute.Key("gen_ai.memory.cited.count")     // shown in a profile
	AttrAbstained  = attribute.Key("gen_ai.memory.abstained")       // bool
	AttrDegraded   = attribute.Key("gen_ai.memory.degraded")        // what a recall had to do without
	AttrStep       = attribute.Key("gen_ai.memory.operation")       // Extract, Relate, ...
)

// Attributes of whom and what the work is for. Ids only; session ids are for spans and logs, on
// metrics they would be without bound.
const (
	AttrTenant  = attribute.Key("mneme.tenant.id")
	AttrSession = attribute.Key("mneme.session.id")
	AttrOutcome = attribute.Key("mneme.outcome")
)

// SpanRecall is the span of a whole query.
const SpanRecall = "recall"
