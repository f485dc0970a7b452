package servers

import (
	"context"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/mneme-memory/mneme/local/process"
)

const (
	nameBroker        = "broker"
	roleKafka         = "kafka"
	defaultPartitions = 8
)

// BrokerOptions configure the embedded broker.
type BrokerOptions struct {
	process.Options
	// Partitions is the number of partitions of topics that clients create by name; 0 means 8. An existing topic keeps
	// its number.
	Partitions int
}

// Broker is a running single-node Kafka broker inside this process. It speaks the Kafka protocol with consumer
// groups, and it does not wait before a group's first rebalance. Kill cuts every connection at once, as the death of
// a broker does. But the process survives, so the broker loses no data; to test a loss, kill the process.
type Broker struct{ *process.Server }

// StartBroker starts the embedded broker on the directory. Every acknowledged message is on the disk and survives a
// kill -9 of this process.
func StartBroker(ctx context.Context, o BrokerOptions) (*Broker, error) {
	o, err := o.prepare()
	if err != nil {
		return nil, err
	}
	open := func(_ context.Context, p process.Ports, _ func(error)) (process.Execution, error) {
		return openBroker(o, p)
	}
	s, err := process.Start(ctx, nameBroker, o.Options, open, roleKafka)
	if err != nil {
		return nil, err
	}
	return &Broker{s}, nil
}

// Addr is the host:port of the broker.
func (b *Broker) Addr() string { return b.AddrOf(roleKafka) }

func (o BrokerOptions) prepare() (BrokerOptions, error) {
	if o.Partitions < 0 {
		return o, fmt.Errorf("local broker: %d partitions", o.Partitions)
	}
	if o.Partitions == 0 {
		o.Partitions = defaultPartitions
	}
	var err error
	o.Options, err = o.Prepare()
	return o, err
}

// fakeBroker is one execution of the embedded broker.
type fakeBroker struct {
	cluster *kfake.Cluster
	conns   *connections
}

func openBroker(o BrokerOptions, p process.Ports) (process.Execution, error) {
	b := &fakeBroker{conns: &connections{}}
	cluster, err := kfake.NewCluster(
		kfake.Ports(p[roleKafka]),
		kfake.ClusterID("local"),
		kfake.DataDir(filepath.Join(o.Dir, nameBroker)),
		kfake.SyncWrites(),
		kfake.AllowAutoTopicCreation(),
		kfake.DefaultNumPartitions(o.Partitions),
		kfake.ListenFn(b.conns.listen),
	)
	if err != nil {
		return nil, fmt.Errorf("open broker: %w", err)
	}
	b.cluster = cluster
	return b, nil
}

// Stop saves the data and closes the broker. Waiting requests (long polls) are cut.
func (b *fakeBroker) Stop(context.Context) error {
	b.cluster.Close()
	b.conns.cut()
	return nil
}

// Kill cuts the connections first, so that no further answer leaves the broker.
func (b *fakeBroker) Kill() error {
	b.conns.cut()
	b.cluster.Close()
	return nil
}

// connections records every open connection of a listener, so that all can be cut at once.
type connections struct {
	mu       sync.Mutex
	listener net.Listener
	open     map[net.Conn]struct{}
	closed   bool
}

// listen is net.Listen that records every accepted connection.
func (c *connections) listen(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listener, c.open = l, map[net.Conn]struct{}{}
	return &rememberingListener{Listener: l, conns: c}, nil
}

// cut closes the listener and all connections, including those accepted at this moment.
func (c *connections) cut() {
	c.mu.Lock()
	c.closed = true
	listener, open := c.listener, slices.Collect(maps.Keys(c.open))
	c.mu.Unlock()
	if listener != nil {
		_ = listener.Close()
	}
	for _, conn := range open {
		_ = conn.Close()
	}
}

// add records a connection. It returns false after the cut.
func (c *connections) add(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.open[conn] = struct{}{}
	}
	return !c.closed
}

func (c *connections) remove(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
}

type rememberingListener struct {
	net.Listener
	conns *connections
}

// Accept returns the next connection and records it until it is closed.
func (l *rememberingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	remembered := &rememberedConn{Conn: conn, conns: l.conns}
	if !l.conns.add(remembered) {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	return remembered, nil
}

type rememberedConn struct {
	net.Conn
	conns *connections
}

// Close closes the connection and removes the record.
func (c *rememberedConn) Close() error {
	c.conns.remove(c)
	return c.Conn.Close()
}
