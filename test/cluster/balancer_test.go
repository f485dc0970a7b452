//go:build cluster

package cluster_test

import (
	"io"
	"net"
	"slices"
	"sync"
	"testing"
)

// balancer acts like a Service: one address that sends each new connection to the next endpoint. It handles
// connections, not requests. An open connection stays with its endpoint after the endpoint is withdrawn, and the
// balancer never retries.
type balancer struct {
	listener net.Listener
	serving  sync.WaitGroup

	mu        sync.Mutex
	endpoints []string
	next      int
	open      map[net.Conn]bool
	closed    bool
}

func newBalancer(t *testing.T) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{listener: l, open: map[net.Conn]bool{}}
	b.serving.Go(b.serve)
	t.Cleanup(b.close)
	return b
}

func (b *balancer) addr() string { return b.listener.Addr().String() }

func (b *balancer) url() string { return "http://" + b.addr() }

// add lets an endpoint receive new connections.
func (b *balancer) add(endpoint string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.endpoints, endpoint) {
		b.endpoints = append(b.endpoints, endpoint)
	}
}

// withdraw stops new connections to an endpoint.
func (b *balancer) withdraw(endpoint string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endpoints = slices.DeleteFunc(b.endpoints, func(e string) bool { return e == endpoint })
}

func (b *balancer) serve() {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			return // closed
		}
		b.serving.Go(func() { b.connect(client) })
	}
}

// connect carries one connection to its end. It closes a connection without an endpoint, or with an endpoint that
// does not answer.
func (b *balancer) connect(client net.Conn) {
	defer b.forget(client)
	endpoint := b.pick()
	if endpoint == "" || !b.keep(client) {
		return
	}
	server, err := net.Dial("tcp", endpoint)
	if err != nil {
		return
	}
	defer b.forget(server)
	if !b.keep(server) {
		return
	}
	var both sync.WaitGroup
	carry := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // ends when either side has ended
		_ = to.(*net.TCPConn).CloseWrite()
	}
	both.Go(func() { carry(server, client) })
	both.Go(func() { carry(client, server) })
	both.Wait()
}

func (b *balancer) pick() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.endpoints) == 0 {
		return ""
	}
	b.next++
	return b.endpoints[b.next%len(b.endpoints)]
}

func (b *balancer) keep(c net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[c] = true
	return !b.closed
}

func (b *balancer) forget(c net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, c)
	_ = c.Close()
}

func (b *balancer) close() {
	b.mu.Lock()
	b.closed = true
	_ = b.listener.Close()
	for c := range b.open {
		_ = c.Close()
	}
	b.mu.Unlock()
	b.serving.Wait()
}
