package inmem

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mneme-memory/mneme/shared/bus"
)

// maxFetch bounds the records of one fetch.
const maxFetch = 100

// fetchWait is how long a fetch waits for records.
const fetchWait = 100 * time.Millisecond

// group is a consumer group. The broker's lock guards it.
type group struct {
	members   []*member
	committed map[bus.Partition]int64
	current   []*generation
}

// endGeneration revokes everything; the members join again.
func (g *group) endGeneration() {
	for _, gen := range g.current {
		gen.finish()
	}
	g.current = nil
}

// settled reports whether every member waits for the next generation.
func (g *group) settled() bool {
	return !slices.ContainsFunc(g.members, func(m *member) bool { return !m.waiting })
}

// Member is a membership in a group that tests can cut off.
type Member interface {
	bus.Source
	// Kill ends the membership as the death of its process would: nothing is committed or
	// announced by it any more, and the group moves on without it.
	Kill()
}

type member struct {
	broker  *Broker
	name    string
	topics  []string
	life    context.Context
	end     context.CancelFunc
	fromEnd bool
	ends    map[bus.Partition]int64 // where it began what the group has not committed, if fromEnd
	waiting bool
	mine    *generation // handed out and not released
	ready   *generation // assigned and not yet handed out
}

// Source returns a membership in a group that consumes topics.
func (b *Broker) Source(groupName string, topics ...string) Member {
	return b.member(groupName, topics)
}

// SourceFromEnd is Source, but where the group has committed nothing it begins at the end instead of at the oldest
// record.
func (b *Broker) SourceFromEnd(groupName string, topics ...string) Member {
	m := b.member(groupName, topics)
	m.fromEnd = true
	return m
}

func (b *Broker) member(groupName string, topics []string) *member {
	m := &member{broker: b, name: groupName, topics: topics, ends: make(map[bus.Partition]int64)}
	m.life, m.end = context.WithCancel(context.Background())
	return m
}

// start is the offset at which the member begins a partition. The broker's lock is held.
func (m *member) start(g *group, p bus.Partition) int64 {
	if next, ok := g.committed[p]; ok || !m.fromEnd {
		return next
	}
	if _, known := m.ends[p]; !known {
		m.ends[p] = int64(len(m.broker.topics[p.Topic][p.ID]))
	}
	return m.ends[p]
}

// Next waits until all members have come for the next generation, which is the barrier that
// keeps a partition from having two owners at work.
func (m *member) Next(ctx context.Context) (bus.Generation, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(m.life, func() { cancel(bus.ErrClosed) })()
	err := m.broker.await(ctx, func() bool { return m.life.Err() != nil || m.tryJoin() })
	if err != nil {
		m.broker.mu.Lock()
		m.waiting = false
		m.broker.mu.Unlock()
		return nil, fmt.Errorf("join group: %w", err)
	}
	defer m.broker.mu.Unlock()
	if m.life.Err() != nil {
		return nil, bus.ErrClosed
	}
	m.waiting = false
	m.mine, m.ready = m.ready, nil
	return m.mine, nil
}

func (m *member) tryJoin() bool {
	b := m.broker
	if m.mine != nil {
		return false
	}
	if m.ready != nil && m.ready.isDone() {
		m.ready = nil
	}
	if m.ready != nil {
		return true
	}
	if b.down || slices.ContainsFunc(m.topics, func(t string) bool { return b.topics[t] == nil }) {
		return false
	}
	g := b.groups[m.name]
	if g == nil {
		g = &group{committed: make(map[bus.Partition]int64)}
		b.groups[m.name] = g
	}
	if !slices.Contains(g.members, m) {
		g.members = append(g.members, m)
		g.endGeneration()
		b.notify()
	}
	if !m.waiting {
		m.waiting = true
		b.notify()
	}
	if !g.settled() {
		return false
	}
	b.assign(g)
	return true
}

