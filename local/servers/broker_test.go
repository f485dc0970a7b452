package servers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/mneme-memory/mneme/local/servers"
)

const topic = "events"

// produce writes messages one by one and waits for every acknowledgement.
func produce(ctx context.Context, t *testing.T, addr string, values ...string) {
	t.Helper()
	transport := &kafka.Transport{}
	w := &kafka.Writer{
		Addr: kafka.TCP(addr), Topic: topic, Balancer: kafka.Murmur2Balancer{}, RequiredAcks: kafka.RequireAll,
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

// consume reads n values as a group member and commits them.
func consume(ctx context.Context, t *testing.T, addr string, n int) map[string]int {
	t.Helper()
	r := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{addr}, GroupID: "group", Topic: topic, StartOffset: kafka.FirstOffset,
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

func countPartitions(ctx context.Context, t *testing.T, addr, topic string) int {
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

func values(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return all
}

func mustHaveEach(t *testing.T, got map[string]int, want []string) {
	t.Helper()
	for _, v := range want {
		if got[v] != 1 {
			t.Errorf("%q was read %d times, want once", v, got[v])
		}
	}
}

func TestBrokerKeepsMessagesAndCommitsOverKillAndStop(t *testing.T) {
	ctx := testContext(t)
	b, err := servers.StartBroker(ctx, servers.BrokerOptions{
		Options: servers.Options{Dir: t.TempDir()}, Partitions: 3, Topics: []string{topic},
	})
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, b)
	addr := b.Addr()

	first := values("a", 20)
	produce(ctx, t, addr, first...)
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	mustEnd(ctx, t, b)
	if err := refused(addr); err != nil {
		t.Error(err)
	}
	if err := b.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if b.Addr() != addr {
		t.Errorf("address %s, before %s", b.Addr(), addr)
	}
	mustHaveEach(t, consume(ctx, t, addr, len(first)), first)

	second := values("b", 20)
	produce(ctx, t, addr, second...)
	if err := b.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if err := b.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	mustHaveEach(t, consume(ctx, t, addr, len(second)), second)
	if got := countPartitions(ctx, t, addr, topic); got != 3 {
		t.Errorf("%d partitions, want 3", got)
	}
}

func TestBrokerKeepsAcknowledgedMessagesWhenItsProcessIsKilled(t *testing.T) {
	ctx := testContext(t)
	dir := t.TempDir()
	p := startParent(t, "broker", dir)
	want := values("v", 50)
	produce(ctx, t, p.addr, want...)
	p.kill()

	b, err := servers.StartBroker(ctx, servers.BrokerOptions{
		Options: servers.Options{Dir: dir}, Topics: []string{topic, "later"},
	})
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, b)
	if b.Addr() != p.addr {
		t.Errorf("address %s, before %s", b.Addr(), p.addr)
	}
	mustHaveEach(t, consume(ctx, t, b.Addr(), len(want)), want)
	if got := countPartitions(ctx, t, b.Addr(), "later"); got != 8 {
		t.Errorf("a topic added on a used directory has %d partitions, want 8", got)
	}
}
