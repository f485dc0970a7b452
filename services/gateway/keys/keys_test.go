package keys_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/services/gateway/keys"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/store/directory"
	"github.com/mneme-memory/mneme/shared/store/directory/inmem"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const fileKey = "KEY-of-the-file"

// clock is one that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

var errAway = errors.New("away")

// flaky is a directory that counts requests, and can be switched off.
type flaky struct {
	directory.Directory
	away, untouchable atomic.Bool
	asked, usages     atomic.Int64
}

func (f *flaky) answer() error {
	if f.away.Load() {
		return errAway
	}
	return nil
}

func (f *flaky) KeyByHash(ctx context.Context, h access.Hash) (access.Key, error) {
	f.asked.Add(1)
	if err := f.answer(); err != nil {
		return access.Key{}, err
	}
	return f.Directory.KeyByHash(ctx, h)
}

func (f *flaky) Touch(ctx context.Context, tenantID, keyID string, at time.Time) error {
	f.usages.Add(1)
	if f.untouchable.Load() {
		return errAway
	}
	return f.Directory.Touch(ctx, tenantID, keyID, at)
}

func (f *flaky) Revision(ctx context.Context) (string, error) {
	if err := f.answer(); err != nil {
		return "", err
	}
	return f.Directory.Revision(ctx)
}

// world is an authenticator with its dependencies. The tenant "made" is made at run time. The tenants "filed" and
// "paused" are the file's.
type world struct {
	*keys.Authenticator
	directory *flaky
	registry  *tenant.Registry
	clock     *clock
	log       *lines
}

// lines are the lines of a log.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{directory: &flaky{Directory: inmem.New()}, clock: &clock{now: time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)},
		log: &lines{}}
	if err := w.directory.CreateTenant(t.Context(), tenant.Tenant{ID: "made"}); err != nil {
		t.Fatal(err)
	}
	w.registry = openRegistry(t, w.directory)
	w.Authenticator = keys.New(w.registry, w.directory, w.clock.Now, slog.New(slog.NewTextHandler(w.log, nil)))
	return w
}

// run runs a task until the test ends.
func run(t *testing.T, task func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- task(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

// create makes a key, and returns it with its text.
func (w *world) create(t *testing.T, k access.Key) (access.Key, string) {
	t.Helper()
	k, text, err := access.NewKey(k, w.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.directory.CreateKey(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	return k, text
}

// want wants a key to be taken, or refused with an error.
func (w *world) want(t *testing.T, text string, want error) {
	t.Helper()
	p, err := w.Authenticate(t.Context(), text)
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
	if (err == nil) == (p.KeyID == "") {
		t.Fatalf("got %+v with %v", p, err)
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: it does not come", what)
		}
	}
}
