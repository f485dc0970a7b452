//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/test/harness"
	"github.com/mneme-memory/mneme/test/servers"
)

const (
	// brokers is the number of nodes of the cluster. Every node keeps every record.
	brokers = 3
	// unread is the limit of the time without a read record of a key. It is far more than usual.
	unread = 45 * time.Second
)

// TestABrokerOfKafkaDies kills the leader of a partition under writes and reads. When this node is back, the test
// kills the coordinator of the readers' group.
func TestABrokerOfKafkaDies(t *testing.T) {
	began := time.Now()
	o := servers.KafkaOptions{Options: process.Options{Dir: t.TempDir(), Log: t.Output()}}
	nodes, err := servers.StartKafkaCluster(t.Context(), o, brokers)
	must(t, err)
	t.Cleanup(func() { stopAll(t, nodes...) })
	var addrs []string
	for _, n := range nodes {
		addrs = append(addrs, n.Addr())
	}
	cfg, err := config.Load[wiring.Bus](map[string]string{
		"MNEME_KAFKA_BROKERS": strings.Join(addrs, ","), "MNEME_KAFKA_PARTITIONS": "4", "MNEME_KAFKA_REPLICAS": "3",
		"MNEME_KAFKA_MIN_INSYNC_REPLICAS": "2",
	})
	must(t, err)
	must(t, wiring.Migration{Bus: cfg}.Topics(t.Context(), "migrate"))
	opened, err := cfg.Open(t.Context(), "test", newTelemetry(t))
	must(t, err)
	t.Cleanup(func() { must(t, opened.Close()) })
	read := readTopic(t, opened)

	var clients []*client
	for key := range 2 * brokers {
		clients = append(clients, startClient(t, fmt.Sprint("publish key ", key), func(ctx context.Context, n int) error {
			return opened.Publisher.Publish(ctx, bus.Message{
				Topic: contract.TopicSessionEvents, Key: fmt.Append(nil, key), Value: fmt.Append(nil, n),
			})
		}))
	}
	goOn(t, clients...)
	for _, victim := range []struct {
		is     string
		number func(*testing.T, string) int
	}{{"leader", leader}, {"group coordinator", coordinator}} {
		number := victim.number(t, addrs[0])
		t.Logf("the %s, node %d, dies", victim.is, number)
		read.reset()
		must(t, nodes[number-1].Kill())
		goOn(t, clients...)
		read.all(t, clients) // while the node is away, for every key and every leader
		pause := read.longest()
		t.Logf("longest time in which nothing of a key was read: %s", pause.Round(time.Millisecond))
		if pause > unread {
			t.Errorf("want at most %s", unread)
		}
		must(t, nodes[number-1].Restart(t.Context()))
		awaitInSync(t, addrs[number%brokers])
	}
	goOn(t, clients...)
	for _, c := range clients {
		c.report(t, bounds{pause: 45 * time.Second})
	}
	acknowledged := read.all(t, clients)
	t.Logf("%d acknowledged, 0 of them lost; %d read, %d out of order", acknowledged, read.total, read.order)
	if read.order > 0 {
		t.Errorf("%d records came after a later one of their key", read.order)
	}
	t.Logf("the whole took %s", time.Since(began).Round(time.Second))
}

// reading records the messages that a group of two consumers has read.
type reading struct {
	mu      sync.Mutex
	times   map[string]map[int]int // number of reads by key and number
	highest map[string]int
	order   int                  // records of a key that came before an earlier one for the first time
	last    map[string]time.Time // by key
	pause   time.Duration
	total   int
}

const group = "readers"

