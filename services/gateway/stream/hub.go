package stream

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/changeevent"
	"github.com/mneme-memory/mneme/shared/memory"
)

const (
	// idle is the pause before a partition without news is read again, where the log itself did not wait.
	idle = 20 * time.Millisecond
	// failedPause is the pause after the bus has failed.
	failedPause = 500 * time.Millisecond
	// partitionsInterval is how often the hub looks for new partitions.
	partitionsInterval = 30 * time.Second
	// logInterval is how often a failing bus is logged at most.
	logInterval = 10 * time.Second
)

// item is an event for a client, or a gap before offset+1.
type item struct {
	partition int
	offset    int64
	scope     memory.Scope
	// frame are the lines of the event after its id.
	frame []byte
}

// client is an open stream, as the hub knows it.
type client struct {
	// scope selects the client's events. Without a user it selects the events of the whole tenant.
	scope memory.Scope
	// partition has the events of a client with a user.
	partition int
	queue     chan item
	// cut is closed when the queue was full.
	cut chan struct{}
}

func (c *client) ofTenant() bool { return c.scope.User == "" }

// hub reads the topic once for all clients, each partition in its order.
type hub struct {
	changes bus.Log
	log     *slog.Logger
	// ready is closed once the start of each partition is known. done is closed once the hub has ended.
	ready, done chan struct{}

	mu       sync.Mutex
	next     position // position of the next event
	clients  map[memory.Scope]map[*client]struct{}
	loggedAt time.Time
}

func newHub(changes bus.Log, log *slog.Logger) *hub {
	return &hub{
		changes: changes, log: log, ready: make(chan struct{}), done: make(chan struct{}), next: position{},
		clients: map[memory.Scope]map[*client]struct{}{},
	}
}

// run reads from the current end of the partitions until ctx ends. It reads partitions added later from their
// beginning.
func (h *hub) run(ctx context.Context) error {
	var tails sync.WaitGroup
	defer close(h.done)
	defer tails.Wait()
	reading := map[int]bool{}
	started := false
	for ctx.Err() == nil {
		complete := h.look(ctx, started, func(partition int) {
			if !reading[partition] {
				reading[partition] = true
				tails.Go(func() { h.tail(ctx, partition) })
			}
		})
		if complete && !started {
			started = true
			close(h.ready)
		}
		if complete {
			bus.Pause(ctx, partitionsInterval)
		} else {
			bus.Pause(ctx, failedPause)
		}
	}
	return nil
}

// look begins partitions that are not read yet. It reports whether all are.
func (h *hub) look(ctx context.Context, started bool, begin func(partition int)) bool {
	partitions, err := h.changes.Partitions(ctx)
	if err != nil {
		h.failed(ctx, err)
		return false
	}
	for _, p := range partitions {
		if _, known := h.nextOffset(p); !known {
			first, end, err := h.changes.Bounds(ctx, p)
			if err != nil {
				h.failed(ctx, err)
				return false
			}
			if !started {
				first = end
			}
			h.mu.Lock()
			h.next[p] = first
			h.mu.Unlock()
		}
		begin(p)
	}
	return true
}

func (h *hub) nextOffset(partition int) (int64, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	next, known := h.next[partition]
	return next, known
}

// failed logs that the bus has failed, not each time.
func (h *hub) failed(ctx context.Context, err error) {
	h.mu.Lock()
	now := time.Now()
	quiet := ctx.Err() != nil || now.Sub(h.loggedAt) < logInterval
	if !quiet {
		h.loggedAt = now
	}
	h.mu.Unlock()
	if !quiet {
		h.log.WarnContext(ctx, "streams: cannot read memory changes, retrying", "error", err)
	}
}

// tail distributes the new records of a partition.
func (h *hub) tail(ctx context.Context, partition int) {
	for ctx.Err() == nil {
		at, _ := h.nextOffset(partition)
		msgs, next, err := h.changes.Read(ctx, partition, at)
		switch {
		case err != nil:
			if !h.skipLost(ctx, partition, at) {
				h.failed(ctx, err)
				bus.Pause(ctx, failedPause)
			}
		case len(msgs) == 0 && next == at:
			bus.Pause(ctx, idle)
		default:
			h.broadcast(ctx, partition, msgs, next)
		}
	}
}

// skipLost reports whether the log no longer has an offset. It then continues at the oldest record, and sends the gap
// to clients.
func (h *hub) skipLost(ctx context.Context, partition int, at int64) bool {
	first, end, err := h.changes.Bounds(ctx, partition)
	if err != nil || at >= first && at <= end {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next[partition] = first
	gap := item{partition: partition, offset: first - 1, frame: gapFrame(gapRetention)}
	for _, clients := range h.clients {
		for c := range clients {
			if c.ofTenant() || c.partition == partition {
				h.enqueue(c, gap)
			}
		}
	}
	return true
}

// broadcast sends records of a partition to the clients with a matching scope.
func (h *hub) broadcast(ctx context.Context, partition int, msgs []bus.Message, next int64) {
	items := make([]item, 0, len(msgs))
	for _, m := range msgs {
		if it, ok := h.itemOf(ctx, m); ok {
			items = append(items, it)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, it := range items {
		for _, scope := range []memory.Scope{it.scope, {Tenant: it.scope.Tenant}} {
			for c := range h.clients[scope] {
				h.enqueue(c, it)
			}
		}
	}
	h.next[partition] = next
}

// itemOf returns the item of a record. A record that is not a memory change has no item. Every other consumer
// reports such a record.
func (h *hub) itemOf(ctx context.Context, m bus.Message) (item, bool) {
	e, ok, err := changeevent.Of(m.Key, m.Value)
	if err != nil {
		h.log.WarnContext(ctx, "streams: a record is not a memory change", "partition", m.Partition, "offset", m.Offset,
			"error", err)
	}
	return item{partition: m.Partition, offset: m.Offset, scope: e.Scope, frame: frame(string(e.Type), e.Data)},
		ok && err == nil
}

// enqueue never waits. It cuts off a client with a full queue. The caller holds h.mu.
func (h *hub) enqueue(c *client, it item) {
	select {
	case c.queue <- it:
	default:
		h.remove(c)
		close(c.cut)
	}
}

// join adds a client, and returns the position of its first event.
func (h *hub) join(c *client) position {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.clients[c.scope] == nil {
		h.clients[c.scope] = map[*client]struct{}{}
	}
	h.clients[c.scope][c] = struct{}{}
	return h.position(c)
}

// leave removes a client.
func (h *hub) leave(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(c)
}

func (h *hub) remove(c *client) {
	delete(h.clients[c.scope], c)
	if len(h.clients[c.scope]) == 0 {
		delete(h.clients, c.scope)
	}
}

// passed returns how far the hub is where the client has been handed, and has taken, everything before; else nil.
func (h *hub) passed(c *client) position {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(c.queue) > 0 {
		return nil
	}
	return h.position(c)
}

// here is how far the hub is in the partitions of a client.
func (h *hub) here(c *client) position {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.position(c)
}

func (h *hub) position(c *client) position {
	if c.ofTenant() {
		return maps.Clone(h.next)
	}
	return position{c.partition: h.next[c.partition]}
}
