package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

const idleTimeout = 2 * time.Minute

// starting is the answer before the service is ready, in the form of RFC 9457.
const starting = `{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"the service is starting","code":"unavailable"}`

// server is the service's one HTTP server. It answers health and metrics from the start. The routes of the service
// answer 503 until they are opened. Metrics may have a separate server.
type server struct {
	http    *http.Server
	addr    string
	metrics *http.Server // nil if the main server serves them
	routes  atomic.Pointer[http.Handler]
	ending  atomic.Bool
	failed  chan error
}

// listen takes the ports and begins to serve.
func listen(ctx context.Context, base Base, h *health, tel *telemetry.Telemetry) (*server, error) {
	listener, err := bindPort(ctx, base.Addr, AddrVariable)
	if err != nil {
		return nil, err
	}
	s := &server{addr: listener.Addr().String(), failed: make(chan error, 2)}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true) // gRPC clients speak HTTP/2 without TLS
	serve := func(on net.Listener, handler http.Handler) *http.Server {
		out := &http.Server{
			Handler: timeBodies(base.BodyTimeout, handler), Protocols: &protocols,
			ReadHeaderTimeout: base.HeaderTimeout, IdleTimeout: idleTimeout,
			ErrorLog:    slog.NewLogLogger(tel.Log.Handler(), slog.LevelWarn),
			BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		}
		go func() {
			if err := out.Serve(on); !errors.Is(err, http.ErrServerClosed) {
				s.failed <- fmt.Errorf("serve HTTP: %w", err)
			}
		}()
		return out
	}
	if base.MetricsAddr != "" {
		own, err := bindPort(ctx, base.MetricsAddr, MetricsAddrVariable)
		if err != nil {
			return nil, errors.Join(err, listener.Close())
		}
		tel.Log.Info("listening for metrics", "addr", own.Addr().String())
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", tel.Metrics)
		s.metrics = serve(own, mux)
	}
	s.http = serve(listener, s.mux(base, h, tel))
	return s, nil
}

// bindPort opens a port. The argument variable names its setting.
func bindPort(ctx context.Context, addr, variable string) (net.Listener, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s (%s): %w", addr, variable, err)
	}
	return listener, nil
}

// mux serves health and metrics at their paths, and the service's routes at all other paths, unchanged.
// http.ServeMux alone would redirect a path with "..", or with an empty segment, before the service gets it.
func (s *server) mux(base Base, h *health, tel *telemetry.Telemetry) http.Handler {
	own := http.NewServeMux()
	own.HandleFunc("GET /healthz", h.serveAlive)
	own.HandleFunc("GET /readyz", h.serveReady)
	if base.MetricsAddr == "" {
		own.Handle("GET /metrics", tel.Metrics)
	}
	routes := bounded(http.HandlerFunc(s.serveRoutes), int64(base.MaxBody))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.ending.Load() {
			w.Header().Set("Connection", "close") // in HTTP/2 net/http then sends GOAWAY
		}
		if _, pattern := own.Handler(r); strings.HasSuffix(pattern, " "+r.URL.Path) {
			own.ServeHTTP(w, r)
			return
		}
		routes.ServeHTTP(w, r) // also for other methods of these paths: the service refuses them in its own form
	})
}

// bounded bounds request bodies, in bytes. A body with a declared length over the limit fails at its first read,
// before it arrives.
func bounded(next http.Handler, limit int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(r.Context()) // a copy: the server keeps its body
		if r.ContentLength > limit {
			r.Body = tooLarge(limit)
			if r.ProtoMajor == 1 {
				w.Header().Set("Connection", "close") // the body stays unread; in HTTP/2 it would end other calls of the connection
			}
		} else {
			r.Body = http.MaxBytesReader(w, r.Body, limit)
		}
		next.ServeHTTP(w, r)
	})
}

// tooLarge is a body over a limit, in bytes. It is not read.
type tooLarge int64

// Read implements io.Reader.
func (limit tooLarge) Read([]byte) (int, error) { return 0, &http.MaxBytesError{Limit: int64(limit)} }

// Close implements io.Closer.
func (tooLarge) Close() error { return nil }

