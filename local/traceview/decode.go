package traceview

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

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
		Service: service, Name: clip(in.Name()), Kind: strings.ToLower(in.Kind().String()),
		Start: start, Duration: max(0, end.Sub(start)),
		Error: in.Status().Code() == ptrace.StatusCodeError, Message: clip(in.Status().Message()),
		Attributes: attributes(in.Attributes()),
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