func readTopic(t *testing.T, from *wiring.BusClient) *reading {
	t.Helper()
	r := &reading{times: map[string]map[int]int{}, highest: map[string]int{}, last: map[string]time.Time{}}
	ctx, stop := context.WithCancel(context.Background())
	var consuming sync.WaitGroup
	for range 2 {
		task, err := from.Consume(contract.TopicSessionEvents, group, r.take)
		must(t, err)
		consuming.Go(func() {
			if err := task.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		consuming.Wait()
	})
	return r
}

func (r *reading) take(_ context.Context, batch []bus.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for _, m := range batch {
		n, err := strconv.Atoi(string(m.Value))
		if err != nil {
			return err
		}
		key := string(m.Key)
		if last, ok := r.last[key]; ok {
			r.pause = max(r.pause, now.Sub(last))
		}
		r.last[key] = now
		if r.times[key] == nil {
			r.times[key], r.highest[key] = map[int]int{}, -1
		}
		if r.times[key][n] == 0 && n < r.highest[key] {
			r.order++
		}
		r.highest[key] = max(r.highest[key], n)
		r.times[key][n]++
		r.total++
	}
	return nil
}

// reset clears the longest pause.
func (r *reading) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pause = 0
}

func (r *reading) longest() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pause
}

// all waits until the group has read every record acknowledged before the call, and returns their number. Handlers
// tolerate repeated records, but no change of order.
func (r *reading) all(t *testing.T, clients []*client) (acknowledged int) {
	t.Helper()
	for key, c := range clients {
		c.mu.Lock()
		want := slices.Collect(maps.Keys(c.acknowledged))
		c.mu.Unlock()
		acknowledged += len(want)
		harness.Await(t, "all that was acknowledged is read", func(context.Context) (bool, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return !slices.ContainsFunc(want, func(n int) bool { return r.times[fmt.Sprint(key)][n] == 0 }), nil
		})
	}
	return acknowledged
}

// ask sends a request to the cluster.
func ask[T any](ctx context.Context, addr string, call func(context.Context, *kafkago.Client) (T, error)) (T, error) {
	transport := &kafkago.Transport{}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, callEnds)
	defer cancel()
	return call(ctx, &kafkago.Client{Addr: kafkago.TCP(addr), Transport: transport})
}

func partitions(ctx context.Context, addr string) ([]kafkago.Partition, error) {
	return ask(ctx, addr, func(ctx context.Context, c *kafkago.Client) ([]kafkago.Partition, error) {
		got, err := c.Metadata(ctx, &kafkago.MetadataRequest{Topics: []string{contract.TopicSessionEvents}})
		if err != nil {
			return nil, err
		}
		return got.Topics[0].Partitions, got.Topics[0].Error
	})
}

// leader returns the leader of the first key's partition.
func leader(t *testing.T, addr string) int {
	all, err := partitions(t.Context(), addr)
	must(t, err)
	numbers := make([]int, len(all))
	for i := range all {
		numbers[i] = i
	}
	of := (kafkago.Murmur2Balancer{}).Balance(kafkago.Message{Key: []byte("0")}, numbers...)
	for _, p := range all {
		if p.ID == of {
			return p.Leader.ID
		}
	}
	t.Fatalf("there is no partition %d", of)
	return 0
}

// coordinator returns the coordinator of the readers' group.
func coordinator(t *testing.T, addr string) int {
	node, err := ask(t.Context(), addr, func(ctx context.Context, c *kafkago.Client) (int, error) {
		got, err := c.FindCoordinator(ctx, &kafkago.FindCoordinatorRequest{Key: group,
			KeyType: kafkago.CoordinatorKeyTypeConsumer})
		if err != nil {
			return 0, err
		}
		return got.Coordinator.NodeID, got.Error
	})
	must(t, err)
	return node
}

// awaitInSync waits until all replicas of every partition are in sync.
func awaitInSync(t *testing.T, addr string) {
	t.Helper()
	harness.Await(t, "all replicas are in sync", func(ctx context.Context) (bool, error) {
		all, err := partitions(ctx, addr)
		behind := slices.ContainsFunc(all, func(p kafkago.Partition) bool { return len(p.Isr) < brokers })
		return err == nil && !behind, nil
	})
}
