//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/test/harness"
)

// brokers is how many nodes the cluster has; all keep every record.
const brokers = 3

// TestABrokerOfKafkaDies kills the leader of a partition that is written and read, and, when that is back, the node that looks after the
// group of the readers.
func TestABrokerOfKafkaDies(t *testing.T) {
	began := time.Now()
	o := servers.BrokerOptions{Options: servers.Options{Dir: t.TempDir(), Log: t.Output()}}
	nodes, err := servers.StartKafkaCluster(t.Context(), o, brokers)
	must(t, err)
	t.Cleanup(func() {
		for _, n := range nodes {
			must(t, n.Stop(context.WithoutCancel(t.Context())))
		}
	})
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
		before := read.reset()
		must(t, nodes[number-1].Kill())
		goOn(t, clients...)
		read.goesOn(t, before)
		t.Logf("longest time in which nothing was read: %s", read.longest().Round(time.Millisecond))
		must(t, nodes[number-1].Restart(t.Context()))
		awaitInSync(t, addrs[number%brokers])
	}
	goOn(t, clients...)
	for _, c := range clients {
		c.report(t)
	}
	read.all(t, clients)
	t.Logf("the whole took %s", time.Since(began).Round(time.Second))
}

// reading is what a group of two consumers has read.
type reading struct {
	mu      sync.Mutex
	times   map[string]map[int]int // by key and number, how often
	highest map[string]int
	order   int // records of a key that came before an earlier one for the first time
	last    time.Time
	pause   time.Duration
	total   int
}

const group = "readers"

func readTopic(t *testing.T, from *wiring.BusClient) *reading {
	t.Helper()
	r := &reading{times: map[string]map[int]int{}, highest: map[string]int{}}
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
	if !r.last.IsZero() {
		r.pause = max(r.pause, now.Sub(r.last))
	}
	r.last = now
	for _, m := range batch {
		n, err := strconv.Atoi(string(m.Value))
		if err != nil {
			return err
		}
		key := string(m.Key)
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

// reset forgets the longest pause, and returns how much was read.
func (r *reading) reset() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pause = 0
	return r.total
}

func (r *reading) longest() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pause
}

// goesOn waits until more is read.
func (r *reading) goesOn(t *testing.T, than int) {
	t.Helper()
	harness.Await(t, "more is read", func(context.Context) (bool, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.total > than+calm, nil
	})
}

// all waits until all that was acknowledged to clients that have ended is read. What is read twice is for handlers to bear, what comes
// out of order is not.
func (r *reading) all(t *testing.T, clients []*client) {
	t.Helper()
	acknowledged := 0
	harness.Await(t, "all that was acknowledged is read", func(context.Context) (bool, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		acknowledged = 0
		for key, c := range clients {
			for n := range c.acknowledged {
				if acknowledged++; r.times[fmt.Sprint(key)][n] == 0 {
					return false, nil
				}
			}
		}
		return true, nil
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Logf("%d acknowledged, 0 of them lost; %d read, %d out of order", acknowledged, r.total, r.order)
	if r.order > 0 {
		t.Errorf("%d records came after a later one of their key", r.order)
	}
}

// ask asks the cluster.
func ask[T any](t *testing.T, addr string, call func(context.Context, *kafkago.Client) (T, error)) T {
	t.Helper()
	transport := &kafkago.Transport{}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), callEnds)
	defer cancel()
	answer, err := call(ctx, &kafkago.Client{Addr: kafkago.TCP(addr), Transport: transport})
	must(t, err)
	return answer
}

func partitions(t *testing.T, addr string) []kafkago.Partition {
	t.Helper()
	return ask(t, addr, func(ctx context.Context, c *kafkago.Client) ([]kafkago.Partition, error) {
		got, err := c.Metadata(ctx, &kafkago.MetadataRequest{Topics: []string{contract.TopicSessionEvents}})
		if err != nil {
			return nil, err
		}
		return got.Topics[0].Partitions, got.Topics[0].Error
	})
}

// leader is the node that leads the partition of the first key.
func leader(t *testing.T, addr string) int {
	all := partitions(t, addr)
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

// coordinator is the node that looks after the readers.
func coordinator(t *testing.T, addr string) int {
	return ask(t, addr, func(ctx context.Context, c *kafkago.Client) (int, error) {
		got, err := c.FindCoordinator(ctx, &kafkago.FindCoordinatorRequest{Key: group, KeyType: kafkago.CoordinatorKeyTypeConsumer})
		if err != nil {
			return 0, err
		}
		return got.Coordinator.NodeID, got.Error
	})
}

// awaitInSync waits until all nodes have all of every partition.
func awaitInSync(t *testing.T, addr string) {
	t.Helper()
	harness.Await(t, "all replicas are in sync", func(context.Context) (bool, error) {
		for _, p := range partitions(t, addr) {
			if len(p.Isr) < brokers {
				return false, nil
			}
		}
		return true, nil
	})
}
