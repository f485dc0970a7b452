package traceview

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// ErrMalformed is wrapped by the errors of Decode.
var ErrMalformed = errors.New("malformed trace export")

// Encoding is how an OTLP/HTTP body is written.
type Encoding int

// The two encodings of OTLP/HTTP.
const (
	Protobuf Encoding = iota
	JSON
)

// What is kept of one span; the rest is cut off.
const (
	maxText    = 1024
	maxParts   = 128
	maxNesting = 4
)

// Bytes of the ids.
const (
	traceSize = 16
	spanSize  = 8
)

// Decode reads an export request of OTLP/HTTP. Spans without valid ids are left out, as the
// protocol asks for.
func Decode(encoding Encoding, body []byte) ([]Span, error) {
	var request collector.ExportTraceServiceRequest
	ids := idReader{}
	var err error
	if encoding == JSON {
		ids.json = true
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(body, &request)
	} else {
		err = proto.Unmarshal(body, &request)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	var spans []Span
	for _, resource := range request.GetResourceSpans() {
		service := serviceName(resource.GetResource().GetAttributes())
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				if s, ok := ids.span(service, span); ok {
					spans = append(spans, s)
				}
			}
		}
	}
	return spans, nil
}

func serviceName(attributes []*common.KeyValue) string {
	for _, kv := range attributes {
		if kv.GetKey() == "service.name" && kv.GetValue().GetStringValue() != "" {
			return clip(kv.GetValue().GetStringValue())
		}
	}
	return "unknown"
}

// idReader reads ids: OTLP's JSON writes them in hexadecimal, where protobuf's JSON reads base64,
// so what was decoded has to be encoded again to get at the text.
type idReader struct{ json bool }

// id returns the id in hexadecimal, or false for one of another size or of zeros only.
func (r idReader) id(raw []byte, size int) (string, bool) {
	text := hex.EncodeToString(raw)
	if r.json {
		text = strings.ToLower(base64.StdEncoding.EncodeToString(raw))
	}
	if len(text) != 2*size || strings.Trim(text, "0123456789abcdef") != "" || strings.Trim(text, "0") == "" {
		return "", false
	}
	return text, true
}

func (r idReader) span(service string, in *trace.Span) (Span, bool) {
	traceID, okTrace := r.id(in.GetTraceId(), traceSize)
	spanID, okSpan := r.id(in.GetSpanId(), spanSize)
	if !okTrace || !okSpan {
		return Span{}, false
	}
	parentID, _ := r.id(in.GetParentSpanId(), spanSize) // none for a root
	start, end := instant(in.GetStartTimeUnixNano()), instant(in.GetEndTimeUnixNano())
	return Span{
		TraceID: traceID, ID: spanID, ParentID: parentID,
		Service: service, Name: clip(in.GetName()), Kind: kindName(in.GetKind()),
		Start: start, Duration: max(0, end.Sub(start)),
		Error:      in.GetStatus().GetCode() == trace.Status_STATUS_CODE_ERROR,
		Message:    clip(in.GetStatus().GetMessage()),
		Attributes: attributes(in.GetAttributes()), Events: events(in.GetEvents()), Links: r.links(in.GetLinks()),
	}, true
}

func (r idReader) links(in []*trace.Span_Link) []Link {
	var out []Link
	for _, l := range first(in) {
		traceID, okTrace := r.id(l.GetTraceId(), traceSize)
		spanID, okSpan := r.id(l.GetSpanId(), spanSize)
		if okTrace && okSpan {
			out = append(out, Link{TraceID: traceID, SpanID: spanID})
		}
	}
	return out
}

func events(in []*trace.Span_Event) []Event {
	var out []Event
	for _, e := range first(in) {
		out = append(out, Event{Name: clip(e.GetName()), Time: instant(e.GetTimeUnixNano()), Attributes: attributes(e.GetAttributes())})
	}
	return out
}

func attributes(in []*common.KeyValue) []Attribute {
	var out []Attribute
	for _, kv := range first(in) {
		out = append(out, Attribute{Key: clip(kv.GetKey()), Value: valueText(kv.GetValue(), 0)})
	}
	slices.SortStableFunc(out, func(a, b Attribute) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// valueText writes a value for reading. Each level is clipped, and few levels are gone into, because
// a small body can nest deeply.
func valueText(v *common.AnyValue, depth int) string {
	if depth > maxNesting {
		return "…"
	}
	var items []string
	switch value := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return clip(value.StringValue)
	case *common.AnyValue_BoolValue:
		return strconv.FormatBool(value.BoolValue)
	case *common.AnyValue_IntValue:
		return strconv.FormatInt(value.IntValue, 10)
	case *common.AnyValue_DoubleValue:
		return strconv.FormatFloat(value.DoubleValue, 'g', -1, 64)
	case *common.AnyValue_BytesValue:
		return clip(hex.EncodeToString(value.BytesValue[:min(len(value.BytesValue), maxText)]))
	case *common.AnyValue_ArrayValue:
		for _, item := range first(value.ArrayValue.GetValues()) {
			items = append(items, valueText(item, depth+1))
		}
		return clip("[" + strings.Join(items, ", ") + "]")
	case *common.AnyValue_KvlistValue:
		for _, kv := range first(value.KvlistValue.GetValues()) {
			items = append(items, clip(kv.GetKey())+": "+valueText(kv.GetValue(), depth+1))
		}
		return clip("{" + strings.Join(items, ", ") + "}")
	default:
		return ""
	}
}

func kindName(kind trace.Span_SpanKind) string {
	switch kind {
	case trace.Span_SPAN_KIND_SERVER:
		return "server"
	case trace.Span_SPAN_KIND_CLIENT:
		return "client"
	case trace.Span_SPAN_KIND_PRODUCER:
		return "producer"
	case trace.Span_SPAN_KIND_CONSUMER:
		return "consumer"
	default:
		return "internal"
	}
}

// instant reads nanoseconds since 1970; what does not fit is the latest time that does.
func instant(nanos uint64) time.Time {
	return time.Unix(0, int64(min(nanos, math.MaxInt64))).UTC()
}

func first[T any](in []T) []T { return in[:min(len(in), maxParts)] }

// clip keeps texts short and valid.
func clip(s string) string {
	if len(s) > maxText {
		s = s[:maxText] + "…"
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "�")
	}
	return s
}
