// Package memory is the domain of Mneme. It defines the owner of a memory, the form of an entry, the operations,
// and their effect on a bank. It is pure: it uses no store, no bus and no model.
package memory

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
)

// Scope is the owner of memories: a tenant and a user. Every read and write of a store takes one.
type Scope struct {
	// Tenant is the customer, as ValidTenant accepts it.
	Tenant string `json:"tenant"`
	// User is the end user within the tenant, as ValidUser accepts it.
	User string `json:"user"`
}

// Key is the scope as one string, "tenant/user". It is the key of bus records and workflows. It is injective
// because a tenant contains no slash.
func (s Scope) Key() string { return s.Tenant + "/" + s.User }

// Role is the role of a speaker.
type Role string

// The roles. A turn has one of the first two. Only the messages of a request may also have results of a tool.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one of the last turns of the conversation around a query, as the caller sent it. It explains the
// query. It is neither stored nor a memory.
type Message struct {
	Role    Role
	Content string
}

// Turn is one utterance.
type Turn struct {
	ID        string `json:"id"`
	SessionID string `json:"session_id"`
	Speaker   string `json:"speaker"`
	Role      Role   `json:"role"`
	Text      string `json:"text"`
	Caption   string `json:"caption,omitempty"`
	// Time is in the offset of its speaker, from which days in words count ("tomorrow"). Stores return it in UTC.
	Time time.Time `json:"time"`
	// Place is the order of arrival in the session, from 1, while the turn waits for its consolidation. It orders turns of
	// the same time. Stores do not keep it.
	Place int `json:"place,omitempty"`
	// Saliency is the filter's decision on it. It is zero if unknown.
	Saliency SaliencyDecision `json:"saliency,omitzero"`
	Attributes
}

// Compare orders turns by time, and turns of the same time by their arrival.
func (t Turn) Compare(o Turn) int {
	return cmp.Or(t.Time.Compare(o.Time), cmp.Compare(t.Place, o.Place))
}

// SameAs reports whether both turns have the same contents and session. A turn's id, unique per user, must stand
// for one such turn.
func (t Turn) SameAs(o Turn) bool {
	return t.SessionID == o.SessionID && t.Text == o.Text && t.Caption == o.Caption
}

// Kind is the subject of a memory.
type Kind string

// The kinds of memory.
const (
	KindFact       Kind = "fact"
	KindPreference Kind = "preference"
	KindEpisodic   Kind = "episodic"
	KindSemantic   Kind = "semantic"
	KindProcedural Kind = "procedural"
)

// Kinds are all kinds, in the order above.
func Kinds() []Kind {
	return []Kind{KindFact, KindPreference, KindEpisodic, KindSemantic, KindProcedural}
}

// Tier separates the entries that a reader would write down from the rest of the talk.
type Tier string

// The tiers of an entry. Stores treat both the same. Lists and counts for clients show memories by default.
const (
	// TierMemory marks a memory. It is the zero value, because entries of earlier versions have no tier.
	TierMemory Tier = ""
	// TierTalk marks a part of a turn that is only searchable.
	TierTalk Tier = "talk"
)

// Valid reports whether the tier is one of the above.
func (t Tier) Valid() bool { return t == TierMemory || t == TierTalk }

// Status says whether a memory holds.
type Status string

// The states of a memory. Superseded and retracted are final. Quarantined ends with a release or a removal.
const (
	StatusActive     Status = "active"
	StatusSuperseded Status = "superseded"
	StatusRetracted  Status = "retracted"
	// StatusQuarantined marks an entry that looks like an attack on the memory. It is stored and can be read. No
	// recall and no prompt shows it until an operator releases it.
	StatusQuarantined Status = "quarantined"
)

// Recallable are the states that a recall about the past may show.
func Recallable() []Status { return []Status{StatusActive, StatusSuperseded, StatusRetracted} }

// Open reports whether an entry of that state can be closed.
func (s Status) Open() bool { return s == StatusActive || s == StatusQuarantined }

// Precision is how exactly a time is known.
type Precision string

// The precisions of an event time.
const (
	PrecisionDay   Precision = "day"
	PrecisionMonth Precision = "month"
	PrecisionYear  Precision = "year"
)

// EventTime is the time of an event, with the precision of the speaker. The zero value means that the time is not
// known.
type EventTime struct {
	// Time is the start of the day, month or year, in UTC.
	Time time.Time `json:"time,omitzero"`
	// End is the start of the last day, month or year of a range. It is zero for a single one.
	End time.Time `json:"end,omitzero"`
	// Precision is empty exactly when Time is zero.
	Precision Precision `json:"precision,omitempty"`
	// Expression is the speaker's own words ("last week"). It is empty when the turn's own time was used.
	Expression string `json:"expression,omitempty"`
}

