package kafka_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/bustest"
	"github.com/mneme-memory/mneme/shared/bus/kafka"
	"github.com/mneme-memory/mneme/shared/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// embedded is a broker in this process that keeps its port and its data over restarts.
type embedded struct {
	dir     string
	port    int
	cluster *kfake.Cluster
}

func startEmbedded(t testing.TB) *embedded {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &embedded{dir: t.TempDir(), port: l.Addr().(*net.TCPAddr).Port}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b.start(t)
	t.Cleanup(func() { b.cluster.Close() })
	return b
}

func (b *embedded) start(t testing.TB) {
	t.Helper()
	var err error
	b.cluster, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(b.port), kfake.DataDir(b.dir),
		kfake.GroupMinSessionTimeout(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
}

func (b *embedded) restart(t testing.TB, during func()) {
	b.cluster.Close()
	during()
	b.start(t)
}

func (b *embedded) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(b.port)) }

// mortal dials connections that can be cut for good, as by the death of a process.
type mortal struct {
	mu    sync.Mutex
	dead  bool
	conns []net.Conn
}

func (m *mortal) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil && m.dead {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	if err == nil {
		m.conns = append(m.conns, c)
	}
	return c, err
}

func (m *mortal) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
	for _, c := range m.conns {
		_ = c.Close()
	}
}

