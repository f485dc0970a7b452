package weaviate_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// recovery is the maximum time until a restarted server answers.
const recovery = time.Minute

// operations returns the calls that need the server.
func operations(b bank.Bank) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"write": func(ctx context.Context) error {
			return b.Write(ctx, ana, memory.Write{Put: []memory.Memory{entry("b", "Ana runs")}})
		},
		"turns written": func(ctx context.Context) error {
			return b.Write(ctx, ana, memory.Write{Turns: []memory.Turn{{ID: "t1", Text: "I swim"}}})
		},
		"dropped turns written": func(ctx context.Context) error {
			return b.WriteDropped(ctx, ana, []memory.Dropped{{TurnID: "d1", Score: 0.1}})
		},
		"dropped turns erased": func(ctx context.Context) error { return b.EraseDropped(ctx, ana) },
		"dropped turns":        func(ctx context.Context) error { _, err := b.Dropped(ctx, ana, []string{"d1"}); return err },
		"get":                  func(ctx context.Context) error { _, err := b.Get(ctx, ana, "a"); return err },
		"list": func(ctx context.Context) error {
			_, err := b.List(ctx, ana, bank.ListOptions{})
			return err
		},
		"history": func(ctx context.Context) error { _, err := b.History(ctx, ana, "a"); return err },
		"search": func(ctx context.Context) error {
			_, err := b.Search(ctx, ana, bank.Query{Text: "swims"})
			return err
		},
		"turns":   func(ctx context.Context) error { _, err := b.Turns(ctx, ana, []string{"t1"}); return err },
		"owner":   func(ctx context.Context) error { _, err := b.Owner(ctx, ana.Tenant, "a"); return err },
		"session": func(ctx context.Context) error { _, _, err := b.Session(ctx, ana, "s"); return err },
	}
}

func TestServerStopsAndComesBack(t *testing.T) {
	b := openBank(t, newConfig())
	if err := b.Write(t.Context(), ana, memory.Write{Put: []memory.Memory{entry("a", "Ana swims")}}); err != nil {
		t.Fatalf("Write: %v", err)
	}
	if err := server.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, call := range operations(b) {
		if err := call(t.Context()); err == nil || fault.IsTerminal(err) || errors.Is(err, bank.ErrNotFound) {
			t.Errorf("%s while the server is down: got %v, want a retryable error", name, err)
		}
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, call := range operations(b) {
		eventually(t, name, call)
	}
	if m, err := b.Get(t.Context(), ana, "a"); err != nil || m.Content != "Ana swims" {
		t.Errorf("Get after the restart: got %+v, %v", m, err)
	}
}

func eventually(t *testing.T, what string, call func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), recovery)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := call(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-again.C:
		}
	}
}

// proxy is a proxy in front of the server's REST interface.
func proxy(t *testing.T, intercept func(next http.Handler) http.Handler) string {
	t.Helper()
	next := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: server.HTTP()})
	transport := &http.Transport{}
	next.Transport = transport
	s := httptest.NewServer(intercept(next))
	t.Cleanup(func() { s.Close(); transport.CloseIdleConnections() })
	return s.Listener.Addr().String()
}

// TestDelayedWriteBringsNothingBack delays the creation of an entry. Meanwhile a second delivery writes the entry and
// a later operation closes it.
func TestDelayedWriteBringsNothingBack(t *testing.T) {
	cfg := newConfig()
	timely := openBank(t, cfg)
	arrived, release := make(chan struct{}), make(chan struct{})
	cfg.HTTP = proxy(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/v1/objects") ||
				strings.HasPrefix(r.URL.Path, "/v1/batch") {
				close(arrived)
				<-release
			}
			next.ServeHTTP(w, r)
		})
	})
	delayed := openBank(t, cfg)
	m := entry("a", "Ana lives in Lisbon")
	late := make(chan error, 1)
	go func() { late <- delayed.Write(t.Context(), ana, memory.Write{Put: []memory.Memory{m}}) }()
	<-arrived
	for _, w := range []memory.Write{
		{Put: []memory.Memory{m}},
		{Close: []memory.Closing{{ID: m.ID, Status: memory.StatusRetracted, ValidTo: m.RecordedAt}}},
	} {
		if err := timely.Write(t.Context(), ana, w); err != nil {
			t.Fatalf("Write: %v", err)
		}
	}
	close(release)
	if err := <-late; err != nil {
		t.Errorf("the delayed Write: %v", err)
	}
	if got, err := timely.Get(t.Context(), ana, m.ID); err != nil || got.Status != memory.StatusRetracted {
		t.Errorf("got %s, %v, want retracted", got.Status, err)
	}
}

