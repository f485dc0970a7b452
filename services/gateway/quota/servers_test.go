package quota_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/quota"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/store/usage"
	"github.com/mneme-memory/mneme/test/redistest"
)

func TestOnEveryRedis(t *testing.T) { redistest.Each(t, conformance) }

// conformance tests every required feature of a Redis.
func conformance(t *testing.T, addr string) {
	t.Helper()
	o := quota.Options{Timeout: 30 * time.Second}
	q := open(t, addr, quota.Limits{RequestsPerSecond: 1, TurnsPerMinute: 10, Streams: 1, TenantStreams: 1,
		Fail: quota.FailClosed}, o)
	p := by("acme", "k")
	passed := 0
	for range 200 { // faster than one a second
		a, err := q.Request(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if a.RetryAfter == 0 {
			passed++
		}
	}
	if passed == 0 || passed == 200 {
		t.Errorf("%d of 200 requests passed", passed)
	}
	if err := q.Turns(t.Context(), p, 10); err != nil {
		t.Error(err)
	}
	if problemOf(t, q.Turns(t.Context(), p, 10)).RetryAfter <= 0 {
		t.Error("more turns passed")
	}
	release, err := q.Streams.Acquire(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Streams.Acquire(t.Context(), p); problemOf(t, err).RetryAfter <= 0 {
		t.Errorf("a second stream: %v", err)
	}
	release()
	release, err = q.Streams.Acquire(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for range 2 {
		q.Count(t.Context(), p, usage.Turns, 1<<40)
		if _, err := q.Usage(access.NewContext(t.Context(), p), ""); err != nil {
			t.Fatal(err)
		}
	}
	if n := used(t, q, "acme", "")[usage.Turns]; n != 1<<41 {
		t.Errorf("%d turns, want %d", n, 1<<41)
	}
}

// wire stands between a client and a server, and can keep the server's answers to itself.
type wire struct {
	t        *testing.T
	listener net.Listener
	server   string
	open     sync.WaitGroup

	mu    sync.Mutex
	quiet bool
}

func cutOff(t *testing.T, server string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, listener: listener, server: server}
	w.open.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			w.open.Go(func() { w.pass(conn) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); w.open.Wait() })
	return w
}

func (w *wire) addr() string { return w.listener.Addr().String() }

// answers says whether answers are passed on; an answer that is not ends its connection.
func (w *wire) answers(are bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.quiet = !are
}

func (w *wire) pass(client net.Conn) {
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		_ = client.Close()
		return
	}
	w.open.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
	_, _ = io.Copy(answering{w, client}, server)
	_ = client.Close()
}

type answering struct {
	*wire
	client net.Conn
}

// Write implements io.Writer.
func (a answering) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.quiet {
		return 0, io.ErrClosedPipe
	}
	return a.client.Write(p)
}
