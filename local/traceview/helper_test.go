package traceview_test

import (
	"encoding/hex"
	"fmt"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	second    = uint64(1e9)
	beginning = 1_700_000_000 * second
)

// traceID and spanID make ids from small numbers.
func traceID(n int) string { return fmt.Sprintf("%032x", n) }
func spanID(n int) string  { return fmt.Sprintf("%016x", n) }

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// wire builds a span of a trace. from and to are milliseconds after the trace's start.
func wire(traceN, n, parent int, name string, from, to uint64) *trace.Span {
	span := &trace.Span{
		TraceId: unhex(traceID(traceN)), SpanId: unhex(spanID(n)), Name: name,
		StartTimeUnixNano: beginning + from*1e6, EndTimeUnixNano: beginning + to*1e6,
	}
	if parent != 0 {
		span.ParentSpanId = unhex(spanID(parent))
	}
	return span
}

func text(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

func export(service string, spans ...*trace.Span) *collector.ExportTraceServiceRequest {
	return &collector.ExportTraceServiceRequest{ResourceSpans: []*trace.ResourceSpans{{
		Resource:   &resource.Resource{Attributes: []*common.KeyValue{text("service.name", service)}},
		ScopeSpans: []*trace.ScopeSpans{{Spans: spans}},
	}}}
}

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
