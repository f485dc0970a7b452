package servertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

// Topic is the topic of [Produce] and [Consume].
const Topic = "events"

// CreateTopic creates a topic with the broker's own number of partitions.
func CreateTopic(ctx context.Context, t *testing.T, addr, topic string) {
	t.Helper()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(addr), Transport: transport}
	answer, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: topic, NumPartitions: -1, ReplicationFactor: -1}},
	})
	if err == nil {
		err = answer.Errors[topic]
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Partitions returns the number of a topic's partitions.
func Partitions(ctx context.Context, t *testing.T, addr, topic string) int {
	t.Helper()
	conn, err := kafka.DialContext(ctx, "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	partitions, err := conn.ReadPartitions(topic)
	if err != nil {
		t.Fatal(err)
	}
	return len(partitions)
}

// Produce writes messages one by one and waits for every acknowledgement.
func Produce(ctx context.Context, t *testing.T, addr string, values ...string) {
	t.Helper()
	transport := &kafka.Transport{}
	w := &kafka.Writer{
		Addr: kafka.TCP(addr), Topic: Topic, Balancer: kafka.Murmur2Balancer{}, RequiredAcks: kafka.RequireAll,
		BatchSize: 1, BatchTimeout: time.Millisecond, Transport: transport,
	}
	for _, v := range values {
		if err := w.WriteMessages(ctx, kafka.Message{Key: []byte(v), Value: []byte(v)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	transport.CloseIdleConnections()
}

// Consume reads n values as a group member and commits them. It counts each value.
func Consume(ctx context.Context, t *testing.T, addr string, n int) map[string]int {
	t.Helper()
	r := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{addr}, GroupID: "group", Topic: Topic, StartOffset: kafka.FirstOffset,
		MaxWait: 50 * time.Millisecond, MinBytes: 1, MaxBytes: 1 << 20, JoinGroupBackoff: 100 * time.Millisecond,
	})
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	got := map[string]int{}
	for seen := 0; seen < n; seen++ {
		m, err := r.FetchMessage(ctx)
		var passing kafka.Error
		if errors.As(err, &passing) && passing.Temporary() && ctx.Err() == nil {
			seen-- // a new broker does not coordinate the group yet; the reader retries
			continue
		}
		if err != nil {
			t.Fatalf("after %d of %d messages: %v", len(got), n, err)
		}
		got[string(m.Value)]++
		if err := r.CommitMessages(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
	return got
}

// Values returns n different values.
func Values(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return all
}

// MustHaveEach checks that each value was read once.
func MustHaveEach(t *testing.T, got map[string]int, want []string) {
	t.Helper()
	for _, v := range want {
		if got[v] != 1 {
			t.Errorf("%q was read %d times, want once", v, got[v])
		}
	}
}
