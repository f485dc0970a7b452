// Package memory is the domain of Mneme: whose memory it is, what an entry of it looks
// like, which operations change it, and what those operations do to a bank. It is pure: it
// knows no store, no bus and no model.
package memory

import "time"

// Scope is whose memory is meant. Every read and write of a store takes one.
type Scope struct {
	// Tenant is the customer, as ValidTenant accepts it.
	Tenant string `json:"tenant"`
	// User is the end user within the tenant, as ValidUser accepts it.
	User string `json:"user"`
}

// Key is the scope as one string, "tenant/user": the key of bus records and workflows.
// It is injective because a tenant contains no slash.
func (s Scope) Key() string { return s.Tenant + "/" + s.User }

// Role is who speaks.
type Role string

// The roles: a turn has one of the first two; only in the messages of a request there may be a tool's results, too.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one of the last turns of the conversation that a query belongs to, as the caller sent it. It helps to understand the query; it
// is neither stored nor a memory.
type Message struct {
	Role    Role
	Content string
}

// Turn is one utterance.
type Turn struct {
	ID        string    `json:"id"`
	SessionID string    `json:"session_id"`
	Speaker   string    `json:"speaker"`
	Role      Role      `json:"role"`
	Text      string    `json:"text"`
	Caption   string    `json:"caption,omitempty"`
	Time      time.Time `json:"time"`
	// Saliency is what the filter made of it; zero where that is not known.
	Saliency SaliencyDecision `json:"saliency,omitzero"`
	Attributes
}

// SameAs reports whether both turns say the same in the same session: what a turn's id, unique per user, stands for.
func (t Turn) SameAs(o Turn) bool {
	return t.SessionID == o.SessionID && t.Text == o.Text && t.Caption == o.Caption
}

// Kind is what a memory is about.
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

// Status is whether a memory holds.
type Status string

// The states of a memory. Superseded and retracted are final; quarantined ends with a release or a removal.
const (
	StatusActive     Status = "active"
	StatusSuperseded Status = "superseded"
	StatusRetracted  Status = "retracted"
	// StatusQuarantined is of what looks like an attack on the memory: it is kept and can be looked at, and nobody is shown it in
	// a recall or a prompt until somebody releases it.
	StatusQuarantined Status = "quarantined"
)

// Recallable are the states of what a recall may show, if it asks about the past.
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

// EventTime is when something happened, as exactly as the speaker said it. The zero value
// means that the time is not known.
type EventTime struct {
	// Time is the start of the day, month or year, in UTC.
	Time time.Time `json:"time,omitzero"`
	// End is the start of the last day, month or year of a range; zero for a single one.
	End time.Time `json:"end,omitzero"`
	// Precision is empty exactly when Time is zero.
	Precision Precision `json:"precision,omitempty"`
	// Expression is the speaker's own words ("last week"); empty when the turn's own time was taken.
	Expression string `json:"expression,omitempty"`
}

// Memory is one entry of a user's bank.
type Memory struct {
	// ID is derived by DeriveID, never random.
	ID string `json:"id"`
	// Kind is what the entry is about.
	Kind Kind `json:"kind"`
	// Content is a statement that stands alone: in the third person where a model wrote it, in the speaker's own words where Speaker
	// says whose they are.
	Content string `json:"content"`
	// Speaker is who said Content, where it is a quotation; empty where it is told in the third person.
	Speaker string `json:"speaker,omitempty"`
	// Value is the raw dialogue that Content sums up, where the strategy keeps it with the entry (RMM: the summary is the key,
	// the dialogue the value), at most MaxValueBytes; empty otherwise. Searches by words find it, the vector is of Content alone.
	Value string `json:"value,omitempty"`
	// Topic is one or two words.
	Topic string `json:"topic,omitempty"`
	// Slot names the attribute of a subject that holds one value at a time ("ana/home"); empty
	// when the statement is not of that sort. A new value of the same slot updates the entry.
	Slot string `json:"slot,omitempty"`
	// Keywords are search words beside the content.
	Keywords []string `json:"keywords,omitempty"`
	// EventTime is when it happened.
	EventTime EventTime `json:"event_time,omitzero"`
	// RecordedAt is when it was written.
	RecordedAt time.Time `json:"recorded_at"`
	// ValidFrom is from when it holds: the time of the turn it was said in.
	ValidFrom time.Time `json:"valid_from"`
	// ValidTo is until when it held; zero while it holds.
	ValidTo time.Time `json:"valid_to,omitzero"`
	// Status is whether it holds.
	Status Status `json:"status"`
	// Quarantine is why the entry was quarantined, as one word for machines ("order"). It stays when the entry is released.
	Quarantine string `json:"quarantine,omitempty"`
	// Version is 1 for a new entry, else one more than the newest predecessor's.
	Version int `json:"version"`
	// Predecessors are the entries that this one took the place of.
	Predecessors []string `json:"predecessors,omitempty"`
	// Links are entries of the same user that this one may have changed without it being sure enough to close them: both hold, and
	// whoever shows them shows this one, the newer, first.
	Links []string `json:"links,omitempty"`
	// Sources are the ids of the turns it was made from; at least one, sorted.
	Sources []string `json:"sources"`
	// SessionID is the session of those turns.
	SessionID string `json:"session_id"`
	// Strategy is the way of forming that made it.
	Strategy string `json:"strategy"`
	// PolicyVersion is name and version of the policy that decided.
	PolicyVersion string `json:"policy_version"`
	// OperationID is the operation that wrote it.
	OperationID string `json:"operation_id"`
	// TraceID is the trace that wrote it, 32 hexadecimal digits; empty when not traced.
	TraceID string `json:"trace_id,omitempty"`
	// SpanID is the span that wrote it, 16 hexadecimal digits; empty when not traced.
	SpanID string `json:"span_id,omitempty"`
	// Vector is the embedding of Content. Stores keep it; reads leave it nil unless asked.
	Vector Vector `json:"vector,omitempty"`
	// Attributes are those of the turns that it was made from: of two values the newer turn's; a new version keeps its predecessors'.
	Attributes
}

// SessionRecord says how far a session has been consolidated.
type SessionRecord struct {
	SessionID string `json:"session_id"`
	// Closed says that the session ended and all of it was consolidated.
	Closed bool `json:"closed"`
	// FormedAt is when its memories were written last.
	FormedAt time.Time `json:"formed_at"`
	// Turns counts the salient turns consolidated.
	Turns int `json:"turns"`
	// Operations counts the operations applied, NONE not counted.
	Operations int `json:"operations"`
}