// assign starts a generation: the partitions go round the members.
func (b *Broker) assign(g *group) {
	g.endGeneration()
	for _, m := range g.members {
		m.ready = &generation{member: m, group: g, done: make(chan struct{}), position: make(map[bus.Partition]int64)}
		g.current = append(g.current, m.ready)
	}
	var topics []string
	for _, m := range g.members {
		topics = append(topics, m.topics...)
	}
	slices.Sort(topics)
	turn := 0
	for _, topic := range slices.Compact(topics) {
		for id := range b.topics[topic] {
			for !slices.Contains(g.members[turn%len(g.members)].topics, topic) {
				turn++
			}
			gen := g.members[turn%len(g.members)].ready
			p := bus.Partition{Topic: topic, ID: id}
			gen.partitions = append(gen.partitions, p)
			gen.position[p] = gen.member.start(g, p)
			turn++
		}
	}
	b.notify()
}

// Close leaves.
func (m *member) Close() error {
	m.Kill()
	return nil
}

// Kill removes the member at once.
func (m *member) Kill() {
	m.end()
	b := m.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.mine != nil {
		m.mine.finish()
		m.mine = nil
	}
	g := b.groups[m.name]
	if g == nil || !slices.Contains(g.members, m) {
		return
	}
	g.members = slices.DeleteFunc(g.members, func(other *member) bool { return other == m })
	g.endGeneration()
	b.notify()
}

type generation struct {
	member     *member
	group      *group
	partitions []bus.Partition
	position   map[bus.Partition]int64
	done       chan struct{}
}

func (g *generation) isDone() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

// finish is called with the lock held.
func (g *generation) finish() {
	if !g.isDone() {
		close(g.done)
	}
}

// Partitions returns the assigned partitions.
func (g *generation) Partitions() []bus.Partition { return g.partitions }

// Done is closed at the end.
func (g *generation) Done() <-chan struct{} { return g.done }

// Fetch copies records out of the log.
func (g *generation) Fetch(ctx context.Context, p bus.Partition) (bus.Fetched, error) {
	wait, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	b := g.member.broker
	err := b.await(wait, func() bool {
		return g.isDone() || (!b.down && int(g.position[p]) < len(b.topics[p.Topic][p.ID]))
	})
	if err != nil {
		if ctx.Err() != nil {
			return bus.Fetched{}, ctx.Err()
		}
		b.mu.Lock()
	}
	defer b.mu.Unlock()
	if g.isDone() {
		return bus.Fetched{}, bus.ErrRevoked
	}
	log := b.topics[p.Topic][p.ID]
	got := bus.Fetched{End: int64(len(log))}
	g.position[p] = max(g.position[p], b.firsts[p])
	from := g.position[p]
	for _, m := range log[from:min(int(from)+maxFetch, len(log))] {
		got.Messages = append(got.Messages, withPlace(clone(m), p))
	}
	g.position[p] += int64(len(got.Messages))
	return got, nil
}

func withPlace(m bus.Message, p bus.Partition) bus.Message {
	m.Topic, m.Partition = p.Topic, p.ID
	return m
}

// End returns the length of the log.
func (g *generation) End(ctx context.Context, p bus.Partition) (int64, error) {
	b := g.member.broker
	if err := b.await(ctx, func() bool { return !b.down }); err != nil {
		return 0, fmt.Errorf("find end: %w", err)
	}
	defer b.mu.Unlock()
	return int64(len(b.topics[p.Topic][p.ID])), nil
}

// Commit stores offsets for the group.
func (g *generation) Commit(_ context.Context, offsets map[bus.Partition]int64) error {
	b := g.member.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	if g.isDone() {
		return bus.ErrRevoked
	}
	for p, next := range offsets {
		g.group.committed[p] = next
	}
	return nil
}

// Release lets the member come for the next generation. Releasing one that has not ended
// makes the group assign anew.
func (g *generation) Release() {
	b := g.member.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	if !g.isDone() {
		g.group.endGeneration()
	}
	if g.member.mine == g {
		g.member.mine = nil
	}
	b.notify()
}
