package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
)

const (
	// partitions is the number of partitions of every topic. Several partitions keep users apart; few suit two cores.
	partitions = 4
	// startLimit limits the start of servers without their build, and the stop.
	startLimit = 3 * time.Minute
	stopLimit  = time.Minute
)

// Servers are the real back-ends on loopback. Each has separate Stop, Kill and Restart methods and keeps its address
// and data.
type Servers struct {
	Weaviate *servers.Weaviate
	Temporal *servers.Temporal
	Broker   *servers.Broker
	Redis    *servers.Redis
	// Dir holds their data and logs.
	Dir string
}

// StartServers starts the back-ends for one test, in a temporary directory.
func StartServers(tb testing.TB) *Servers {
	tb.Helper()
	s, err := OpenServers(context.Background(), tb.TempDir())
	if err != nil {
		tb.Fatalf("start servers: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("stop servers: %v", err)
		}
	})
	return s
}

// OpenServers starts the back-ends in dir. It builds missing ones first, which takes minutes. After an error no
// back-end runs.
func OpenServers(ctx context.Context, dir string) (*Servers, error) {
	if err := servers.Build(ctx, io.Discard, servers.NameWeaviate, servers.NameTemporal); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	s := &Servers{Dir: dir}
	at := func(name string) process.Options { return process.Options{Dir: filepath.Join(dir, name)} }
	var g errgroup.Group
	g.Go(func() (err error) { s.Weaviate, err = servers.StartWeaviate(ctx, at("weaviate")); return err })
	g.Go(func() (err error) { s.Temporal, err = servers.StartTemporal(ctx, at("temporal")); return err })
	g.Go(func() (err error) { s.Redis, err = servers.StartRedis(ctx, at("redis")); return err })
	g.Go(func() (err error) {
		s.Broker, err = servers.StartBroker(ctx, servers.BrokerOptions{Options: at("kafka"), Partitions: partitions})
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close stops the running back-ends.
func (s *Servers) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	var g errgroup.Group
	if s.Broker != nil {
		g.Go(func() error { return s.Broker.Stop(ctx) })
	}
	if s.Redis != nil {
		g.Go(func() error { return s.Redis.Stop(ctx) })
	}
	if s.Temporal != nil {
		g.Go(func() error { return s.Temporal.Stop(ctx) })
	}
	if s.Weaviate != nil {
		g.Go(func() error { return s.Weaviate.Stop(ctx) })
	}
	return g.Wait()
}

// TenantsFile is the path of the tenants file of all services.
func (s *Servers) TenantsFile() string { return filepath.Join(s.Dir, "tenants.yaml") }

// Environ returns the settings of a service on these servers, tuned for tests. Long production waits are shortened,
// and every feature stays on. A recall waits for parts that production would skip after some milliseconds. So a busy
// machine does not change results. The settings in extra override the others.
func (s *Servers) Environ(extra map[string]string) map[string]string {
	env := map[string]string{
		"MNEME_KAFKA_BROKERS":         s.Broker.Addr(),
		"MNEME_KAFKA_PARTITIONS":      strconv.Itoa(partitions),
		"MNEME_KAFKA_REPLICAS":        "1",
		"MNEME_REDIS_ADDRS":           s.Redis.Addr(),
		"MNEME_TEMPORAL_ADDR":         s.Temporal.Addr(),
		"MNEME_TEMPORAL_DELETE_AFTER": servers.TemporalDeleteAfter,
		"MNEME_WEAVIATE_HTTP":         s.Weaviate.HTTP(),
		"MNEME_WEAVIATE_GRPC":         s.Weaviate.GRPC(),
		"MNEME_TENANTS_FILE":          s.TenantsFile(),
		"MNEME_TENANTS_POLL":          "50ms",
		"MNEME_START_RETRY_MAX":       "500ms",
		"MNEME_SHUTDOWN_TIMEOUT":      "10s",
		"MNEME_CONSOLIDATION_LINGER":  "1s",
		"MNEME_RECALL_RERANK_TIMEOUT": "10s",
		"MNEME_RECALL_WINDOW_TIMEOUT": "10s",
		"MNEME_RECALL_INDEX_TIMEOUT":  "10s",
		"MNEME_LOG_LEVEL":             "info",
	}
	maps.Copy(env, extra)
	return env
}

// tail returns the end of a file, for the message of a failed test.
func tail(path string, size int) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Sprintf("(%v)", err)
	}
	return string(content[max(0, len(content)-size):])
}
