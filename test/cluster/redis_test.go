//go:build cluster

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/local/process"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/store/directory"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/test/harness"
	"github.com/mneme-memory/mneme/test/servers"
)

// settledFor is the age of an acknowledged write at the master's death from which the write may not be lost.
const settledFor = time.Second

// redisSettings are the settings of the services' stores in Redis.
type redisSettings struct {
	Window  wiring.Window
	Weights wiring.Weights
}

// TestTheMasterOfRedisDies kills the master under writes and reads of all data in Redis. The callers are the
// adapters, and services that know only the Sentinels.
func TestTheMasterOfRedisDies(t *testing.T) {
	began := time.Now()
	redis, err := servers.StartRedisSentinels(t.Context(), process.Options{Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { must(t, redis.Stop(context.WithoutCancel(t.Context()))) })
	settings := map[string]string{
		"MNEME_REDIS_ADDRS": strings.Join(redis.Addrs(), ","), "MNEME_REDIS_SENTINEL_MASTER": servers.SentinelMaster,
		"MNEME_WINDOW_WORDS": "1000000", "MNEME_RERANKER_TRACES": "1000000", "MNEME_TENANTS_DIRECTORY": "true",
	}
	kept := openRedis(t, settings)

	const spoken = "spoken"
	sys := harness.Start(t, harness.Options{Tenants: []harness.Tenant{{ID: spoken}}, Environ: settings})
	sessions := harness.Conversation("u1", harness.Lives(0))
	sys.Publish(t, spoken, sessions[0])
	sys.AwaitFormed(t, spoken, sessions[0])

	clients := kept.clients(t)
	clients = append(clients, startClient(t, "recall", recalls(sys, spoken, "u1")))
	goOn(t, clients...)
	awaitReplicas(t, redis, 2)
	killed := time.Now()
	must(t, redis.Servers[0].Kill())
	dead := time.Now()
	sys.Publish(t, spoken, sessions[1:]...)
	goOn(t, clients...)
	must(t, redis.Servers[0].Restart(t.Context()))
	sys.AwaitFormed(t, spoken, sessions...)
	awaitRole(t, redis.Servers[0], "slave")
	goOn(t, clients...)
	for _, c := range clients {
		c.report(t, bounds{failed: 10, pause: 30 * time.Second})
	}
	kept.nothingSettledIsLost(t, clients, killed, dead)

	// An open session's turns are in the window at once, through services that ran all the time.
	open := harness.Talk("u1", "s9", "Mirela", time.Date(2025, time.July, 1, 9, 0, 0, 0, time.UTC), "I live in Porto now.")
	sys.PublishMessages(t, harness.Messages(t, harness.Events(spoken, "", open)[:1]...)...)
	harness.Await(t, "the window has a new turn", func(ctx context.Context) (bool, error) {
		got, err := sys.Client(spoken).GetWorkingMemory(ctx,
			connect.NewRequest(&mnemev1.GetWorkingMemoryRequest{UserId: "u1"}))
		if err != nil {
			t.Log(err)
			return false, nil
		}
		return len(got.Msg.GetTurns()) > 0, nil
	})
	t.Logf("the whole took %s", time.Since(began).Round(time.Second))
}

// keptInRedis are the adapters of the stores in Redis.
type keptInRedis struct {
	scope  memory.Scope
	append func(ctx context.Context, n int) error
	recent func(ctx context.Context, n int) error
	trace  func(ctx context.Context, n int) error
	key    func(ctx context.Context, n int) error
	find   func(ctx context.Context, n int) error
	// lost returns by kind the numbers of acknowledged calls without a stored result.
	lost map[string]func(t *testing.T, acknowledged map[int]time.Time) []int
}

func openRedis(t *testing.T, settings map[string]string) keptInRedis {
	t.Helper()
	cfg, err := config.Load[redisSettings](settings)
	must(t, err)
	tel := newTelemetry(t)
	w, closeWindow, err := cfg.Window.Open(tel)
	must(t, err)
	r, closeWeights, err := cfg.Weights.Open(tel)
	must(t, err)
	d, closeDirectory, err := cfg.Window.OpenDirectory(tel)
	must(t, err)
	t.Cleanup(func() {
		must(t, errors.Join(closeWindow(), closeWeights(), closeDirectory()))
	})
	scope := memory.Scope{Tenant: "kept", User: "u1"}
	must(t, d.CreateTenant(t.Context(), tenant.Tenant{ID: scope.Tenant}))
	id := func(n int) string { return fmt.Sprint("n", n) }
	hash := func(n int) access.Hash { return access.HashOf(id(n)) }
	return keptInRedis{
		scope: scope,
		append: func(ctx context.Context, n int) error {
			return w.Append(ctx, scope, []memory.Turn{{ID: id(n), Text: "said", Time: time.Unix(int64(n), 0)}})
		},
		recent: func(ctx context.Context, _ int) error { _, err := w.Recent(ctx, scope, time.Time{}); return err },
		trace:  func(ctx context.Context, n int) error { return r.PutTrace(ctx, scope, id(n), []byte("recalled")) },
		// The number of a tenant's keys is limited.
		key: func(ctx context.Context, n int) error {
			return d.CreateKey(ctx, access.Key{ID: id(n), Hash: hash(n), Tenant: fmt.Sprint(scope.Tenant, n/directory.MaxKeys)})
		},
		find: func(ctx context.Context, _ int) error { _, err := d.Tenant(ctx, scope.Tenant); return err },
		lost: map[string]func(*testing.T, map[int]time.Time) []int{
			"append": func(t *testing.T, acknowledged map[int]time.Time) (lost []int) {
				turns, err := w.Recent(t.Context(), scope, time.Time{})
				must(t, err)
				have := map[string]bool{}
				for _, turn := range turns {
					have[turn.ID] = true
				}
				for n := range acknowledged {
					if !have[id(n)] {
						lost = append(lost, n)
					}
				}
				return lost
			},
			"put trace": func(t *testing.T, acknowledged map[int]time.Time) (lost []int) {
				for n := range acknowledged {
					traces, err := r.Traces(t.Context(), scope, []string{id(n)})
					must(t, err)
					if traces[0] == nil {
						lost = append(lost, n)
					}
				}
				return lost
			},
			"create key": func(t *testing.T, acknowledged map[int]time.Time) (lost []int) {
				for n := range acknowledged {
					if _, err := d.KeyByHash(t.Context(), hash(n)); err != nil {
						lost = append(lost, n)
					}
				}
				return lost
			},
		},
	}
}

func (k keptInRedis) clients(t *testing.T) []*client {
	return []*client{
		startClient(t, "append", k.append), startClient(t, "recent", k.recent), startClient(t, "put trace", k.trace),
		startClient(t, "create key", k.key), startClient(t, "find tenant", k.find),
	}
}

// nothingSettledIsLost prints the number of lost acknowledged writes. The test fails if one of them was acknowledged
// well before the master was killed, or after its death.
func (k keptInRedis) nothingSettledIsLost(t *testing.T, clients []*client, killed, dead time.Time) {
	t.Helper()
	for _, c := range clients {
		find, writes := k.lost[c.name]
		if !writes {
			continue
		}
		lost := find(t, c.acknowledged)
		t.Logf("%-16s %d acknowledged, %d of them lost", c.name, len(c.acknowledged), len(lost))
		for _, n := range lost {
			if at := c.acknowledged[n]; killed.Sub(at) > settledFor || at.After(dead) {
				t.Errorf("%s: number %d, acknowledged %s after the master's death, is lost", c.name, n, at.Sub(dead))
			}
		}
	}
}

// awaitReplicas waits until the master has the given number of replicas and every Sentinel knows them. The replicas
// may lag a little. A replica unknown to the Sentinels keeps following the dead master. If it is the only one left,
// the new master accepts no write.
func awaitReplicas(t *testing.T, redis *servers.RedisSentinels, count int) {
	t.Helper()
	awaitInfo(t, redis.Servers[0], func(info string) bool { return strings.Count(info, "state=online") == count })
	for _, s := range redis.Sentinels {
		c := goredis.NewSentinelClient(&goredis.Options{Addr: s.Addr()})
		defer c.Close()
		harness.Await(t, "a Sentinel knows of all replicas", func(ctx context.Context) (bool, error) {
			master, err := c.Master(ctx, servers.SentinelMaster).Result()
			return err == nil && master["num-slaves"] == fmt.Sprint(count), nil
		})
	}
}

// awaitRole waits until a server has a role and receives its master's writes.
func awaitRole(t *testing.T, server *servers.RedisNode, role string) {
	t.Helper()
	awaitInfo(t, server, func(info string) bool {
		return strings.Contains(info, "role:"+role) && strings.Contains(info, "master_link_status:up")
	})
}

func awaitInfo(t *testing.T, server *servers.RedisNode, is func(info string) bool) {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: server.Addr()})
	defer c.Close()
	harness.Await(t, "replication is as it should be", func(ctx context.Context) (bool, error) {
		info, err := c.Info(ctx, "replication").Result()
		return err == nil && is(info), nil
	})
}