// transport has the functions for the suite, on the broker at addr.
func transport(addr string, session time.Duration, restart func(testing.TB, func())) bustest.Transport {
	cluster := kafka.Cluster{Brokers: []string{addr}}
	config := func(group string, topics []string) kafka.SourceConfig {
		return kafka.SourceConfig{
			Cluster: cluster, Group: group, Topics: topics,
			SessionTimeout: session, Heartbeat: 100 * time.Millisecond, RebalanceTimeout: session,
			MaxWait: 100 * time.Millisecond,
		}
	}
	open := func(t testing.TB, cfg kafka.SourceConfig) bus.Source {
		src, err := kafka.NewSource(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return src
	}
	return bustest.Transport{
		CreateTopic: func(t testing.TB, name string, partitions int) {
			topic := kafka.Topic{Name: name, Partitions: partitions}
			if err := kafka.EnsureTopics(t.Context(), cluster, topic); err != nil {
				t.Fatal(err)
			}
		},
		Source: func(t testing.TB, group string, topics ...string) (bus.Source, func()) {
			m := new(mortal)
			cfg := config(group, topics)
			cfg.Cluster.Dial = m.dial
			return open(t, cfg), m.kill
		},
		SourceFromEnd: func(t testing.TB, group string, topics ...string) bus.Source {
			cfg := config(group, topics)
			cfg.FromEnd = true
			return open(t, cfg)
		},
		Publisher: func(t testing.TB) bus.Publisher {
			pub, err := kafka.NewPublisher(kafka.PublisherConfig{Cluster: cluster})
			if err != nil {
				t.Fatal(err)
			}
			return pub
		},
		Log: func(t testing.TB, topic string) bus.Log {
			l, err := kafka.NewLog(cluster, topic)
			if err != nil {
				t.Fatal(err)
			}
			return l
		},
		Committed: func(t testing.TB, group string, p bus.Partition) int64 { return bustest.Committed(t, addr, group, p) },
		Restart:   restart,
	}
}

func TestConformance(t *testing.T) {
	b := startEmbedded(t)
	bustest.Run(t, transport(b.addr(), time.Second, b.restart))
}

func TestAGroupOfOneMemberIsGoneWithIt(t *testing.T) {
	b := startEmbedded(t)
	cluster := kafka.Cluster{Brokers: []string{b.addr()}}
	if err := kafka.EnsureTopics(t.Context(), cluster, kafka.Topic{Name: "changes", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	tr := new(kafkago.Transport)
	t.Cleanup(tr.CloseIdleConnections)
	client := &kafkago.Client{Addr: kafkago.TCP(b.addr()), Transport: tr}
	groups := func() (names []string) {
		res, err := client.ListGroups(t.Context(), &kafkago.ListGroupsRequest{})
		if err != nil || res.Error != nil {
			t.Fatal(err, res)
		}
		for _, g := range res.Groups {
			names = append(names, g.GroupID)
		}
		return names
	}
	for _, name := range []string{"replica-1", "replica-2"} {
		source, err := kafka.NewSource(kafka.SourceConfig{Cluster: cluster, Group: name, Topics: []string{"changes"},
			FromEnd: true})
		if err != nil {
			t.Fatal(err)
		}
		joined, err := source.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		at := joined.Partitions()[0]
		if err := joined.Commit(t.Context(), map[bus.Partition]int64{at: 0}); err != nil {
			t.Fatal(err)
		}
		if got := groups(); !slices.Equal(got, []string{name}) {
			t.Errorf("while %s is a member there are the groups %q", name, got)
		}
		if err := source.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := groups(); len(got) != 0 {
		t.Errorf("the groups %q are left behind", got)
	}
}

func TestOffsetsSayHowFarAGroupIs(t *testing.T) {
	b := startEmbedded(t)
	cluster := kafka.Cluster{Brokers: []string{b.addr()}}
	if err := kafka.EnsureTopics(t.Context(), cluster, kafka.Topic{Name: "turns", Partitions: 3}); err != nil {
		t.Fatal(err)
	}
	offsets, err := kafka.NewOffsets(cluster, "readers", "turns")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = offsets.Close() })
	if got, err := offsets.Committed(t.Context()); err != nil || len(got) != 0 {
		t.Fatalf("of a group that has finished nothing: %v, %v", got, err)
	}
	tr := new(kafkago.Transport)
	t.Cleanup(tr.CloseIdleConnections)
	client := &kafkago.Client{Addr: kafkago.TCP(b.addr()), Transport: tr}
	res, err := client.OffsetCommit(t.Context(), &kafkago.OffsetCommitRequest{GroupID: "readers", GenerationID: -1,
		Topics: map[string][]kafkago.OffsetCommit{"turns": {{Partition: 0, Offset: 0}, {Partition: 2, Offset: 17}}},
	})
	if err != nil || res.Topics["turns"][0].Error != nil {
		t.Fatalf("commit: %+v, %v", res, err)
	}
	got, err := offsets.Committed(t.Context())
	if err != nil || len(got) != 2 || got[0] != 0 || got[2] != 17 {
		t.Errorf("got %v, %v, want 0 and 17 of the partitions 0 and 2", got, err)
	}
	if _, err := kafka.NewOffsets(kafka.Cluster{}, "readers", "turns"); err == nil {
		t.Error("offsets of no cluster")
	}
}

func TestEnsureTopicsIsIdempotent(t *testing.T) {
	b := startEmbedded(t)
	cluster := kafka.Cluster{Brokers: []string{b.addr()}}
	for i := range 3 {
		topics := []kafka.Topic{{Name: "a", Partitions: 3 + i},
			{Name: fmt.Sprint("b", i), Partitions: 1, Retention: time.Hour}}
		if err := kafka.EnsureTopics(t.Context(), cluster, topics...); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.cluster.PartitionInfos("a"); len(got) != 3 {
		t.Errorf("topic has %d partitions, want the 3 it was made with", len(got))
	}
}

func TestLimitsOfTopics(t *testing.T) {
	b := startEmbedded(t)
	cluster := kafka.Cluster{Brokers: []string{b.addr()}}
	set := func(name string) string {
		if v := b.cluster.TopicInfo("a").Configs[name]; v != nil {
			return *v
		}
		return ""
	}
	for _, topic := range []kafka.Topic{
		{Name: "a", Partitions: 1, Retention: time.Hour, InSync: 1},
		{Name: "a", Partitions: 1, Retention: time.Minute}, {Name: "a", Partitions: 1},
	} {
		if err := kafka.EnsureTopics(t.Context(), cluster, topic); err != nil {
			t.Fatal(err)
		}
		if topic.InSync > 0 && set("retention.ms") != "3600000" {
			t.Errorf("a new topic keeps records for %q ms", set("retention.ms"))
		}
		if err := kafka.LimitTopics(t.Context(), cluster, topic); err != nil {
			t.Fatal(err)
		}
	}
	if retention, inSync := set("retention.ms"), set("min.insync.replicas"); retention != "60000" || inSync != "1" {
		t.Errorf("retention.ms is %q, min.insync.replicas %q; want those that were named last", retention, inSync)
	}
	if err := kafka.LimitTopics(t.Context(), cluster, kafka.Topic{Name: "missing", Retention: time.Hour}); err == nil {
		t.Error("a topic that does not exist was limited")
	}
}

// TestARefusedRecordFailsAlone publishes to a topic with a smaller limit than the publisher's.
func TestARefusedRecordFailsAlone(t *testing.T) {
	b := startEmbedded(t)
	if err := b.cluster.CreateTopic("small", 1, nil); err != nil {
		t.Fatal(err)
	}
	pub, err := kafka.NewPublisher(kafka.PublisherConfig{Cluster: kafka.Cluster{Brokers: []string{b.addr()}},
		BatchBytes: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer pub.Close()
	const n = 40
	results := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		size := 10
		if i%4 == 0 {
			size = 2 << 20
		}
		all.Go(func() {
			results[i] = pub.Publish(t.Context(), bus.Message{Topic: "small", Key: []byte("k"), Value: make([]byte, size)})
		})
	}
	all.Wait()
	for i, err := range results {
		if large := i%4 == 0; large != fault.IsTerminal(err) || !large && err != nil {
			t.Errorf("record %d: got %v", i, err)
		}
	}
}
