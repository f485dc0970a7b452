package kafka_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/kafka"
	"github.com/mneme-memory/mneme/shared/fault"
)

// patience bounds waits that must not hang. It is far above the promised limits.
const patience = 30 * time.Second

// mute accepts connections and never answers, like a broker that hangs.
func mute(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var conns []net.Conn
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-stopped
		mu.Lock()
		defer mu.Unlock()
		for _, c := range conns {
			_ = c.Close()
		}
	})
	return l.Addr().String()
}

// refusing is an address without a listener.
func refusing(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func bounded(t *testing.T, what string, f func() error) error {
	t.Helper()
	result := make(chan error, 1)
	go func() { result <- f() }()
	select {
	case err := <-result:
		return err
	case <-time.After(patience):
		t.Fatalf("%s hangs", what)
		return nil
	}
}

func TestNothingHangsWithoutABroker(t *testing.T) {
	for name, addr := range map[string]string{"mute": mute(t), "refusing": refusing(t)} {
		t.Run(name, func(t *testing.T) {
			cluster := kafka.Cluster{Brokers: []string{addr}}
			pub, err := kafka.NewPublisher(kafka.PublisherConfig{Cluster: cluster})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			m := bus.Message{Topic: "t", Key: []byte("k")}
			err = bounded(t, "Publish", func() error { return pub.Publish(ctx, m) })
			if !errors.Is(err, context.DeadlineExceeded) || fault.IsTerminal(err) {
				t.Errorf("Publish returned %v", err)
			}
			pending := make(chan error, 1)
			go func() { pending <- pub.Publish(context.Background(), m) }()
			if err := bounded(t, "Close of the publisher", pub.Close); err != nil {
				t.Error(err)
			}
			if err := bounded(t, "Publish during Close", func() error { return <-pending }); !errors.Is(err, bus.ErrClosed) {
				t.Errorf("Publish under way returned %v", err)
			}
			if err := pub.Publish(t.Context(), m); !errors.Is(err, bus.ErrClosed) {
				t.Errorf("Publish after Close returned %v", err)
			}
			src, err := kafka.NewSource(kafka.SourceConfig{Cluster: cluster, Group: "g", Topics: []string{"t"}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := bounded(t, "Next", func() error {
				_, err := src.Next(ctx)
				return err
			}); err == nil || fault.IsTerminal(err) {
				t.Errorf("Next returned %v", err)
			}
			if err := bounded(t, "Close of the source", src.Close); err != nil {
				t.Error(err)
			}
			if _, err := src.Next(t.Context()); !errors.Is(err, bus.ErrClosed) {
				t.Errorf("Next after Close returned %v", err)
			}
		})
	}
}

// stall is between a client and a broker, and can stop the answers.
type stall struct {
	mu      sync.Mutex
	stalled bool
}

type stalledConn struct {
	net.Conn
	stall *stall
}

func (s *stall) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &stalledConn{Conn: c, stall: s}, nil
}

func (s *stall) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled = true
}

// Write swallows requests while stalled: no answer will come.
func (c *stalledConn) Write(b []byte) (int, error) {
	c.stall.mu.Lock()
	defer c.stall.mu.Unlock()
	if c.stall.stalled {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func TestLeavingIsBoundedWhenTheBrokerFallsSilent(t *testing.T) {
	b := startEmbedded(t)
	s := new(stall)
	if err := kafka.EnsureTopics(t.Context(), kafka.Cluster{Brokers: []string{b.addr()}},
		kafka.Topic{Name: "t", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	src, err := kafka.NewSource(kafka.SourceConfig{
		Cluster: kafka.Cluster{Brokers: []string{b.addr()}, Dial: s.dial}, Group: "g", Topics: []string{"t"},
		CloseTimeout: 50 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	gen, err := src.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.begin()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	p := bus.Partition{Topic: "t"}
	if err := bounded(t, "Commit", func() error { return gen.Commit(ctx, map[bus.Partition]int64{p: 0}) }); err == nil {
		t.Error("Commit succeeded without an answer")
	}
	if err := bounded(t, "Close", src.Close); err == nil {
		t.Error("Close does not tell that the group has not answered")
	}
	if err := gen.Commit(t.Context(), map[bus.Partition]int64{p: 0}); !errors.Is(err, bus.ErrRevoked) {
		t.Errorf("Commit after Close returned %v", err)
	}
}

func TestInvalidConfigurationsAreTerminal(t *testing.T) {
	good := kafka.Cluster{Brokers: []string{"127.0.0.1:9092"}}
	source := func(c kafka.SourceConfig) error { _, err := kafka.NewSource(c); return err }
	publisher := func(c kafka.PublisherConfig) error { _, err := kafka.NewPublisher(c); return err }
	for name, err := range map[string]error{
		"no brokers":       source(kafka.SourceConfig{Group: "g", Topics: []string{"t"}}),
		"a bad address":    publisher(kafka.PublisherConfig{Cluster: kafka.Cluster{Brokers: []string{"nowhere"}}}),
		"no topics":        source(kafka.SourceConfig{Cluster: good, Group: "g"}),
		"an empty topic":   source(kafka.SourceConfig{Cluster: good, Group: "g", Topics: []string{""}}),
		"no group":         source(kafka.SourceConfig{Cluster: good, Topics: []string{"t"}}),
		"no partitions":    kafka.EnsureTopics(t.Context(), good, kafka.Topic{Name: "t"}),
		"nobody to ensure": kafka.EnsureTopics(t.Context(), kafka.Cluster{}, kafka.Topic{Name: "t", Partitions: 1}),
	} {
		if !fault.IsTerminal(err) {
			t.Errorf("%s: got %v, want a terminal error", name, err)
		}
	}
}
