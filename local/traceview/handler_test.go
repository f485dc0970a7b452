package traceview_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/mneme-memory/mneme/local/traceview"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

const (
	protobufType = traceview.Protobuf
	jsonType     = traceview.JSON
)

func post(h http.Handler, path, contentType, encoding string, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Content-Encoding", encoding)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func zipped(t *testing.T, body []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := zip.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const jsonExport = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"booster"}}]},
"scopeSpans":[{"spans":[{"traceId":"0000000000000000000000000000000A","spanId":"00000000000000b1","parentSpanId":"",
"name":"memory apply","kind":3,
"startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000002000000","status":{"code":2,"message":"boom"},"unknownField":1,
"attributes":[{"key":"n","value":{"intValue":"7"}}],
"links":[{"traceId":"0000000000000000000000000000000b","spanId":"00000000000000b2"}]}]}]}]}`

func TestReceiverReadsBothEncodings(t *testing.T) {
	span := wire(10, 0xb1, 0, "memory apply", 0, 2)
	span.Kind, span.Status = trace.Span_SPAN_KIND_CLIENT,
		&trace.Status{Code: trace.Status_STATUS_CODE_ERROR, Message: "boom"}
	span.Attributes = []*common.KeyValue{{Key: "n",
		Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: 7}}}}
	span.Links = []*trace.Span_Link{{TraceId: unhex(traceID(11)), SpanId: unhex(spanID(0xb2))}}
	binary := marshal(t, export("booster", span))
	for name, c := range map[string]struct {
		contentType, encoding string
		body                  []byte
	}{
		"protobuf":        {protobufType, "", binary},
		"zipped protobuf": {protobufType, "gzip", zipped(t, binary)},
		"JSON":            {jsonType + "; charset=utf-8", "identity", []byte(jsonExport)},
		"zipped JSON":     {jsonType, "gzip", zipped(t, []byte(jsonExport))},
	} {
		store := traceview.NewStore(traceview.DefaultSpans)
		if w := post(traceview.NewHandler(store), "/v1/traces", c.contentType, c.encoding, c.body); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
			continue
		}
		got, ok := store.Trace(traceID(10))
		if !ok {
			t.Errorf("%s: the trace is not there", name)
			continue
		}
		want := traceview.Span{
			TraceID: traceID(10), ID: spanID(0xb1), Service: "booster", Name: "memory apply", Kind: "client",
			Start: time.Unix(1_700_000_000, 0).UTC(), Duration: 2 * time.Millisecond, Error: true, Message: "boom",
			Attributes: []traceview.Attribute{{Key: "n", Value: "7"}},
			Links:      []traceview.Link{{TraceID: traceID(11), SpanID: spanID(0xb2)}},
		}
		a, _ := json.Marshal(got.Spans[0])
		b, _ := json.Marshal(want)
		if !bytes.Equal(a, b) {
			t.Errorf("%s:\ngot  %s\nwant %s", name, a, b)
		}
	}
}

func TestReceiverRefusesWhatItCannotRead(t *testing.T) {
	bomb := zipped(t, make([]byte, 17<<20))
	for name, c := range map[string]struct {
		contentType, encoding string
		body                  []byte
		want                  int
	}{
		"no protobuf":      {protobufType, "", []byte("hello"), http.StatusBadRequest},
		"no JSON":          {jsonType, "", []byte("{"), http.StatusBadRequest},
		"unknown type":     {"text/plain", "", nil, http.StatusUnsupportedMediaType},
		"no type":          {"", "", nil, http.StatusUnsupportedMediaType},
		"unknown encoding": {protobufType, "br", nil, http.StatusUnsupportedMediaType},
		"no gzip":          {protobufType, "gzip", []byte("hello"), http.StatusBadRequest},
		"zip bomb":         {protobufType, "gzip", bomb, http.StatusRequestEntityTooLarge},
		"large body":       {protobufType, "", make([]byte, 17<<20), http.StatusRequestEntityTooLarge},
	} {
		store := traceview.NewStore(traceview.DefaultSpans)
		if w := post(traceview.NewHandler(store), "/v1/traces", c.contentType, c.encoding, c.body); w.Code != c.want {
			t.Errorf("%s: %d, want %d", name, w.Code, c.want)
		}
	}
	if _, err := traceview.Decode(traceview.JSON, []byte("{")); !errors.Is(err, traceview.ErrMalformed) {
		t.Errorf("error is %v", err)
	}
}

func TestMetricsAndLogsAreAcceptedAndDropped(t *testing.T) {
	store := traceview.NewStore(traceview.DefaultSpans)
	h := traceview.NewHandler(store)
	for _, path := range []string{"/v1/metrics", "/v1/logs"} {
		if w := post(h, path, protobufType, "", []byte("whatever")); w.Code != http.StatusOK {
			t.Errorf("%s: %d", path, w.Code)
		}
		if w := post(h, path, jsonType, "", []byte("{}")); w.Code != http.StatusOK || w.Body.String() != "{}" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if traces, spans := store.Size(); traces+spans != 0 {
		t.Errorf("%d traces, %d spans", traces, spans)
	}
}

func TestSpansWithoutIdsAreLeftOut(t *testing.T) {
	good, zeros, short := wire(1, 1, 0, "good", 0, 1), wire(1, 2, 0, "zeros", 0, 1), wire(1, 3, 0, "short", 0, 1)
	zeros.TraceId, short.SpanId = make([]byte, 16), []byte{1}
	backwards := wire(1, 4, 0, "backwards", 9, 1)
	spans, err := traceview.Decode(traceview.Protobuf, marshal(t, export("", good, zeros, backwards)))
	if err != nil || len(spans) != 2 || spans[0].Service != "unknown" || spans[1].Duration != 0 {
		t.Fatalf("got %+v, %v", spans, err)
	}
	if _, err := traceview.Decode(traceview.Protobuf, marshal(t, export("", short))); !errors.Is(err,
		traceview.ErrMalformed) {
		t.Errorf("half an id gives %v", err)
	}
}

// filled has two traces: one formed a memory, and the other one's recall links to it.
func filled(t *testing.T) http.Handler {
	t.Helper()
	h := traceview.NewHandler(traceview.NewStore(traceview.DefaultSpans))
	evil := wire(1, 2, 1, `<script>alert("x")</script>`, 1, 2)
	evil.Attributes = []*common.KeyValue{text("<b>key", `"><img src=x>`)}
	evil.Status = &trace.Status{Code: trace.Status_STATUS_CODE_ERROR, Message: "</dd><i>"}
	evil.Events = []*trace.Span_Event{{Name: "<u>", Attributes: []*common.KeyValue{text("<s>", "<p>")}}}
	recall := wire(2, 1, 0, telemetry.SpanRecall, 5000, 5004)
	recall.Links = []*trace.Span_Link{{TraceId: unhex(traceID(1)), SpanId: unhex(spanID(1))}}
	for service, spans := range map[string][]*trace.Span{
		"booster": {wire(1, 1, 0, "memory consolidate", 0, 50)}, `<em>&"`: {evil}, "utilizer": {recall},
	} {
		if w := post(h, "/v1/traces", protobufType, "", marshal(t, export(service, spans...))); w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	return h
}

