package traceview

import (
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
)

//go:embed assets
var assets embed.FS

// maxBody bounds a request, before and after decompression.
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
	mux.HandleFunc("GET /style.css", h.style)
	mux.HandleFunc("GET /api/traces", h.apiList)
	mux.HandleFunc("GET /api/traces/{id}", h.apiTrace)
	mux.HandleFunc("GET /api/traces/{id}/tree", h.apiTree)
	return guarded(mux)
}

type handler struct {
	store *Store
	pages pages
}

// guarded keeps a page from doing anything but showing itself, whatever a span is called.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self' 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

func (h *handler) receive(w http.ResponseWriter, r *http.Request) {
	encoding, ok := encodingOf(r)
	if !ok {
		http.Error(w, "content type must be application/x-protobuf or application/json", http.StatusUnsupportedMediaType)
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		http.Error(w, err.Error(), statusOf(err))
		return
	}
	spans, err := Decode(encoding, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.store.Add(spans)
	accept(w, encoding)
}

func (h *handler) discard(w http.ResponseWriter, r *http.Request) {
	encoding, ok := encodingOf(r)
	if !ok {
		http.Error(w, "content type must be application/x-protobuf or application/json", http.StatusUnsupportedMediaType)
		return
	}
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
		http.Error(w, err.Error(), statusOf(err))
		return
	}
	accept(w, encoding)
}

// accept answers with an export response that says nothing, which means that all went well.
func accept(w http.ResponseWriter, encoding Encoding) {
	if encoding == JSON {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func encodingOf(r *http.Request) (Encoding, bool) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return 0, false
	case media == "application/x-protobuf":
		return Protobuf, true
	case media == "application/json":
		return JSON, true
	default:
		return 0, false
	}
}

var (
	errTooLarge = errors.New("the body is too large")
	errEncoding = errors.New("content encoding must be gzip or identity")
)

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var body io.Reader = http.MaxBytesReader(w, r.Body, maxBody)
	switch strings.ToLower(r.Header.Get("Content-Encoding")) {
	case "", "identity":
	case "gzip":
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return nil, err
		}
		body = io.LimitReader(unzipped, maxBody+1)
	default:
		return nil, errEncoding
	}
	out, err := io.ReadAll(body)
	if err == nil && len(out) > maxBody {
		return nil, errTooLarge
	}
	return out, err
}

func statusOf(err error) int {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge), errors.Is(err, errTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errEncoding):
		return http.StatusUnsupportedMediaType
	default:
		return http.StatusBadRequest
	}
}

func filterOf(r *http.Request) Filter {
	return Filter{Text: strings.TrimSpace(r.FormValue("q")), Errors: r.FormValue("errors") != ""}
}

func (h *handler) apiList(w http.ResponseWriter, r *http.Request) {
	found := h.store.Traces(filterOf(r))
	if found == nil {
		found = []Summary{}
	}
	writeJSON(w, map[string]any{"traces": found})
}

func (h *handler) apiTrace(w http.ResponseWriter, r *http.Request) {
	t, ok := h.store.Trace(r.PathValue("id"))
	if !ok {
		http.Error(w, "no such trace", http.StatusNotFound)
		return
	}
	writeJSON(w, t)
}

func (h *handler) apiTree(w http.ResponseWriter, r *http.Request) {
	t, ok := h.store.Trace(r.PathValue("id"))
	if !ok {
		http.Error(w, "no such trace", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, Tree(t))
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the reader has gone
}

func (h *handler) style(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, assets, "assets/style.css")
}
