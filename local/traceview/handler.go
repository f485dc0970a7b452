package traceview

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"hash/fnv"
	"html/template"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

//go:embed assets
var assets embed.FS

// maxBody limits a request in bytes, before and after decompression.
const maxBody = 16 << 20

// NewHandler serves a store:
//
//	POST /v1/traces                OTLP/HTTP, protobuf or JSON, gzip allowed
//	POST /v1/metrics, /v1/logs     accepted and thrown away, so that exporters are content
//	GET  /                         recent traces; ?q= text, ?errors=1
//	GET  /traces/{id}              one trace as a waterfall
//	GET  /api/traces               summaries as JSON, same parameters
//	GET  /api/traces/{id}          one trace as JSON
//	GET  /api/traces/{id}/tree     one trace as text
func NewHandler(store *Store) http.Handler {
	h := &handler{store: store, pages: parsePages()}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", h.receive)
	mux.HandleFunc("POST /v1/metrics", h.discard)
	mux.HandleFunc("POST /v1/logs", h.discard)
	mux.HandleFunc("GET /{$}", h.list)
	mux.HandleFunc("GET /traces/{id}", h.trace)
	mux.HandleFunc("GET /style.css", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, assets, "assets/style.css")
	})
	mux.HandleFunc("GET /api/traces", h.apiList)
	mux.HandleFunc("GET /api/traces/{id}", h.found(func(w http.ResponseWriter, t Trace) { writeJSON(w, t) }))
	mux.HandleFunc("GET /api/traces/{id}/tree", h.found(writeTree))
	return guarded(mux)
}

type handler struct {
	store *Store
	pages pages
}

// guarded prevents scripts and other active content in a page, for any name of a span.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy",
			"default-src 'none'; style-src 'self' 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

func (h *handler) receive(w http.ResponseWriter, r *http.Request) {
	contentType, body, ok := readBody(w, r)
	if !ok {
		return
	}
	spans, err := Decode(contentType, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := h.store.Add(spans); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	accept(w, contentType)
}

func (h *handler) discard(w http.ResponseWriter, r *http.Request) {
	if contentType, _, ok := readBody(w, r); ok {
		accept(w, contentType)
	}
}

// accept answers with an empty export response, which means success.
func accept(w http.ResponseWriter, contentType string) {
	w.Header().Set("Content-Type", contentType)
	if contentType == JSON {
		_, _ = io.WriteString(w, "{}")
	}
}

// readBody returns a request's content type and decompressed body. False means that it has refused the request.
func readBody(w http.ResponseWriter, r *http.Request) (contentType string, body []byte, ok bool) {
	contentType, _, _ = mime.ParseMediaType(r.Header.Get("Content-Type"))
	if contentType != Protobuf && contentType != JSON {
		http.Error(w, "content type must be "+Protobuf+" or "+JSON, http.StatusUnsupportedMediaType)
		return "", nil, false
	}
	in, err := r.Body, error(nil)
	switch strings.ToLower(r.Header.Get("Content-Encoding")) {
	case "", "identity":
	case "gzip":
		in, err = gzip.NewReader(http.MaxBytesReader(w, r.Body, maxBody))
	default:
		http.Error(w, "content encoding must be gzip or identity", http.StatusUnsupportedMediaType)
		return "", nil, false
	}
	if err == nil {
		body, err = io.ReadAll(http.MaxBytesReader(w, in, maxBody))
	}
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
	} else if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return contentType, body, err == nil
}

func filterOf(r *http.Request) Filter {
	return Filter{Text: strings.TrimSpace(r.FormValue("q")), Errors: r.FormValue("errors") != ""}
}

func (h *handler) apiList(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, map[string]any{"traces": h.store.Traces(filterOf(r))})
}

// found calls show with the requested trace if it exists.
func (h *handler) found(show func(http.ResponseWriter, Trace)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if t, ok := h.store.Trace(r.PathValue("id")); ok {
			show(w, t)
		} else {
			http.Error(w, "no such trace", http.StatusNotFound)
		}
	}
}