func TestFailedObjectsOfABatchAreNamed(t *testing.T) {
	const id = "11111111-1111-5111-8111-111111111111"
	for name, answer := range map[string]string{
		"with a reason": `[{"class":"Turn","id":"` + id + `","result":{"status":"FAILED",` +
			`"errors":{"error":[{"message":"shard is read-only"}]}}}]`,
		"without a reason": `[{"class":"Turn","id":"` + id + `","result":{"status":"FAILED"}}]`,
	} {
		cfg := newConfig()
		cfg.HTTP = proxy(t, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/v1/batch") {
					_, _ = io.WriteString(w, answer)
					return
				}
				next.ServeHTTP(w, r)
			})
		})
		err := openBank(t, cfg).Write(t.Context(), ana, memory.Write{Turns: []memory.Turn{{ID: "t1", Text: "I swim"}}})
		if err == nil || fault.IsTerminal(err) || !strings.Contains(err.Error(), id) {
			t.Errorf("%s: got %v, want a retryable error that names %s", name, err, id)
		}
	}
}

func TestServerErrorsOnWritesAreRetryable(t *testing.T) {
	for _, status := range []int{
		http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusServiceUnavailable,
	} {
		cfg := newConfig()
		cfg.HTTP = proxy(t, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if strings.Contains(string(body), "Ana swims") {
					w.WriteHeader(status)
					return
				}
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				next.ServeHTTP(w, r)
			})
		})
		err := openBank(t, cfg).Write(t.Context(), ana, memory.Write{Put: []memory.Memory{entry("the-entry", "Ana swims")}})
		if err == nil || fault.IsTerminal(err) || !strings.Contains(err.Error(), "the-entry") {
			t.Errorf("status %d: got %v, want a retryable error that names the entry", status, err)
		}
	}
}

// TestRefusedReadsAreNotEmpty uses a healthy gRPC server that refuses every call, as a real server does without the
// right key. The result must not be an empty list.
func TestRefusedReadsAreNotEmpty(t *testing.T) {
	cfg := newConfig()
	cfg.GRPC = serveGRPC(t, pb.UnimplementedWeaviateServer{})
	b := openBank(t, cfg)
	for name, call := range operations(b) {
		if strings.HasPrefix(name, "ping") || strings.HasPrefix(name, "write") || strings.HasSuffix(name, " written") {
			continue
		}
		if err := call(t.Context()); err == nil || fault.IsTerminal(err) || errors.Is(err, bank.ErrNotFound) {
			t.Errorf("%s: got %v, want a retryable error", name, err)
		}
	}
}

func TestRefusedCountIsNotZero(t *testing.T) {
	for name, answer := range map[string]string{
		"with a reason": `{"data":{"Aggregate":null},"errors":[{"message":"shard is read-only"}]}`, "empty": `{}`,
	} {
		cfg := newConfig()
		cfg.HTTP = proxy(t, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v1/graphql" {
					_, _ = io.WriteString(w, answer)
					return
				}
				next.ServeHTTP(w, r)
			})
		})
		b := openBank(t, cfg)
		w := memory.Write{
			Put: []memory.Memory{entry("a", "Ana swims")}, Turns: []memory.Turn{{ID: "t1", Text: "I swim"}},
			Session: &memory.SessionRecord{SessionID: "s"}, Core: &memory.Core{Version: 1},
		}
		if err := b.Write(t.Context(), ana, w); err != nil {
			t.Fatal(err)
		}
		if n, err := b.Count(t.Context(), ana); err == nil || fault.IsTerminal(err) {
			t.Errorf("%s: got %+v, %v, want a retryable error", name, n, err)
		}
	}
}

// serveGRPC runs a healthy server with the given service, or without one.
func serveGRPC(t *testing.T, service pb.WeaviateServer, options ...grpc.ServerOption) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(options...)
	if service != nil {
		pb.RegisterWeaviateServer(s, service)
	}
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	t.Cleanup(func() { s.Stop(); <-served })
	return listener.Addr().String()
}
