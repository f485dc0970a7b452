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
