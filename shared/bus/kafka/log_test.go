package kafka_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/kafka"
)

// TestLogFollowsTheLeader moves a partition to another broker after the client has learned its leader.
func TestLogFollowsTheLeader(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(2), kfake.SeedTopics(1, "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	cluster := kafka.Cluster{Brokers: c.ListenAddrs()}
	p, err := kafka.NewPublisher(kafka.PublisherConfig{Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := p.Publish(t.Context(), bus.Message{Topic: "log", Key: []byte("k"), Value: []byte("v")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := kafka.NewLog(cluster, "log")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	move := func() {
		to := int32(0)
		if c.LeaderFor("log", 0) == 0 {
			to = 1
		}
		if err := c.MoveTopicPartition("log", 0, to); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := l.Bounds(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	move()
	if first, end, err := l.Bounds(t.Context(), 0); err != nil || first != 0 || end != 3 {
		t.Errorf("bounds are %d and %d, error %v", first, end, err)
	}
	move()
	if msgs, next, err := l.Read(t.Context(), 0, 0); err != nil || len(msgs) != 3 || next != 3 {
		t.Errorf("read %d records up to %d, error %v", len(msgs), next, err)
	}
	move()
	if err := l.Cut(t.Context(), 0, 2); err != nil {
		t.Error(err)
	}
	if first, _, err := l.Bounds(t.Context(), 0); err != nil || first != 2 {
		t.Errorf("the first is %d, error %v", first, err)
	}
}
