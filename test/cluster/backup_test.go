//go:build cluster

package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	goredis "github.com/redis/go-redis/v9"
	kafkago "github.com/segmentio/kafka-go"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/store/directory"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/test/harness"
	testservers "github.com/mneme-memory/mneme/test/servers"
)

const (
	backupID = "first"
	whose    = "acme"
	asked    = "asked"
)

// TestEveryStoreIsRestoredFromItsBackup loses Temporal's PostgreSQL, Redis and Weaviate. It restores them from
// backups made during traffic. Kafka then delivers the events since the backups, and some older ones, again. Recall
// must give the same answers as before.
func TestEveryStoreIsRestoredFromItsBackup(t *testing.T) {
	began := time.Now()
	broker, err := servers.StartBroker(t.Context(),
		servers.BrokerOptions{Options: process.Options{Dir: t.TempDir()}, Partitions: 4})
	must(t, err)
	t.Cleanup(func() { must(t, broker.Stop(context.WithoutCancel(t.Context()))) })
	saved := t.TempDir()
	must(t, os.Chmod(filepath.Dir(saved), 0o711)) // PostgreSQL may run as another user

	sessions := harness.Conversation(asked, harness.Lives(1))
	before := startStores(t, t.TempDir(), broker)
	before.open(t)
	before.publish(t, sessions[:2], sessions[:2])
	must(t, before.directory(t).CreateTenant(t.Context(), tenant.Tenant{ID: "made-at-run-time"}))
	speaking := startSpeakers(t, before.sys, whose)
	goOnBy(t, 1, speaking...)
	before.backUp(t, saved)
	goOnBy(t, 1, speaking...)
	for _, c := range speaking {
		c.report(t, bounds{pause: 45 * time.Second})
	}
	rest := sessions[2:]
	sessions = append(sessions, said(speaking)...)
	before.publish(t, rest, sessions)
	want, wantProfile := before.remembered(t, sessions), before.profile(t)
	before.end(t)

	rewind(t, broker.Addr())
	fresh := t.TempDir()
	restoreFolders(t, saved, fresh)
	after := startStores(t, fresh, broker)
	after.restoreWeaviate(t)
	after.open(t)
	after.publish(t, nil, sessions)
	if _, err := after.directory(t).Tenant(t.Context(), "made-at-run-time"); err != nil {
		t.Errorf("a tenant that was made before: %v", err)
	}
	got, gotProfile := after.remembered(t, sessions), after.profile(t)
	if d := harness.Diff(want, got); d != "" {
		t.Errorf("what is restored is not what there was:\n%s", d)
	}
	if gotProfile != wantProfile || gotProfile == "" {
		t.Errorf("recall says\n%s\nwant\n%s", gotProfile, wantProfile)
	}
	after.end(t)
	t.Logf("the whole took %s", time.Since(began).Round(time.Second))
}

// stores are the lost servers, with the services in front of them.
type stores struct {
	dir      string
	temporal *testservers.TemporalCluster
	redis    *servers.Redis
	weaviate *servers.Weaviate
	broker   *servers.Broker
	sys      *harness.System
}

func startStores(t *testing.T, dir string, broker *servers.Broker) *stores {
	t.Helper()
	must(t, os.Chmod(filepath.Dir(dir), 0o711))
	s := &stores{dir: dir, broker: broker}
	at := func(name string) process.Options {
		return process.Options{Dir: filepath.Join(dir, name), Log: t.Output()}
	}
	var err error
	s.temporal, err = testservers.StartTemporalCluster(t.Context(), at("temporal"))
	must(t, err)
	s.redis, err = servers.StartRedisServer(t.Context(), at("redis"))
	must(t, err)
	s.weaviate, err = servers.StartWeaviate(t.Context(), at("weaviate"))
	must(t, err)
	t.Cleanup(func() { s.end(t) })
	return s
}

