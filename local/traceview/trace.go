package traceview

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Trace holds the stored spans of one trace.
type Trace struct {
	ID string `json:"trace_id"`
	// Spans are sorted by start, longer ones first, then by id.
	Spans []Span `json:"spans"`
	// Dropped is the number of spans that did not fit into the store.
	Dropped int `json:"dropped,omitempty"`
	// LinkedFrom holds the links from other traces to this one.
	LinkedFrom []Incoming `json:"linked_from,omitempty"`
}

// Summary is one line about a trace.
type Summary struct {
	ID string `json:"trace_id"`
	// Name and Service come from the first root.
	Name    string `json:"name"`
	Service string `json:"service"`
	// Services are all participating services, sorted.
	Services []string      `json:"services"`
	Start    time.Time     `json:"start"`
	Duration time.Duration `json:"duration_ns"`
	Spans    int           `json:"spans"`
	Errors   int           `json:"errors"`
}

// Node is a span at its place in the tree.
type Node struct {
	Span
	// Depth is 0 for a root.
	Depth int
	// Orphan says that the span's parent is not (yet) in the store. The span then counts as a root.
	Orphan bool
}

// Summary returns the trace's summary. The trace must have at least one span.
func (t Trace) Summary() Summary {
	root := t.Nodes()[0]
	start, end := t.extent()
	sum := Summary{ID: t.ID, Name: root.Name, Service: root.Service, Start: start, Duration: end.Sub(start),
		Spans: len(t.Spans)}
	for _, span := range t.Spans {
		sum.Services = append(sum.Services, span.Service)
		if span.Error {
			sum.Errors++
		}
	}
	slices.Sort(sum.Services)
	sum.Services = slices.Compact(sum.Services)
	return sum
}

func (t Trace) extent() (start, end time.Time) {
	for i, span := range t.Spans {
		if i == 0 || span.Start.Before(start) {
			start = span.Start
		}
		if i == 0 || span.end().After(end) {
			end = span.end()
		}
	}
	return start, end
}

// Nodes lists every span once, parents before their children, true roots before orphans. In a circle of parents, the
// earliest span comes first.
func (t Trace) Nodes() []Node {
	here := make(map[string]bool, len(t.Spans))
	for _, span := range t.Spans {
		here[span.ID] = true
	}
	children := make(map[string][]Span)
	var roots, orphans []Node
	for _, span := range t.Spans {
		switch {
		case span.ParentID == "":
			roots = append(roots, Node{Span: span})
		case !here[span.ParentID]:
			orphans = append(orphans, Node{Span: span, Orphan: true})
		default:
			children[span.ParentID] = append(children[span.ParentID], span)
		}
	}
	w := walker{children: children, seen: make(map[string]bool, len(t.Spans))}
	for _, node := range append(roots, orphans...) {
		w.descend(node)
	}
	for _, span := range t.Spans {
		w.descend(Node{Span: span, Orphan: true}) // only spans in circles remain
	}
	return w.nodes
}

type walker struct {
	children map[string][]Span
	seen     map[string]bool
	nodes    []Node
}

// descend lists a node with its descendants. It does not use recursion, because a chain of spans may be long.
func (w *walker) descend(from Node) {
	stack := []Node{from}
	for len(stack) > 0 {
		node := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if w.seen[node.ID] {
			continue
		}
		w.seen[node.ID] = true
		w.nodes = append(w.nodes, node)
		for _, child := range slices.Backward(w.children[node.ID]) {
			stack = append(stack, Node{Span: child, Depth: node.Depth + 1})
		}
	}
}

// shortID is a prefix of an id, long enough for a reader to distinguish traces.
func shortID(id string) string { return id[:min(len(id), 8)] }

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

// ErrMalformed is wrapped by the errors of Decode.
var ErrMalformed = errors.New("malformed trace export")

// Content types of OTLP/HTTP, which name the encoding of a body.
const (
	Protobuf = "application/x-protobuf"
	JSON     = "application/json"
)

// Limits of the stored parts of one span.
const (
	maxText  = 1024
	maxParts = 128
)

// Decode reads an export request of OTLP/HTTP. It drops spans without ids, as the protocol requires.
func Decode(contentType string, body []byte) ([]Span, error) {
	var unmarshaler ptrace.Unmarshaler = &ptrace.ProtoUnmarshaler{}
	if contentType == JSON {
		unmarshaler = &ptrace.JSONUnmarshaler{}
	}
	traces, err := unmarshaler.UnmarshalTraces(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	var spans []Span
	for _, resource := range traces.ResourceSpans().All() {
		service := "unknown"
		if name, ok := resource.Resource().Attributes().Get("service.name"); ok && name.Str() != "" {
			service = clip(name.Str())
		}
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				if !span.TraceID().IsEmpty() && !span.SpanID().IsEmpty() {
					spans = append(spans, spanOf(service, span))
				}
			}
		}
	}
	return spans, nil
}

func spanOf(service string, in ptrace.Span) Span {
	start, end := in.StartTimestamp().AsTime(), in.EndTimestamp().AsTime()
	out := Span{
		TraceID: in.TraceID().String(), ID: in.SpanID().String(), ParentID: in.ParentSpanID().String(),
		Service: service, Name: clip(in.Name()), Kind: strings.ToLower(in.Kind().String()), Start: start,
		Duration: max(0, end.Sub(start)), Error: in.Status().Code() == ptrace.StatusCodeError,
		Message: clip(in.Status().Message()), Attributes: attributes(in.Attributes()),
	}
	for i, e := range in.Events().All() {
		if i < maxParts {
			out.Events = append(out.Events, Event{Name: clip(e.Name()), Time: e.Timestamp().AsTime(),
				Attributes: attributes(e.Attributes())})
		}
	}
	for i, l := range in.Links().All() {
		if i < maxParts && !l.TraceID().IsEmpty() && !l.SpanID().IsEmpty() {
			out.Links = append(out.Links, Link{TraceID: l.TraceID().String(), SpanID: l.SpanID().String()})
		}
	}
	return out
}

func attributes(in pcommon.Map) []Attribute {
	var out []Attribute
	for key, value := range in.All() {
		if len(out) < maxParts {
			out = append(out, Attribute{Key: clip(key), Value: clip(value.AsString())})
		}
	}
	slices.SortStableFunc(out, func(a, b Attribute) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// clip keeps texts short and valid.
func clip(s string) string {
	if len(s) > maxText {
		s = s[:maxText] + "…"
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return s
}
