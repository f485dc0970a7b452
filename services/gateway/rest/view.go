package rest

import (
	"context"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/shared/contract"
)

// Memory is an entry of a user's memory.
type Memory struct {
	ID            string     `json:"id" format:"uuid"`
	Tier          string     `json:"tier,omitempty" doc:"talk for a part of a turn that is only searchable; absent for a memory."`
	Kind          string     `json:"kind" doc:"fact, preference, episodic, semantic or procedural."`
	Content       string     `json:"content" doc:"The statement, in the third person, or in the speaker's words if speaker is set."`
	Speaker       string     `json:"speaker,omitempty" doc:"The speaker of a quotation."`
	Value         string     `json:"value,omitempty" doc:"The raw dialogue behind the content, if the strategy stores it."`
	Topic         string     `json:"topic,omitempty"`
	Keywords      []string   `json:"keywords,omitempty" nullable:"false"`
	EventTime     *EventTime `json:"event_time,omitempty" doc:"Time of the event."`
	RecordedAt    *time.Time `json:"recorded_at,omitempty" doc:"Time of the write."`
	ValidFrom     *time.Time `json:"valid_from,omitempty" doc:"Start of validity."`
	ValidTo       *time.Time `json:"valid_to,omitempty" doc:"End of validity; absent while the memory is valid."`
	Status        string     `json:"status" doc:"active, superseded, retracted or quarantined."`
	Version       uint32     `json:"version" doc:"1 for a new entry, and one more for each replacement."`
	Predecessors  []string   `json:"predecessor_ids,omitempty" nullable:"false" doc:"The replaced entries."`
	Sources       []string   `json:"source_turn_ids,omitempty" nullable:"false" doc:"The source turns."`
	SessionID     string     `json:"session_id,omitempty" doc:"The session of these turns."`
	Strategy      string     `json:"strategy,omitempty" doc:"The strategy that formed it."`
	PolicyVersion string     `json:"policy_version,omitempty"`
	OperationID   string     `json:"operation_id,omitempty" doc:"The operation that wrote it."`
	TraceID       string     `json:"trace_id,omitempty" doc:"The trace that wrote it."`
	Quarantine    string     `json:"quarantine,omitempty" doc:"The reason of the quarantine, in one word."`
	Linked        []string   `json:"linked_ids,omitempty" nullable:"false" doc:"Entries that it may have changed. All of them are valid."`
	Attributes
}

// withMemory is an answer of a service with one memory.
type withMemory interface{ GetMemory() *mnemev1.Memory }

func memoryIn[M withMemory](res M) Memory { return memoryOf(res.GetMemory()) }

// EventTime is the time of an event, with its known precision.
type EventTime struct {
	Time       *time.Time `json:"time,omitempty" doc:"The start of the day, month or year."`
	Precision  string     `json:"precision,omitempty" doc:"day, month or year."`
	Expression string     `json:"expression,omitempty" doc:"The speaker's own words."`
	End        *time.Time `json:"end,omitempty" doc:"The start of the last day, month or year of a range."`
}

func memoryOf(m *mnemev1.Memory) Memory {
	out := Memory{
		ID: m.GetId(), Tier: contract.TierName(m), Kind: word(m.GetKind(), "KIND_"), Content: m.GetContent(),
		Speaker: m.GetSpeaker(), Value: m.GetValue(), Topic: m.GetTopic(), Keywords: m.GetKeywords(),
		RecordedAt: timeOf(m.GetRecordedAt()), ValidFrom: timeOf(m.GetValidFrom()), ValidTo: timeOf(m.GetValidTo()),
		Status: word(m.GetStatus(), "STATUS_"), Version: m.GetVersion(), Predecessors: m.GetPredecessorIds(),
		Sources: m.GetSourceTurnIds(), SessionID: m.GetSessionId(), Strategy: m.GetStrategy(),
		PolicyVersion: m.GetPolicyVersion(), OperationID: m.GetOperationId(), TraceID: m.GetTraceId(),
		Quarantine: m.GetQuarantine(), Linked: m.GetLinkedIds(), Attributes: attributesOf(m),
	}
	if e := m.GetEventTime(); e != nil {
		out.EventTime = &EventTime{
			Time: timeOf(e.GetTime()), Precision: word(e.GetPrecision(), "PRECISION_"), Expression: e.GetExpression(),
			End: timeOf(e.GetEnd()),
		}
	}
	return out
}