// open starts the services.
func (s *stores) open(t *testing.T) {
	t.Helper()
	workflows := wiring.Workflows{Addr: s.temporal.Frontends[0].Addr(), Namespace: "mneme"}
	harness.Await(t, "there is a namespace", func(ctx context.Context) (bool, error) {
		return wiring.Migration{Workflows: workflows}.RegisterNamespace(ctx, 24*time.Hour, newTelemetry(t)) == nil, nil
	})
	var err error
	s.sys, err = harness.Open(t.Context(), s.dir, harness.Options{
		Tenants: []harness.Tenant{{ID: whose}}, Environ: map[string]string{"MNEME_TEMPORAL_NAMESPACE": workflows.Namespace},
		Servers: &harness.Servers{
			Dir: s.dir, Weaviate: s.weaviate, Redis: s.redis, Broker: s.broker, Temporal: s.temporal.Frontends[0],
		},
	})
	must(t, err)
}

// end stops all processes. It may be called again.
func (s *stores) end(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if s.sys != nil {
		must(t, s.sys.Close())
		s.sys = nil
	}
	must(t, errors.Join(s.temporal.Stop(ctx), s.redis.Stop(ctx), s.weaviate.Stop(ctx)))
}

// publish publishes the sessions in said and waits until those in formed are formed.
func (s *stores) publish(t *testing.T, said, formed []dataset.Session) {
	t.Helper()
	s.sys.Publish(t, whose, said...)
	s.sys.AwaitFormed(t, whose, formed...)
}

// remembered returns the memories of all users of the sessions.
func (s *stores) remembered(t *testing.T, sessions []dataset.Session) (out []harness.Entry) {
	t.Helper()
	users := map[string]bool{}
	for _, said := range sessions {
		users[said.User] = true
	}
	for u := range users {
		out = append(out, s.sys.Snapshot(t, whose, u)...)
	}
	return out
}

// directory returns the directory, which is in Redis only.
func (s *stores) directory(t *testing.T) directory.Directory {
	t.Helper()
	cfg, err := config.Load[wiring.Redis](map[string]string{"MNEME_REDIS_ADDRS": s.redis.Addr()})
	must(t, err)
	d, free, err := cfg.OpenDirectory(newTelemetry(t))
	must(t, err)
	t.Cleanup(func() { must(t, free()) })
	return d
}

func (s *stores) profile(t *testing.T) string {
	t.Helper()
	got, err := s.sys.Client(whose).Recall(t.Context(), connect.NewRequest(&mnemev1.RecallRequest{
		UserId: asked, Query: "Where does she live, and what does she like?", Candidates: 20, Memories: 5, WordBudget: 400,
	}))
	must(t, err)
	return got.Msg.GetProfile()
}

// backUp saves Temporal first, then Redis, then Weaviate. Data that a later backup has in addition is applied again
// without effect. Data that a later backup lacked would be lost.
func (s *stores) backUp(t *testing.T, to string) {
	t.Helper()
	dump, err := s.temporal.Postgres.Run(t.Context(), "pg_dumpall", "--no-role-passwords", "--clean", "--if-exists")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(to, "temporal.sql"), dump, 0o644))

	c := goredis.NewClient(&goredis.Options{Addr: s.redis.Addr()})
	defer c.Close()
	must(t, c.ConfigSet(t.Context(), "auto-aof-rewrite-percentage", "0").Err())
	harness.Await(t, "Redis does not rewrite its file", func(ctx context.Context) (bool, error) {
		info, err := c.Info(ctx, "persistence").Result()
		return strings.Contains(info, "aof_rewrite_in_progress:0"), err
	})
	must(t, os.CopyFS(filepath.Join(to, "redis"), os.DirFS(filepath.Join(s.dir, "redis"))))
	must(t, c.ConfigSet(t.Context(), "auto-aof-rewrite-percentage", "100").Err())

	// Weaviate saves one collection after the other. A session written between two of them would have turns without
	// memories.
	s.sys.Stop(t, harness.Booster)
	s.backup(t, http.MethodPost, "", map[string]string{"id": backupID})
	harness.Await(t, "Weaviate is saved", func(context.Context) (bool, error) {
		return s.backup(t, http.MethodGet, "/"+backupID, nil) == "SUCCESS", nil
	})
	s.sys.Launch(t, harness.Booster)
	s.sys.AwaitReady(t, harness.Booster)
	must(t, os.CopyFS(filepath.Join(to, "weaviate", servers.BackupFolder),
		os.DirFS(filepath.Join(s.dir, "weaviate", servers.BackupFolder))))
}

