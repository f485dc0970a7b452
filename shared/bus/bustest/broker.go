package bustest

import (
	"context"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/kafka"
)

// Broker is an embedded Kafka broker for tests of users of the bus. It ends with the test, as do its publishers and
// logs.
type Broker struct {
	t       testing.TB
	cluster kafka.Cluster
}

// StartBroker starts a broker with topics of that number of partitions.
func StartBroker(t testing.TB, partitions int, topics ...string) *Broker {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1),
		kfake.SeedTopics(int32(partitions), topics...)) //nolint:gosec // a few
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	return &Broker{t, kafka.Cluster{Brokers: fake.ListenAddrs()}}
}

// Addr is the broker's address.
func (b *Broker) Addr() string { return b.cluster.Brokers[0] }

// Publisher returns a publisher.
func (b *Broker) Publisher() bus.Publisher {
	b.t.Helper()
	pub, err := kafka.NewPublisher(kafka.PublisherConfig{Cluster: b.cluster})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = pub.Close() })
	return pub
}

// Source returns a membership in a group. The consumer closes it.
func (b *Broker) Source(group string, topics ...string) bus.Source {
	b.t.Helper()
	src, err := kafka.NewSource(kafka.SourceConfig{
		Cluster: b.cluster, Group: group, Topics: topics, Heartbeat: 100 * time.Millisecond, MaxWait: 100 * time.Millisecond,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return src
}

// Log returns a topic as a log.
func (b *Broker) Log(topic string) bus.Log {
	b.t.Helper()
	l, err := kafka.NewLog(b.cluster, topic)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = l.Close() })
	return l
}

// Committed returns the offset that a group has committed, or -1.
func (b *Broker) Committed(group string, p bus.Partition) int64 {
	return Committed(b.t, b.cluster.Brokers[0], group, p)
}

// Committed returns the offset that a group has committed on the broker at addr, or -1.
func Committed(t testing.TB, addr, group string, p bus.Partition) int64 {
	transport := new(kafkago.Transport)
	defer transport.CloseIdleConnections()
	client := &kafkago.Client{Addr: kafkago.TCP(addr), Transport: transport}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	res, err := client.OffsetFetch(ctx, &kafkago.OffsetFetchRequest{GroupID: group,
		Topics: map[string][]int{p.Topic: {p.ID}}})
	if err != nil {
		t.Logf("fetch offsets: %v", err)
		return -1
	}
	for _, o := range res.Topics[p.Topic] {
		if o.Partition == p.ID && o.Error == nil {
			return o.CommittedOffset
		}
	}
	return -1
}

// Offsets returns the reader of a group's offsets in a topic.
func (b *Broker) Offsets(group, topic string) *kafka.Offsets {
	b.t.Helper()
	o, err := kafka.NewOffsets(b.cluster, group, topic)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = o.Close() })
	return o
}
