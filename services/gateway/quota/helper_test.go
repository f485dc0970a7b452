package quota_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/services/gateway/guard"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/services/gateway/quota"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is when tests begin.
var noon = time.Date(2026, 11, 25, 12, 0, 0, 123_456_000, time.UTC)

// clock is a clock that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// lines collects a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// count is how many lines have a text.
func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// replica is a gateway's quota over a Redis that replicas share.
type replica struct {
	*quota.Quota
	metrics *sdkmetric.ManualReader
	log     *lines
	clock   *clock
	server  *miniredis.Miniredis
}

// start makes a replica over a Redis; the clocks of both stand still.
func start(t *testing.T, l quota.Limits) *replica {
	t.Helper()
	server := miniredis.RunT(t)
	server.SetTime(noon)
	return join(t, server, &clock{now: noon}, l)
}

// join makes a replica over a server.
func join(t *testing.T, server *miniredis.Miniredis, c *clock, l quota.Limits) *replica {
	t.Helper()
	r := &replica{metrics: sdkmetric.NewManualReader(), log: &lines{}, clock: c, server: server}
	r.Quota = open(t, server.Addr(), l, quota.Options{
		Now: c.Now, Timeout: 30 * time.Second, // nothing depends on how fast the machine is
		Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.metrics)).Meter("test"),
		Log:   slog.New(slog.NewTextHandler(r.log, nil)),
	})
	return r
}

func open(t *testing.T, addr string, l quota.Limits, o quota.Options) *quota.Quota {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1,
		ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	q, err := quota.New(client, l, o)
	if err != nil {
		t.Fatal(err)
	}
	q.Stored = func(context.Context, tenant.Tenant) (int64, error) { return 0, nil }
	q.Kept = func(context.Context, string) (int64, error) { return 0, nil }
	return q
}

// advance moves all clocks, and drops expired entries.
func (r *replica) advance(d time.Duration) {
	r.clock.mu.Lock()
	r.clock.now = r.clock.now.Add(d)
	now := r.clock.now
	r.clock.mu.Unlock()
	r.server.SetTime(now)
	r.server.FastForward(d)
}

// counted is the sum of a counter over points with an attribute's value; empty for all.
func (r *replica) counted(t *testing.T, name, value string) int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.metrics.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			data, ok := m.Data.(metricdata.Sum[int64])
			if m.Name != name || !ok {
				continue
			}
			for _, p := range data.DataPoints {
				for _, a := range p.Attributes.ToSlice() {
					if a.Value.AsString() == value {
						sum += p.Value
					}
				}
				if value == "" {
					sum += p.Value
				}
			}
		}
	}
	return sum
}

// running runs a quota's task until stop is called.
func running(t *testing.T, q *quota.Quota) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- q.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// await polls until ok, for long enough that only a real fault fails.
func await(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it did not happen")
		}
	}
}

func by(tenantID, keyID string) access.Principal {
	return access.Principal{Tenant: tenant.Tenant{ID: tenantID}, KeyID: keyID, Scopes: access.Scopes()}
}

// problemOf returns the problem in an error. It is empty for nil.
func problemOf(t *testing.T, err error) problem.Problem {
	t.Helper()
	var p problem.Problem
	if err != nil && !errors.As(err, &p) {
		t.Errorf("%v is no problem", err)
	}
	return p
}

// guarded is a guard that lets keys of the form TENANT/KEY through.
func guarded(l guard.Limiter) *guard.Guard {
	return &guard.Guard{Auth: named{}, Limits: l, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

type named struct{}

func (named) Authenticate(_ context.Context, key string) (access.Principal, error) {
	tenantID, keyID, ok := strings.Cut(key, "/")
	if !ok {
		return access.Principal{}, tenant.ErrUnknownKey
	}
	return by(tenantID, keyID), nil
}