// ownRole matches the lines of a dump that fail on every server, because the restoring role exists and cannot be
// dropped.
var ownRole = regexp.MustCompile(`(?m)^(DROP ROLE IF EXISTS|CREATE ROLE) postgres;$`)

// restoreFolders fills the data folders of new servers from the backups. Weaviate restores its backup later, while it
// runs.
func restoreFolders(t *testing.T, from, to string) {
	t.Helper()
	must(t, os.Chmod(filepath.Dir(to), 0o711))
	dump, err := os.ReadFile(filepath.Join(from, "temporal.sql"))
	must(t, err)
	sql := filepath.Join(from, "without-own-role.sql")
	must(t, os.WriteFile(sql, ownRole.ReplaceAll(dump, nil), 0o644))
	p, err := testservers.StartPostgres(t.Context(), process.Options{Dir: filepath.Join(to, "temporal")})
	must(t, err)
	_, err = p.Run(t.Context(), "psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", sql, "postgres")
	must(t, errors.Join(err, p.Stop(t.Context())))
	for _, name := range []string{"redis", "weaviate"} {
		must(t, os.CopyFS(filepath.Join(to, name), os.DirFS(filepath.Join(from, name))))
	}
	for _, mark := range []string{"redis-server.pid", "redis-server.lock", "redis-server.ports.json"} {
		must(t, os.Remove(filepath.Join(to, "redis", mark)))
	}
}

func (s *stores) restoreWeaviate(t *testing.T) {
	t.Helper()
	s.backup(t, http.MethodPost, "/"+backupID+"/restore", map[string]string{})
	harness.Await(t, "Weaviate is restored", func(context.Context) (bool, error) {
		return s.backup(t, http.MethodGet, "/"+backupID+"/restore", nil) == "SUCCESS", nil
	})
}

// backup calls Weaviate's backup API and returns the status in the answer.
func (s *stores) backup(t *testing.T, method, path string, body any) string {
	t.Helper()
	encoded, err := json.Marshal(body)
	must(t, err)
	url := "http://" + s.weaviate.HTTP() + "/v1/backups/filesystem" + path
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(encoded))
	must(t, err)
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	must(t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	must(t, err)
	var got struct{ Status, Error string }
	if err := json.Unmarshal(answer, &got); err != nil || res.StatusCode != http.StatusOK || got.Status == "FAILED" {
		t.Fatalf("%s %s: %d %s", method, path, res.StatusCode, answer)
	}
	return got.Status
}

// rewind makes the filter read all session events again, as kafka-consumer-groups.sh --reset-offsets does.
func rewind(t *testing.T, addr string) {
	t.Helper()
	_, err := ask(t.Context(), addr, func(ctx context.Context, c *kafkago.Client) (struct{}, error) {
		commits := []kafkago.OffsetCommit{}
		for p := range 4 {
			commits = append(commits, kafkago.OffsetCommit{Partition: p})
		}
		got, err := c.OffsetCommit(ctx, &kafkago.OffsetCommitRequest{
			GroupID: filterGroup, GenerationID: -1, Topics: map[string][]kafkago.OffsetCommit{
				contract.TopicSessionEvents: commits,
			},
		})
		if err != nil {
			return struct{}{}, err
		}
		for _, p := range got.Topics[contract.TopicSessionEvents] {
			err = errors.Join(err, p.Error)
		}
		return struct{}{}, err
	})
	must(t, err)
}
