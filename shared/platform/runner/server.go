package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

const idleTimeout = 2 * time.Minute

// server is the service's one HTTP server. From the start it answers for health and metrics; the
// service's own routes answer 503 until they are opened.
type server struct {
	http   *http.Server
	addr   string
	routes atomic.Pointer[http.Handler]
	failed chan error
}

// listen takes the port and begins to serve.
func listen(ctx context.Context, base Base, h *health, tel *telemetry.Telemetry) (*server, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", base.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s (%s): %w", base.Addr, AddrVariable, err)
	}
	s := &server{addr: listener.Addr().String(), failed: make(chan error, 1)}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true) // gRPC clients speak HTTP/2 without TLS to us
	s.http = &http.Server{
		Handler:           timeBodies(base.BodyTimeout, s.mux(base, h, tel)),
		Protocols:         &protocols,
		ReadHeaderTimeout: base.HeaderTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(tel.Log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	go func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("serve HTTP: %w", err)
		}
	}()
	return s, nil
}

// mux serves health and metrics at their own paths, and the service's routes at all others, as they come: http.ServeMux alone would
// redirect what holds "..", or an empty segment, before the service sees it.
func (s *server) mux(base Base, h *health, tel *telemetry.Telemetry) http.Handler {
	own := http.NewServeMux()
	own.HandleFunc("GET /healthz", h.serveAlive)
	own.HandleFunc("GET /readyz", h.serveReady)
	own.Handle("GET /metrics", tel.Metrics)
	routes := http.MaxBytesHandler(http.HandlerFunc(s.serveRoutes), int64(base.MaxBody))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/healthz", "/readyz", "/metrics":
			own.ServeHTTP(w, r)
		default:
			routes.ServeHTTP(w, r)
		}
	})
}

func (s *server) serveRoutes(w http.ResponseWriter, r *http.Request) {
	routes := s.routes.Load()
	if routes == nil {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the service is starting", http.StatusServiceUnavailable)
		return
	}
	(*routes).ServeHTTP(w, r)
}

// open lets requests through to the service's routes.
func (s *server) open(routes http.Handler) {
	if routes == nil {
		routes = http.NotFoundHandler()
	}
	s.routes.Store(&routes)
}

// stop takes no more requests and lets the open ones finish until ctx ends; then it cuts them off.
func (s *server) stop(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("finish open requests: %w", err), s.http.Close())
	}
	return nil
}