func TestPagesEscapeWhatSpansSay(t *testing.T) {
	h := filled(t)
	for _, path := range []string{"/", "/?q=%22%3E%3Cimg", "/?errors=1", "/traces/" + traceID(1)} {
		w := get(h, path)
		if w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		for _, bad := range []string{"<script", "<img", "<b>key", "<u>", "<s>", "<p>\"", "<em>", "</dd><i>", "ZgotmplZ"} {
			if strings.Contains(w.Body.String(), bad) {
				t.Errorf("%s contains %s", path, bad)
			}
		}
	}
	if body := get(h, "/traces/"+traceID(1)).Body.String(); !strings.Contains(body, "&lt;script&gt;alert") {
		t.Error("the span's name is not shown")
	}
}

func TestLinksAreClickableInBothDirections(t *testing.T) {
	h := filled(t)
	forwards := `href="` + traceID(1) + `#span-` + spanID(1) + `"`
	if body := get(h, "/traces/"+traceID(2)).Body.String(); !strings.Contains(body, forwards) {
		t.Errorf("no link %s in\n%s", forwards, body)
	}
	back := `href="` + traceID(2) + `#span-` + spanID(1) + `"`
	body := get(h, "/traces/"+traceID(1)).Body.String()
	if !strings.Contains(body, back) || !strings.Contains(body, `id="span-`+spanID(1)+`"`) {
		t.Errorf("no link %s in\n%s", back, body)
	}
	if body := get(h, "/").Body.String(); !strings.Contains(body, `href="traces/`+traceID(2)+`"`) {
		t.Errorf("the list does not lead to the trace:\n%s", body)
	}
}

