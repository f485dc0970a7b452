package traceview

import "time"

// Span is one stored span. Ids are lower-case hexadecimal.
type Span struct {
	TraceID  string `json:"trace_id"`
	ID       string `json:"span_id"`
	ParentID string `json:"parent_id,omitempty"`
	// Service is the resource's service.name, or "unknown".
	Service string `json:"service"`
	Name    string `json:"name"`
	// Kind is internal, server, client, producer or consumer.
	Kind  string    `json:"kind"`
	Start time.Time `json:"start"`
	// Duration is never negative.
	Duration time.Duration `json:"duration_ns"`
	// Error says that the span failed. Message is its status text.
	Error   bool   `json:"error,omitempty"`
	Message string `json:"message,omitempty"`
	// Attributes are sorted by key.
	Attributes []Attribute `json:"attributes,omitempty"`
	Events     []Event     `json:"events,omitempty"`
	Links      []Link      `json:"links,omitempty"`
}

// Attribute is a key with its value as text.
type Attribute struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Event is a moment within a span.
type Event struct {
	Name       string      `json:"name"`
	Time       time.Time   `json:"time"`
	Attributes []Attribute `json:"attributes,omitempty"`
}

// Link points to a span, mostly of another trace.
type Link struct {
	TraceID string `json:"trace_id"`
	SpanID  string `json:"span_id"`
}

// end is the end time of the span.
func (s Span) end() time.Time { return s.Start.Add(s.Duration) }
