package mcp

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
)

// memoryView is an entry as clients see it. Times are in UTC, after RFC 3339.
type memoryView struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Speaker string `json:"speaker,omitempty" jsonschema:"who said the content, where it is a quotation"`
	Tier    string `json:"tier,omitempty" jsonschema:"talk for a part of a turn that is only searchable; absent for a memory"`
	Kind    string `json:"kind" jsonschema:"fact, preference, episodic, semantic or procedural"`
	Topic   string `json:"topic,omitempty"`
	Status  string `json:"status" jsonschema:"active: it holds; superseded: a newer one holds; retracted; quarantined: not recalled"`
	// Happened is the event's time, with its known precision.
	Happened     string   `json:"happened,omitempty" jsonschema:"when it happened, as exactly as said: 2026, 2026-03, 2026-03-01, or from/to"`
	SaidAt       string   `json:"said_at,omitempty" jsonschema:"when it was said"`
	HeldUntil    string   `json:"held_until,omitempty" jsonschema:"until when it held"`
	RecordedAt   string   `json:"recorded_at,omitempty"`
	Version      uint32   `json:"version"`
	Predecessors []string `json:"predecessor_ids,omitempty" jsonschema:"the versions that this one took the place of"`
	Linked       []string `json:"linked_ids,omitempty" jsonschema:"older memories that this one may have changed; both hold"`
	Turns        []string `json:"source_turn_ids,omitempty" jsonschema:"the turns that it was made from"`
	Session      string   `json:"session_id,omitempty"`
	Quarantine   string   `json:"quarantine,omitempty" jsonschema:"why it was quarantined"`
	attributesView
}

func viewOf(m *mnemev1.Memory) memoryView {
	return memoryView{
		ID: m.GetId(), Content: m.GetContent(), Speaker: m.GetSpeaker(), Tier: contract.TierName(m),
		Kind: nameOf(m.GetKind(), "KIND_"), Topic: m.GetTopic(),
		Status: nameOf(m.GetStatus(), "STATUS_"), Happened: happened(m.GetEventTime()), SaidAt: stamp(m.GetValidFrom()),
		HeldUntil: stamp(m.GetValidTo()), RecordedAt: stamp(m.GetRecordedAt()), Version: m.GetVersion(),
		Predecessors: m.GetPredecessorIds(), Linked: m.GetLinkedIds(), Turns: m.GetSourceTurnIds(), Session: m.GetSessionId(),
		Quarantine: m.GetQuarantine(), attributesView: attributesOf(m),
	}
}

func viewsOf(ms []*mnemev1.Memory) []memoryView {
	out := make([]memoryView, len(ms))
	for i, m := range ms {
		out[i] = viewOf(m)
	}
	return out
}

// turnView is the view of a turn.
type turnView struct {
	ID      string `json:"id"`
	Speaker string `json:"speaker"`
	Role    string `json:"role"`
	Text    string `json:"text"`
	Time    string `json:"time,omitempty"`
}

func turnsOf(ts []*mnemev1.Turn) []turnView {
	out := make([]turnView, len(ts))
	for i, t := range ts {
		out[i] = turnView{
			ID: t.GetTurnId(), Speaker: t.GetSpeaker(), Role: nameOf(t.GetRole(), "ROLE_"), Text: t.GetText(),
			Time: stamp(t.GetTime()),
		}
	}
	return out
}

// citedView is a memory that a profile or an answer cites.
type citedView struct {
	Index  uint32     `json:"index" jsonschema:"its number in the profile"`
	Score  float64    `json:"score" jsonschema:"comparable within one result; 0 where it is shown beside the ranking"`
	Memory memoryView `json:"memory"`
}

func citedOf(cs []*mnemev1.CitedMemory) []citedView {
	out := make([]citedView, len(cs))
	for i, c := range cs {
		out[i] = citedView{Index: c.GetIndex(), Score: c.GetScore(), Memory: viewOf(c.GetMemory())}
	}
	return out
}

// sortedByScore has the best first.
func sortedByScore(cs []citedView) []citedView {
	slices.SortStableFunc(cs, func(a, b citedView) int { return cmp.Compare(b.Score, a.Score) })
	return cs
}

// nameOf is the name of an enum's value, as JSON has it.
func nameOf(v interface{ String() string }, prefix string) string {
	return strings.ToLower(strings.TrimPrefix(v.String(), prefix))
}

func stamp(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Format(time.RFC3339)
}

// layout is how times of a precision are written.
func layout(p mnemev1.Precision) string {
	switch p {
	case mnemev1.Precision_PRECISION_YEAR:
		return "2006"
	case mnemev1.Precision_PRECISION_MONTH:
		return "2006-01"
	}
	return time.DateOnly
}

func happened(e *mnemev1.EventTime) string {
	if e.GetTime() == nil {
		return ""
	}
	as := layout(e.GetPrecision())
	out := e.GetTime().AsTime().Format(as)
	if e.GetEnd() != nil {
		out += "/" + e.GetEnd().AsTime().Format(as)
	}
	return out
}

// orEmpty is a list that is never absent, so that clients need not look.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Fences around memory in a prompt.
const fenceStart, fenceEnd = "<memory>", "</memory>"

// fenced puts memory between fences after a label. No text in the memory can end the fence.
func fenced(memory string) string {
	memory = strings.NewReplacer("<", `\u003c`, ">", `\u003e`).Replace(strings.TrimSpace(memory))
	if memory == "" {
		memory = "(nothing is remembered yet)"
	}
	return Notice + "\n" + fenceStart + "\n" + memory + "\n" + fenceEnd
}