func TestAPIAnswersInJSONAndText(t *testing.T) {
	h := filled(t)
	var list struct{ Traces []traceview.Summary }
	err := json.Unmarshal(get(h, "/api/traces?errors=1").Body.Bytes(), &list)
	if err != nil || len(list.Traces) != 1 || list.Traces[0].Spans != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	var one traceview.Trace
	err = json.Unmarshal(get(h, "/api/traces/"+traceID(1)).Body.Bytes(), &one)
	if err != nil || len(one.Spans) != 2 || len(one.LinkedFrom) != 1 {
		t.Errorf("%+v, %v", one, err)
	}
	if w := get(h, "/api/traces/"+traceID(1)+"/tree"); !strings.HasPrefix(w.Body.String(), "trace "+traceID(1)) {
		t.Errorf("tree is %s", w.Body)
	}
	if w := get(h, "/api/traces?q=nowhere"); strings.TrimSpace(w.Body.String()) != `{"traces":[]}` {
		t.Errorf("no traces are %s", w.Body)
	}
	if w := get(h, "/style.css"); w.Code != http.StatusOK ||
		!strings.HasPrefix(w.Header().Get("Content-Type"), "text/css") {
		t.Errorf("style: %d %v", w.Code, w.Header())
	}
	for _, path := range []string{"/api/traces/x", "/api/traces/x/tree", "/traces/x", "/nothing"} {
		if w := get(h, path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// The receiver decodes the output of the project's own exporters.
func TestReceiverTakesWhatTelemetrySends(t *testing.T) {
	store := traceview.NewStore(traceview.DefaultSpans)
	server := httptest.NewServer(traceview.NewHandler(store))
	defer server.Close()
	tel, err := telemetry.New(t.Context(), "utilizer", "v1", telemetry.Config{Endpoint: server.URL, SampleRatio: 1},
		io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, root := tel.Tracer.Tracer("test").Start(t.Context(), telemetry.SpanRecall)
	_, child := tel.Tracer.Tracer("test").Start(ctx, "memory.bank.search")
	child.SetAttributes(telemetry.AttrMemoryID.StringSlice([]string{"a", "b"}))
	child.End()
	root.End()
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, ok := store.Trace(root.SpanContext().TraceID().String())
	if !ok || len(got.Spans) != 2 || got.Summary().Name != telemetry.SpanRecall ||
		got.Nodes()[1].Attributes[0].Value != `["a","b"]` {
		t.Fatalf("got %+v", got)
	}
}

// The tree shows the role and the cost of each model call, and the call that repaired the previous one.
func TestTreeSaysWhatModelCallsWere(t *testing.T) {
	store := traceview.NewStore(traceview.DefaultSpans)
	server := httptest.NewServer(traceview.NewHandler(store))
	defer server.Close()
	tel, err := telemetry.New(t.Context(), "booster", "v1", telemetry.Config{Endpoint: server.URL, SampleRatio: 1},
		io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	model := llmtest.New(t)
	model.Script(llm.RoleManager, llmtest.Status(http.StatusServiceUnavailable), llmtest.Text("no"), llmtest.Text("yes"))
	client, err := llm.NewClient(model.Config(), llm.Deps{TracerProvider: tel.Tracer})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, root := tel.Tracer.Tracer("test").Start(t.Context(), telemetry.SpanRecall)
	_, err = llm.Ask(ctx, client, llm.Request{Role: llm.RoleManager, User: "Is it?"}, func(answer string) (bool, error) {
		if answer == "no" {
			return false, structured.Faultf("want yes")
		}
		return true, nil
	})
	root.End()
	if err := errors.Join(err, tel.Shutdown(t.Context())); err != nil {
		t.Fatal(err)
	}
	got, _ := store.Trace(root.SpanContext().TraceID().String())
	tree := traceview.Tree(got)
	first := regexp.MustCompile(`chat scripted  \(booster\)  \S+ \S+  manager, \d+ tokens in, \d+ out, 2 attempts\n`)
	second := regexp.MustCompile(`chat scripted  \(booster\)  \S+ \S+  manager, repair, \d+ tokens in, \d+ out\n`)
	if !first.MatchString(tree) || !second.MatchString(tree) {
		t.Errorf("got\n%s", tree)
	}
}
