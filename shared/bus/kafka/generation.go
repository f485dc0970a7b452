package kafka

import (
	"context"
	"fmt"
	"sync"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/mneme-memory/mneme/shared/bus"
)

// generation wraps kafka-go's generation. It prevents kafka-go from joining again until Release. So the group waits
// (up to its rebalance timeout) for the work to stop before a partition moves.
type generation struct {
	source     *source
	gen        *kafkago.Generation
	partitions []bus.Partition
	readers    map[bus.Partition]*reader

	done     chan struct{} // closed when the generation has ended
	released chan struct{} // closed by Release
	release  sync.Once
}

func newGeneration(s *source, gen *kafkago.Generation) *generation {
	g := &generation{
		source: s, gen: gen, readers: make(map[bus.Partition]*reader),
		done: make(chan struct{}), released: make(chan struct{}),
	}
	dialer := s.cfg.Cluster.dialer(s.net.dial)
	for topic, assignments := range gen.Assignments {
		for _, a := range assignments {
			p := bus.Partition{Topic: topic, ID: a.ID}
			g.partitions = append(g.partitions, p)
			g.readers[p] = &reader{partition: p, cfg: s.cfg, dialer: dialer, starts: s.starts, next: a.Offset}
		}
	}
	gen.Start(func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-g.released:
		}
		close(g.done)
		<-g.released
	})
	return g
}

// Partitions returns the assigned partitions.
func (g *generation) Partitions() []bus.Partition { return g.partitions }

// Done is closed at the end.
func (g *generation) Done() <-chan struct{} { return g.done }

// Fetch reads the next records.
func (g *generation) Fetch(ctx context.Context, p bus.Partition) (bus.Fetched, error) {
	r, ok := g.readers[p]
	if !ok {
		return bus.Fetched{}, fmt.Errorf("fetch %s/%d: %w", p.Topic, p.ID, bus.ErrRevoked)
	}
	select {
	case <-g.done:
		return bus.Fetched{}, bus.ErrRevoked
	default:
	}
	return r.fetch(ctx)
}

// End asks the partition's leader.
func (g *generation) End(ctx context.Context, p bus.Partition) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	res, err := g.source.client.ListOffsets(ctx, &kafkago.ListOffsetsRequest{
		Topics:         map[string][]kafkago.OffsetRequest{p.Topic: {kafkago.LastOffsetOf(p.ID)}},
		IsolationLevel: kafkago.ReadCommitted,
	})
	if err != nil {
		return 0, fmt.Errorf("list offsets: %w", err)
	}
	for _, o := range res.Topics[p.Topic] {
		if o.Partition == p.ID {
			return o.LastOffset, o.Error
		}
	}
	return 0, fmt.Errorf("list offsets: no answer for %s/%d", p.Topic, p.ID)
}

// Commit has the limit of kafka-go's own deadline, and ctx bounds the wait for it. The broker refuses the commit of
// a replaced generation. That is a revocation too.
func (g *generation) Commit(ctx context.Context, offsets map[bus.Partition]int64) error {
	select {
	case <-g.done:
		return bus.ErrRevoked
	default:
	}
	byTopic := make(map[string]map[int]int64)
	for p, next := range offsets {
		if byTopic[p.Topic] == nil {
			byTopic[p.Topic] = make(map[int]int64)
		}
		byTopic[p.Topic][p.ID] = next
	}
	result := make(chan error, 1)
	go func() { result <- g.gen.CommitOffsets(byTopic) }()
	select {
	case <-ctx.Done():
		return fmt.Errorf("commit offsets: %w", ctx.Err())
	case err := <-result:
		return commitError(err)
	}
}

func commitError(err error) error {
	switch {
	case err == nil:
		return nil
	case isOneOf(err, kafkago.IllegalGeneration, kafkago.UnknownMemberId, kafkago.RebalanceInProgress):
		return bus.ErrRevoked
	}
	return fmt.Errorf("commit offsets: %w", err)
}

// Release lets kafka-go join again.
func (g *generation) Release() {
	g.release.Do(func() {
		close(g.released)
		for _, r := range g.readers {
			r.close()
		}
	})
	<-g.done
}
