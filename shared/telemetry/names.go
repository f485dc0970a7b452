package telemetry

import (
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// Operation is a step of forming or using memory. It is the value of AttrOperation, and the span
// of the step is named after it.
type Operation string

// The operations, in the order a session and then a query meet them.
const (
	OpFilter      Operation = "filter"      // decide which turns are salient
	OpAppend      Operation = "append"      // put salient turns into working memory
	OpConsolidate Operation = "consolidate" // the whole formation for one user's pending turns
	OpExtract     Operation = "extract"     // turns to facts
	OpRelate      Operation = "relate"      // facts to the entries they may concern
	OpDecide      Operation = "decide"      // facts to operations
	OpApply       Operation = "apply"       // operations to the bank
	OpCompress    Operation = "compress"    // shorten the core block
	OpRetire      Operation = "retire"      // take turns out of working memory
	OpAnnounce    Operation = "announce"    // publish memory changes
	OpEmbed       Operation = "embed"       // text to vector
	OpRecall      Operation = "recall"      // a whole query
	OpRetrieve    Operation = "retrieve"    // candidates from the bank
	OpRerank      Operation = "rerank"      // candidates to the shown memories
	OpProfile     Operation = "profile"     // shown memories to the profile
	OpAnswer      Operation = "answer"      // profile to the answer
	OpFeedback    Operation = "feedback"    // report citations
	OpLearn       Operation = "learn"       // an online update of the reranker
	OpAttribute   Operation = "attribute"   // find the stage a failure belongs to
	OpErase       Operation = "erase"       // remove a user's data
	OpExport      Operation = "export"      // hand out a user's data
	OpReplay      Operation = "replay"      // put dead letters back
	OpTrain       Operation = "train"       // one step of the trainer
)

// SpanName is the name of the operation's span: "memory extract".
func (o Operation) SpanName() string { return "memory " + string(o) }

// MessagingSpan names a span on the bus, operation first: "process mneme.session-events".
func MessagingSpan(operation, topic string) string { return operation + " " + topic }

// StoreSpan names a call of a store: "search Memory".
func StoreSpan(operation, collection string) string { return operation + " " + collection }

// ModelSpan names a call of a model: "chat small-model".
func ModelSpan(operation, model string) string { return operation + " " + model }

// Attributes of memory; the namespace is ours, below the one of generative AI.
const (
	AttrOperation     = attribute.Key("gen_ai.memory.operation")      // an Operation
	AttrStrategy      = attribute.Key("gen_ai.memory.strategy")       // salimory, membuilder, ...
	AttrPolicy        = attribute.Key("gen_ai.memory.policy")         // embedded or llm
	AttrPolicyVersion = attribute.Key("gen_ai.memory.policy.version") // of weights or prompts
	AttrRole          = attribute.Key("gen_ai.memory.role")           // filter, extractor, manager, ...
	AttrKind          = attribute.Key("gen_ai.memory.kind")           // fact, preference, ...
	AttrChange        = attribute.Key("gen_ai.memory.change")         // ADD, UPDATE, ...
	AttrMemoryID      = attribute.Key("gen_ai.memory.id")
	AttrMemoryIDs     = attribute.Key("gen_ai.memory.ids")
	AttrVersion       = attribute.Key("gen_ai.memory.version")
	AttrTurns         = attribute.Key("gen_ai.memory.turn.count")
	AttrSalient       = attribute.Key("gen_ai.memory.turn.salient") // bool
	AttrFacts         = attribute.Key("gen_ai.memory.fact.count")
	AttrChanges       = attribute.Key("gen_ai.memory.change.count")
	AttrCandidates    = attribute.Key("gen_ai.memory.candidate.count")
	AttrShown         = attribute.Key("gen_ai.memory.shown.count")
	AttrCited         = attribute.Key("gen_ai.memory.cited.count")
	AttrAbstained     = attribute.Key("gen_ai.memory.abstained") // bool
	AttrDegraded      = attribute.Key("gen_ai.memory.degraded")  // what a recall had to do without
	AttrStage         = attribute.Key("gen_ai.memory.stage")     // of the failure cascade
)

// Attributes of whom and what the work is for. Ids only; user and session ids are for spans and
// logs, never for metrics, where they would make a series each.
const (
	AttrTenant  = attribute.Key("mneme.tenant.id")
	AttrUser    = attribute.Key("mneme.user.id")
	AttrSession = attribute.Key("mneme.session.id")
	AttrTurn    = attribute.Key("mneme.turn.id")
	AttrEvent   = attribute.Key("mneme.event.id")
	AttrQuery   = attribute.Key("mneme.query.id")
	AttrReason  = attribute.Key("mneme.reason")  // why something was refused or dead-lettered, from a fixed set
	AttrOutcome = attribute.Key("mneme.outcome") // ok, retried, dead_lettered, ...
	AttrHandler = attribute.Key("mneme.bus.handler")
	AttrAttempt = attribute.Key("mneme.attempt") // from 1
)

// Attributes with user text; set them through Telemetry.SpanText alone.
const (
	AttrTurnText   = attribute.Key("gen_ai.memory.turn.text")
	AttrMemoryText = attribute.Key("gen_ai.memory.content")
	AttrQueryText  = semconv.GenAIRetrievalQueryTextKey
)

// Attributes of OpenTelemetry's semantic conventions that we use.
const (
	AttrMessagingSystem      = semconv.MessagingSystemKey
	AttrMessagingOperation   = semconv.MessagingOperationNameKey
	AttrMessagingType        = semconv.MessagingOperationTypeKey
	AttrMessagingDestination = semconv.MessagingDestinationNameKey
	AttrMessagingPartition   = semconv.MessagingDestinationPartitionIDKey
	AttrMessagingGroup       = semconv.MessagingConsumerGroupNameKey
	AttrMessagingID          = semconv.MessagingMessageIDKey
	AttrMessagingBatch       = semconv.MessagingBatchMessageCountKey
	AttrKafkaOffset          = semconv.MessagingKafkaOffsetKey
	AttrDBSystem             = semconv.DBSystemNameKey
	AttrDBCollection         = semconv.DBCollectionNameKey
	AttrDBOperation          = semconv.DBOperationNameKey
	AttrDBBatch              = semconv.DBOperationBatchSizeKey
	AttrDBRows               = semconv.DBResponseReturnedRowsKey
	AttrModelOperation       = semconv.GenAIOperationNameKey
	AttrModelProvider        = semconv.GenAIProviderNameKey
	AttrModelRequest         = semconv.GenAIRequestModelKey
	AttrModelResponse        = semconv.GenAIResponseModelKey
	AttrModelInputTokens     = semconv.GenAIUsageInputTokensKey
	AttrModelOutputTokens    = semconv.GenAIUsageOutputTokensKey
	AttrErrorType            = semconv.ErrorTypeKey
)
