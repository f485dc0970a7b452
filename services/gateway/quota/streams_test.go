package quota_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/services/gateway/quota"
	store "github.com/mneme-memory/mneme/shared/store/quota"
)

// acquire takes a lease that has to be granted.
func (r *replica) acquire(t *testing.T, tenantID, keyID string) (release func()) {
	t.Helper()
	release, err := r.Streams.Acquire(t.Context(), by(tenantID, keyID))
	if err != nil {
		t.Fatalf("%s/%s: %v", tenantID, keyID, err)
	}
	return release
}

// refused takes a lease that must not be granted, for a reason.
func (r *replica) refused(t *testing.T, tenantID, keyID, reason string) {
	t.Helper()
	_, err := r.Streams.Acquire(t.Context(), by(tenantID, keyID))
	p := problemOf(t, err)
	if p.Status != http.StatusTooManyRequests || p.RetryAfter <= 0 || !strings.Contains(p.Detail, reason) {
		t.Errorf("%s/%s: got %v, want too many, because of %s", tenantID, keyID, err, reason)
	}
}

func TestStreamsOfAKeyAndOfItsTenant(t *testing.T) {
	limits := quota.Limits{Streams: 2, TenantStreams: 3}
	r := start(t, limits)
	other := join(t, r.server, r.clock, limits)
	first := r.acquire(t, "acme", "k1")
	r.acquire(t, "acme", "k1")
	other.refused(t, "acme", "k1", "API key")
	other.acquire(t, "acme", "k2")
	r.refused(t, "acme", "k2", "tenant")
	r.acquire(t, "globex", "k1")
	for range 2 { // a second time takes nothing from others
		first()
	}
	r.acquire(t, "acme", "k2")
	r.refused(t, "acme", "k1", "tenant")
	if n := r.counted(t, "mneme.gateway.limited", "acme") + other.counted(t, "mneme.gateway.limited", "acme"); n != 3 {
		t.Errorf("%d refused streams are counted", n)
	}
}

func TestStreamsAreExactUnderConcurrency(t *testing.T) {
	limits := quota.Limits{Streams: 20, Fail: quota.FailClosed}
	one := start(t, limits)
	replicas := []*replica{one, join(t, one.server, one.clock, limits)}
	for range 3 {
		var held atomic.Int64
		var mu sync.Mutex
		var releases []func()
		var all sync.WaitGroup
		for n := range 100 {
			all.Go(func() {
				if release, err := replicas[n%2].Streams.Acquire(t.Context(), by("acme", "k")); err == nil {
					held.Add(1)
					mu.Lock()
					releases = append(releases, release)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if held.Load() != 20 {
			t.Errorf("%d streams at a time, want 20", held.Load())
		}
		for _, release := range releases {
			all.Go(release)
		}
		all.Wait()
	}
	if keys := one.server.Keys(); len(keys) != 0 {
		t.Errorf("released leases left %q", keys)
	}
}

func TestLeasesOfADeadReplicaEnd(t *testing.T) {
	limits := quota.Limits{Streams: 1}
	dead := start(t, limits)
	dead.acquire(t, "acme", "k") // its Run does not run
	alive := join(t, dead.server, dead.clock, limits)
	alive.advance(quota.DefaultLease - time.Millisecond)
	alive.refused(t, "acme", "k", "API key")
	alive.advance(time.Millisecond)
	alive.acquire(t, "acme", "k")
	alive.refused(t, "acme", "k", "API key")
}

// renewing returns a replica with short leases that it renews.
func renewing(t *testing.T, of *replica, l quota.Limits) (q *quota.Quota, stop func()) {
	t.Helper()
	q = open(t, of.server.Addr(), l, quota.Options{
		Now: of.clock.Now, Timeout: 30 * time.Second, Lease: 30 * time.Millisecond, Pause: time.Millisecond,
	})
	return q, running(t, q)
}

func TestLeasesAreRenewedAndReleasedOnesAreNot(t *testing.T) {
	r := start(t, quota.Limits{Streams: 1})
	q, stop := renewing(t, r, quota.Limits{Streams: 1})
	defer stop()
	release, err := q.Streams.Acquire(t.Context(), by("acme", "k"))
	if err != nil {
		t.Fatal(err)
	}
	client := goredis.NewClient(&goredis.Options{Addr: r.server.Addr()})
	defer client.Close()
	end := func() float64 {
		leases, err := client.ZRangeWithScores(t.Context(), "mneme:quota:{acme}:streams:k", 0, -1).Result()
		if err != nil {
			t.Fatal(err)
		}
		if len(leases) == 0 {
			return 0
		}
		return leases[0].Score
	}
	for range 3 { // the server's clock stands still but for these steps
		before := end()
		r.advance(10 * time.Millisecond)
		await(t, func() bool { return end() > before })
	}
	r.refused(t, "acme", "k", "API key")
	release()
	if end() != 0 {
		t.Error("the lease is still there")
	}
	r.acquire(t, "acme", "k")
}

func TestStreamsWhileRedisIsAway(t *testing.T) {
	r := start(t, quota.Limits{Streams: 1})
	q, stop := renewing(t, r, quota.Limits{Streams: 1, Fail: quota.FailOpen})
	defer stop()
	closed := join(t, r.server, r.clock, quota.Limits{Streams: 1, Fail: quota.FailClosed})
	r.server.Close()
	for range 2 {
		release, err := q.Streams.Acquire(t.Context(), by("acme", "k"))
		if err != nil {
			t.Fatalf("fails open, but: %v", err)
		}
		defer release()
		_, err = closed.Streams.Acquire(t.Context(), by("acme", "k"))
		if problemOf(t, err).Status != http.StatusServiceUnavailable {
			t.Errorf("fails closed, but: %v", err)
		}
	}
	if err := r.server.Restart(); err != nil {
		t.Fatal(err)
	}
	r.advance(store.DefaultPause)
	await(t, func() bool { // streams opened during the outage count
		leases, err := r.server.ZMembers("mneme:quota:{acme}:streams:k")
		return err == nil && len(leases) == 2
	})
	closed.refused(t, "acme", "k", "API key")
}
