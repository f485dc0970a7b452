package traceview_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	common "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/mneme-memory/mneme/local/traceview"
)

// Decode refuses a body, or returns spans that can be stored, drawn and printed.
func FuzzDecode(f *testing.F) {
	span := wire(1, 2, 1, "name", 0, 5)
	span.Attributes = []*common.KeyValue{text("k", "v"), {Key: "list", Value: &common.AnyValue{
		Value: &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{Values: []*common.AnyValue{{}, {}}}},
	}}}
	f.Add(false, marshal(f, export("s", span, wire(1, 1, 2, "circle", 1, 2))))
	f.Add(true, []byte(jsonExport))
	f.Add(true, []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"zz","endTimeUnixNano":"18446744073709551615"}]}]}]}`))
	f.Add(false, []byte{0x0a, 0xff})
	f.Fuzz(func(t *testing.T, isJSON bool, body []byte) {
		encoding := traceview.Protobuf
		if isJSON {
			encoding = traceview.JSON
		}
		spans, err := traceview.Decode(encoding, body)
		if err != nil {
			return
		}
		store := traceview.NewStore(100)
		store.Add(spans)
		h := traceview.NewHandler(store)
		for _, sum := range store.Traces(traceview.Filter{}) {
			got, ok := store.Trace(sum.ID)
			if !ok || len(got.Nodes()) != len(got.Spans) {
				t.Fatalf("trace %s has %d nodes for %d spans", sum.ID, len(got.Nodes()), len(got.Spans))
			}
			tree := traceview.Tree(got)
			if strings.ContainsAny(tree, "\x1b\x00\r") || !utf8.ValidString(tree) {
				t.Fatalf("tree %q", tree)
			}
			if w := get(h, "/traces/"+sum.ID); w.Code != 200 || strings.Contains(w.Body.String(), "ZgotmplZ") {
				t.Fatalf("page %d", w.Code)
			}
		}
	})
}
