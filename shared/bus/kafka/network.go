package kafka

import (
	"context"
	"net"
	"sync"
)

// network tracks the connections of a source, so that they can be cut.
type network struct {
	connect func(context.Context, string, string) (net.Conn, error)
	alive   context.Context
	kill    context.CancelFunc
	mu      sync.Mutex
	conns   map[net.Conn]struct{}
}

func newNetwork(connect func(context.Context, string, string) (net.Conn, error)) *network {
	n := &network{connect: connect, conns: make(map[net.Conn]struct{})}
	n.alive, n.kill = context.WithCancel(context.Background())
	return n
}

func (n *network) dial(ctx context.Context, proto, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.alive, cancel)()
	c, err := n.connect(ctx, proto, address)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.alive.Err() != nil {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	t := &trackedConn{Conn: c, network: n}
	n.conns[t] = struct{}{}
	return t, nil
}

// cut closes every connection and refuses new ones.
func (n *network) cut() {
	n.mu.Lock()
	n.kill()
	conns := n.conns
	n.conns = make(map[net.Conn]struct{})
	n.mu.Unlock()
	for c := range conns {
		_ = c.Close()
	}
}

type trackedConn struct {
	net.Conn
	network *network
}

// Close closes the connection and removes it from the table.
func (c *trackedConn) Close() error {
	c.network.mu.Lock()
	delete(c.network.conns, c)
	c.network.mu.Unlock()
	return c.Conn.Close()
}