func (s *server) serveRoutes(w http.ResponseWriter, r *http.Request) {
	routes := s.routes.Load()
	if routes == nil {
		w.Header().Set("Retry-After", "1")
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, starting) // the client may have gone
		return
	}
	(*routes).ServeHTTP(w, r)
}

// open lets requests through to the service's routes.
func (s *server) open(routes http.Handler) {
	routes = cmp.Or(routes, http.NotFoundHandler())
	s.routes.Store(&routes)
}

// drain makes every answer end its connection. Load balancers withdraw an endpoint from new connections only. The
// kept connections of clients would be cut when the server stops, perhaps during a request.
func (s *server) drain() { s.ending.Store(true) }

// stop takes no more requests and lets the open ones finish until ctx ends. Then it cuts them off.
func (s *server) stop(ctx context.Context) error {
	var metrics error
	if s.metrics != nil {
		metrics = s.metrics.Close()
	}
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("finish open requests: %w", err), s.http.Close(), metrics)
	}
	return metrics
}

// lingerTimeout is the maximum time for a client to send the unread rest of a body. net/http reads some of that
// rest, so that the client can read the answer. Beyond it the connection is closed.
const lingerTimeout = time.Second

// timeBodies bounds the time for a request's body to arrive, from the end of its headers. A late body fails in the
// handler's read with an error that wraps os.ErrDeadlineExceeded. The handler's later work and its answer may take
// any time.
func timeBodies(limit time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		body := &timedBody{
			ReadCloser: r.Body, control: http.NewResponseController(w), deadline: time.Now().Add(limit),
			shared: r.ProtoMajor > 1,
		}
		body.until(body.deadline)
		defer body.clearDeadline()
		r = r.WithContext(r.Context()) // a copy: net/http expects its original body in its own request
		r.Body = body
		next.ServeHTTP(w, r)
	})
}

// timedBody is a body with a deadline. The deadline belongs to the connection in HTTP/1, and to the stream in
// HTTP/2. It is removed once the body has arrived. Otherwise the background read for the client's next bytes would
// take it for the client's end, and cancel the handler.
type timedBody struct {
	io.ReadCloser
	control  *http.ResponseController
	deadline time.Time
	shared   bool // the connection also carries other requests
	once     sync.Once
}

// Read implements io.Reader.
func (t *timedBody) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		t.arrived()
	}
	return n, err
}

// Close implements io.Closer. It may read the rest of the body, in time.
func (t *timedBody) Close() error {
	err := t.ReadCloser.Close()
	t.arrived()
	return err
}

func (t *timedBody) arrived() { t.once.Do(func() { t.until(time.Time{}) }) }

// clearDeadline removes the body's deadline when its handler has returned. Then net/http controls the connection: it
// reads the rest shortly, and sets a new deadline for the next request. An HTTP/2 stream ends with its handler.
func (t *timedBody) clearDeadline() {
	t.once.Do(func() {
		if end := time.Now().Add(lingerTimeout); !t.shared && end.Before(t.deadline) {
			t.until(end)
		}
	})
}

func (t *timedBody) until(deadline time.Time) {
	_ = t.control.SetReadDeadline(deadline) // it fails only on a closed connection, and so will the read
}

// health answers /healthz and /readyz. A service is ready from the end of its build until it ends. Readiness includes
// the dependencies only during the build. An outage of a store that all replicas share must not make all replicas
// unready at once. They can still serve calls that do not need the store, and report the error of other calls.
type health struct {
	mu      sync.Mutex
	missing string // the reason for an unready service; empty when it is ready
}

// ready makes the service ready.
func (h *health) ready() { h.lack("") }

// lack makes the service not ready. The argument is public.
func (h *health) lack(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.missing = what
}

type healthReply struct {
	Status  string   `json:"status"`
	Failing []string `json:"failing,omitempty"`
}

func (h *health) serveAlive(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, healthReply{Status: "alive"})
}

func (h *health) serveReady(w http.ResponseWriter, _ *http.Request) {
	h.mu.Lock()
	missing := h.missing
	h.mu.Unlock()
	if missing != "" {
		reply(w, http.StatusServiceUnavailable, healthReply{Status: "unavailable", Failing: []string{missing}})
		return
	}
	reply(w, http.StatusOK, healthReply{Status: "ready"})
}

func reply(w http.ResponseWriter, status int, body healthReply) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the prober may have gone
}
