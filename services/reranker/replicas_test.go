package reranker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/services/reranker"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/weights"
	"github.com/mneme-memory/mneme/shared/store/weights/redis"
)

// startRedis runs the embedded Redis in a folder of the test.
func startRedis(t *testing.T) *servers.Redis {
	t.Helper()
	server, err := servers.StartRedis(t.Context(), process.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Errorf("stop redis: %v", err)
		}
	})
	return server
}

// overRedis gives a reranker a separate Redis client, as a replica has.
func overRedis(t *testing.T, addr string, c *clock) func(*reranker.Parts) {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: addr, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	s, err := redis.New(client, redis.Options{Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return func(p *reranker.Parts) { p.Store, p.Now = s, c.Now }
}

func TestReplicasAgree(t *testing.T) {
	c := &clock{}
	shared := newStore(t, c)
	for name, of := range map[string]func(t *testing.T) func(*reranker.Parts){
		"in memory": func(*testing.T) func(*reranker.Parts) {
			return func(p *reranker.Parts) { p.Store, p.Now = shared, c.Now }
		},
		"redis": func(t *testing.T) func(*reranker.Parts) { return overRedis(t, startRedis(t).Addr(), c) },
	} {
		t.Run(name, func(t *testing.T) {
			both := of(t)
			one, other := start(t, both), start(t, both)
			if ids, version := other.order("acme"); ids != "ab" || version != "prior/0" {
				t.Fatalf("begins with %s by %s", ids, version)
			}
			one.teach(ana, "b", 20)
			c.advance(time.Second)
			ids, version := one.order("acme")
			otherIDs, otherVersion := other.order("acme")
			if ids != "ba" || version != "learned/5" || otherIDs != ids || otherVersion != version {
				t.Errorf("one has %s by %s, the other %s by %s", ids, version, otherIDs, otherVersion)
			}
			other.rollback("acme", 0)
			c.advance(time.Second)
			if ids, version := one.order("acme"); ids != "ab" || version != "learned/6" {
				t.Errorf("after the rollback at the other, one has %s by %s", ids, version)
			}
		})
	}
}

// Users of one tenant are on several partitions, so several replicas write at once. No change is lost or repeated.
func TestReplicasLearnAtTheSameTime(t *testing.T) {
	const users, each = 8, 6
	c := &clock{}
	addr := startRedis(t).Addr()
	replicas := []*fixture{start(t, overRedis(t, addr, c)), start(t, overRedis(t, addr, c)),
		start(t, overRedis(t, addr, c))}
	var group sync.WaitGroup
	for u := range users {
		scope := memory.Scope{Tenant: "acme", User: fmt.Sprint("user-", u)}
		for range each {
			recallID := replicas[0].recall(scope)
			for _, r := range replicas { // each report comes to every replica
				m := r.report(scope, recallID, []string{"b"}, "a", "b")
				group.Go(func() {
					for r.learner.Handle(t.Context(), batchOf(m)) != nil { // retries as the bus does
						if t.Context().Err() != nil {
							return
						}
					}
				})
			}
		}
	}
	group.Wait()
	var learned, duplicates, steps int64
	for _, r := range replicas {
		learned += r.counted(telemetry.MetricReports, "learned")
		duplicates += r.counted(telemetry.MetricReports, "duplicate")
		steps += r.counted(telemetry.MetricWeightSteps, "learned")
	}
	if learned != users*each || duplicates != 2*users*each || steps != users*each/4 {
		t.Errorf("learned %d, %d duplicates, %d steps", learned, duplicates, steps)
	}
	if v := replicas[0].list("acme").GetVersions()[0]; v.GetVersion() != users*each/4 || v.GetLearned() != users*each {
		t.Errorf("version %d has learned %d", v.GetVersion(), v.GetLearned())
	}
}

func TestWeightsOutliveService(t *testing.T) {
	server, c := startRedis(t), &clock{}
	r := start(t, overRedis(t, server.Addr(), c))
	r.teach(ana, "b", 20)
	kept := r.recall(ana)
	before := r.list("acme")
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := start(t, overRedis(t, server.Addr(), c))
	if ids, version := again.order("acme"); ids != "ba" || version != "learned/5" {
		t.Errorf("after a restart, %s by %s", ids, version)
	}
	if after := again.list("acme"); after.String() != before.String() {
		t.Errorf("before %v, after %v", before, after)
	}
	again.handle(again.report(ana, kept, []string{"b"}, "a", "b"), again.report(ana, "recall-1", []string{"b"}, "a", "b"))
	again.wantCounted(telemetry.MetricReports, "learned", 1)
	again.wantCounted(telemetry.MetricReports, "duplicate", 1)
}

// unavailable is a store with a switch for failures.
type unavailable struct {
	weights.Store
	mu  sync.Mutex
	off bool
}

var errUnavailable = fmt.Errorf("the store: %w", fault.ErrUnavailable)

func (u *unavailable) set(off bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.off = off
}

func (u *unavailable) err() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.off {
		return errUnavailable
	}
	return nil
}

func (u *unavailable) Load(ctx context.Context, tenant string, known uint64) (weights.Record, error) {
	if err := u.err(); err != nil {
		return weights.Record{}, err
	}
	return u.Store.Load(ctx, tenant, known)
}

func (u *unavailable) PutTrace(ctx context.Context, scope memory.Scope, recallID string, trace []byte) error {
	if err := u.err(); err != nil {
		return err
	}
	return u.Store.PutTrace(ctx, scope, recallID, trace)
}

func TestOrdersGoOnWithoutTheStore(t *testing.T) {
	store := &unavailable{}
	r := start(t, func(p *reranker.Parts) { p.Store = store })
	store.Store = newStore(t, r.clock)
	store.set(true)
	if ids, version := r.order("acme"); ids != "ab" || version != "prior/0" {
		t.Errorf("never known: %s by %s, want the prior", ids, version)
	}
	r.wantCounted(telemetry.MetricRerankDegraded, "weights_unavailable", 1)
	r.await(func() bool { return r.counted(telemetry.MetricRecallTraces, "failed") == 1 })
	store.set(false)
	r.clock.advance(time.Second)
	r.teach(ana, "b", 20)
	lost := r.report(ana, r.recall(ana), []string{"b"}, "a", "b")
	r.clock.advance(time.Second)
	store.set(true)
	if ids, version := r.order("acme"); ids != "ba" || version != "learned/5" {
		t.Errorf("known: %s by %s, want the last known", ids, version)
	}
	if err := r.learner.Handle(t.Context(), batchOf(lost)); !errors.Is(err, errUnavailable) {
		t.Errorf("feedback: got %v, want an error, so that it comes again", err)
	}
	_, err := r.client.RollbackWeights(t.Context(), as("acme", rollbackTo(0)))
	if connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("roll back: got %v", err)
	}
	store.set(false)
	r.clock.advance(time.Second)
	r.handle(lost)
	r.wantCounted(telemetry.MetricReports, "learned", 21)
	if r.log.count("cannot read weights") != 2 {
		t.Errorf("logged %s", r.log.text.String())
	}
}