func writeTree(w http.ResponseWriter, t Trace) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, Tree(t))
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client has gone
}

// hues is the number of service colours in the style sheet.
const hues = 12

type pages struct{ list, trace *template.Template }

func parsePages() pages {
	functions := template.FuncMap{
		"human": human, "short": shortID, "hue": hue, "count": count,
		"clock": func(t time.Time) string { return t.Local().Format("15:04:05.000") },
		"date":  func(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000 MST") },
	}
	parse := func(page string) *template.Template {
		return template.Must(template.New("layout.html").Funcs(functions).ParseFS(assets, "assets/layout.html",
			"assets/"+page))
	}
	return pages{list: parse("list.html"), trace: parse("trace.html")}
}

// hue is the colour of a service, always the same.
func hue(service string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(service))
	return int(h.Sum32() % hues)
}

// listPage is the data of list.html. Base leads from the page to the viewer's root, so that the viewer may be mounted
// below a path.
type listPage struct {
	Base, Title string
	Filter      Filter
	Traces      []listRow
	Held        string
}

type listRow struct {
	Summary
	Width string // width of the bar, in percent of the longest
}

func (h *handler) list(w http.ResponseWriter, r *http.Request) {
	filter := filterOf(r)
	found := h.store.Traces(filter)
	traces, spans := h.store.Size()
	page := listPage{Title: "Traces", Filter: filter, Held: count(traces, "trace") + ", " + count(spans, "span") + " held"}
	longest := time.Duration(1)
	for _, sum := range found {
		longest = max(longest, sum.Duration)
	}
	for _, sum := range found {
		page.Traces = append(page.Traces, listRow{Summary: sum, Width: percent(sum.Duration, longest)})
	}
	render(w, http.StatusOK, h.pages.list, page)
}

// tracePage is the data of trace.html. Without Summary the trace does not exist.
type tracePage struct {
	Base, Title string
	Summary     *Summary
	Dropped     int
	Ticks       []tick
	Rows        []row
}

// tick is a mark on the time axis.
type tick struct{ Left, Text string }

// row is one span of the waterfall; Left, Width and Right are percent of the trace's duration.
type row struct {
	Node
	Left, Width, Right string
	After              time.Duration // from the start of the trace
	Indent             int
	Incoming           []Incoming
}

func (h *handler) trace(w http.ResponseWriter, r *http.Request) {
	t, ok := h.store.Trace(r.PathValue("id"))
	if !ok {
		render(w, http.StatusNotFound, h.pages.trace, tracePage{Base: "../", Title: "No such trace"})
		return
	}
	sum := t.Summary()
	total := max(sum.Duration, 1)
	page := tracePage{Base: "../", Title: sum.Name, Summary: &sum, Dropped: t.Dropped, Ticks: ticks(sum.Duration)}
	incoming := t.incoming()
	for _, node := range t.Nodes() {
		after := node.Start.Sub(sum.Start)
		page.Rows = append(page.Rows, row{
			Node: node, Left: percent(after, total), Width: percent(node.Duration, total),
			Right: percent(after+node.Duration, total),
			After: after, Indent: min(node.Depth, maxIndent), Incoming: incoming[node.ID],
		})
	}
	render(w, http.StatusOK, h.pages.trace, page)
}

func ticks(total time.Duration) []tick {
	const parts = 4
	marks := make([]tick, 0, parts)
	for i := range parts {
		text := "0"
		if i > 0 {
			text = human(total * time.Duration(i) / parts)
		}
		marks = append(marks, tick{Left: strconv.Itoa(100 * i / parts), Text: text})
	}
	return marks
}

func percent(part, whole time.Duration) string {
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 3, 64)
}

// render writes a whole page. If the template fails, it writes an error instead of an incomplete page.
func render(w http.ResponseWriter, status int, page *template.Template, data any) {
	var out bytes.Buffer
	if err := page.Execute(&out, data); err != nil {
		http.Error(w, "cannot render the page", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = out.WriteTo(w) // the client has gone
}