// Turn is an utterance, as it is kept.
type Turn struct {
	ID      string     `json:"id"`
	Speaker string     `json:"speaker"`
	Role    string     `json:"role" doc:"user or assistant."`
	Text    string     `json:"text"`
	Caption string     `json:"caption,omitempty"`
	Time    *time.Time `json:"time,omitempty"`
	Attributes
}

func turnOf(t *mnemev1.Turn) Turn {
	return Turn{
		ID: t.GetTurnId(), Speaker: t.GetSpeaker(), Role: word(t.GetRole(), "ROLE_"), Text: t.GetText(),
		Caption: t.GetCaption(), Time: timeOf(t.GetTime()), Attributes: attributesOf(t),
	}
}

// CoreBlock is the block of a user that is always in view.
type CoreBlock struct {
	Content       string     `json:"content"`
	Version       uint32     `json:"version" doc:"0 without a block."`
	UpdatedAt     *time.Time `json:"updated_at,omitempty"`
	Sources       []string   `json:"source_turn_ids,omitempty" nullable:"false"`
	SessionID     string     `json:"session_id,omitempty"`
	PolicyVersion string     `json:"policy_version,omitempty"`
	Lines         []CoreLine `json:"lines,omitempty" nullable:"false" doc:"The lines with their source memories."`
}

// CoreLine is a line of a core block.
type CoreLine struct {
	Text      string   `json:"text"`
	MemoryIDs []string `json:"memory_ids,omitempty" nullable:"false"`
}

func coreOf(c *mnemev1.CoreBlock) CoreBlock {
	return CoreBlock{
		Content: c.GetContent(), Version: c.GetVersion(), UpdatedAt: timeOf(c.GetUpdatedAt()), Sources: c.GetSourceTurnIds(),
		SessionID: c.GetSessionId(), PolicyVersion: c.GetPolicyVersion(),
		Lines: each(c.GetLines(), func(l *mnemev1.CoreLine) CoreLine { return CoreLine{l.GetText(), l.GetMemoryIds()} }),
	}
}

// word returns the name of a contract's value in lower case, without the name of its type. It is empty if the value
// is unspecified.
func word(v interface{ String() string }, prefix string) string {
	name := strings.ToLower(strings.TrimPrefix(v.String(), prefix))
	if name == "unspecified" {
		return ""
	}
	return name
}

func timeOf(t *timestamppb.Timestamp) *time.Time {
	if t == nil {
		return nil
	}
	at := t.AsTime()
	return &at
}

func stampOf(t *time.Time) *timestamppb.Timestamp {
	if t == nil {
		return nil
	}
	return timestamppb.New(*t)
}

// answer is an answer with a body.
type answer[T any] struct{ Body T }

// respond answers with the view of a result. It returns an error of the result as it is.
func respond[A, B any](result A, err error, view func(A) B) (*answer[B], error) {
	if err != nil {
		return nil, err
	}
	return &answer[B]{view(result)}, nil
}

// ask answers with the view of a service's answer.
func ask[Q, A, B any](
	ctx context.Context, call func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), question *Q,
	view func(*A) B,
) (*answer[B], error) {
	res, err := backend.Ask(ctx, call, question)
	return respond(res, err, view)
}

// each converts a list; the result is never nil, so that it is a list in JSON, too.
func each[A, B any](in []A, convert func(A) B) []B {
	out := make([]B, len(in))
	for i, v := range in {
		out[i] = convert(v)
	}
	return out
}

// texts converts identifiers.
func texts[T ~string](in []T) []string { return each(in, func(v T) string { return string(v) }) }