// Memory is one entry of a user's bank.
type Memory struct {
	// ID is derived by DeriveID, never random.
	ID string `json:"id"`
	// Kind is the subject of the entry.
	Kind Kind `json:"kind"`
	// Tier is the tier of the entry. A new version has the tier of its operation's new entry.
	Tier Tier `json:"tier,omitempty"`
	// Content is a statement that is complete by itself. A model writes it in the third person. A quotation is in
	// the words of Speaker.
	Content string `json:"content"`
	// Speaker is the speaker of Content, for a quotation. It is empty for a text in the third person.
	Speaker string `json:"speaker,omitempty"`
	// Value is the raw dialogue behind Content, for a strategy that stores it with the entry (RMM: the summary is
	// the key, the dialogue the value). It has at most MaxValueBytes, and is empty otherwise. Word search covers
	// it, and the vector is of Content alone.
	Value string `json:"value,omitempty"`
	// Topic is one or two words.
	Topic string `json:"topic,omitempty"`
	// Slot names the attribute of a subject that holds one value at a time ("ana/home"). It is empty for other
	// statements. A new value of the same slot updates the entry.
	Slot string `json:"slot,omitempty"`
	// Keywords are additional search words.
	Keywords []string `json:"keywords,omitempty"`
	// EventTime is the time of the event.
	EventTime EventTime `json:"event_time,omitzero"`
	// RecordedAt is the time of the write.
	RecordedAt time.Time `json:"recorded_at"`
	// ValidFrom is the time from which it holds: the time of its turn.
	ValidFrom time.Time `json:"valid_from"`
	// ValidTo is the time until which it held. It is zero while it holds.
	ValidTo time.Time `json:"valid_to,omitzero"`
	// Status says whether it holds.
	Status Status `json:"status"`
	// Quarantine is the reason of the quarantine, as one word for programs ("order"). It stays when the entry is
	// released.
	Quarantine string `json:"quarantine,omitempty"`
	// Version is 1 for a new entry, else one more than the newest predecessor's.
	Version int `json:"version"`
	// Predecessors are the entries that this one replaced.
	Predecessors []string `json:"predecessors,omitempty"`
	// Links are entries of the same user that this one may have changed, without enough certainty to close them.
	// Both hold. A reader shows this one, the newer, first.
	Links []string `json:"links,omitempty"`
	// Sources are the ids of its source turns, at least one, sorted.
	Sources []string `json:"sources"`
	// SessionID is the session of those turns.
	SessionID string `json:"session_id"`
	// Strategy is the strategy that formed it.
	Strategy string `json:"strategy"`
	// PolicyVersion is name and version of the policy that decided.
	PolicyVersion string `json:"policy_version"`
	// OperationID is the operation that wrote it.
	OperationID string `json:"operation_id"`
	// TraceID is the trace that wrote it, 32 hexadecimal digits, or empty.
	TraceID string `json:"trace_id,omitempty"`
	// SpanID is the span that wrote it, 16 hexadecimal digits, or empty.
	SpanID string `json:"span_id,omitempty"`
	// Vector is the embedding of Content. Stores keep it. Reads leave it nil unless asked.
	Vector Vector `json:"vector,omitempty"`
	// Attributes are the attributes of its source turns. Of two values the newer turn's counts. A new version keeps
	// its predecessors' attributes.
	Attributes
}

// SessionRecord describes the consolidation of a session.
type SessionRecord struct {
	SessionID string `json:"session_id"`
	// Closed says that the session ended and all of it was consolidated.
	Closed bool `json:"closed"`
	// FormedAt is the time of the last write of its memories.
	FormedAt time.Time `json:"formed_at"`
	// Turns counts the salient turns consolidated.
	Turns int `json:"turns"`
	// Operations counts the applied operations, without NONE.
	Operations int `json:"operations"`
}

// Vector is an embedding. Its JSON is base64 of little-endian float32, a quarter of the size of a list of numbers.
// Vectors are most of the data in a workflow's history.
type Vector []float32

// MarshalJSON encodes the vector; nil becomes null.
func (v Vector) MarshalJSON() ([]byte, error) {
	if v == nil {
		return []byte("null"), nil
	}
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return json.Marshal(base64.StdEncoding.EncodeToString(raw))
}

// UnmarshalJSON decodes the form of MarshalJSON.
func (v *Vector) UnmarshalJSON(data []byte) error {
	var text *string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("vector: want base64 text: %w", err)
	}
	if text == nil {
		*v = nil
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(*text)
	if err != nil {
		return fmt.Errorf("vector: %w", err)
	}
	if len(raw)%4 != 0 {
		return errors.New("vector: length is not a multiple of four bytes")
	}
	out := make(Vector, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	*v = out
	return nil
}

// Cosine is the cosine of two vectors. It is 0 when one is zero or their lengths differ.
func Cosine(a, b Vector) float64 {
	if len(a) != len(b) {
		return 0
	}
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}
