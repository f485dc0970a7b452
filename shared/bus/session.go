package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// session is the consumer's work on one generation.
type session struct {
	*Consumer
	gen   Generation
	parts map[Partition]*keyedWorkers
	// committed has the offsets of the last commits. Only the committing goroutine uses it.
	committed map[Partition]int64
	commits   outage
	outcomes  map[string]outcomes
}

func (c *Consumer) newSession(gen Generation) *session {
	s := &session{
		Consumer: c, gen: gen, parts: make(map[Partition]*keyedWorkers),
		committed: make(map[Partition]int64), outcomes: make(map[string]outcomes),
	}
	assigned := gen.Partitions()
	share := max(1, c.cfg.Workers/max(1, len(assigned)))
	for _, p := range assigned {
		s.parts[p] = newKeyedWorkers(c.cfg, share, s.deliver)
		s.outcomes[p.Topic] = newOutcomes(c.cfg.Group, p.Topic)
	}
	return s
}

// serve works on one generation until it ends or ctx is done.
func (c *Consumer) serve(ctx context.Context, gen Generation) error {
	s := c.newSession(gen)
	defer c.lag.clear()
	c.ins.log.InfoContext(ctx, "consumer generation started",
		slog.String("group", c.cfg.Group), slog.Int("partitions", len(s.parts)))

	// work stays alive after ctx is done, while the delivered records finish. It ends with the generation.
	work, stopWork := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopWork(nil)
	fetching, stopFetching := context.WithCancel(ctx)
	defer stopFetching()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-gen.Done():
			stopWork(ErrRevoked)
			stopFetching()
		case <-work.Done():
		}
	}()
	var background sync.WaitGroup
	for p, l := range s.parts {
		background.Go(func() { s.fetch(fetching, work, p, l) })
	}
	background.Go(func() { s.commitLoop(fetching) })
	background.Go(func() { s.lagLoop(fetching) })
	<-fetching.Done()
	background.Wait()
	err := s.drain(work, stopWork)
	<-ended
	return err
}

// fetch moves the records of one partition into its keyed workers until ctx is done.
func (s *session) fetch(ctx, work context.Context, p Partition, l *keyedWorkers) {
	var failing outage
	place := []any{slog.String("topic", p.Topic), slog.Int("partition", p.ID)}
	for ctx.Err() == nil {
		got, err := s.gen.Fetch(ctx, p)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, ErrRevoked) {
				failing.failed(ctx, s.ins.log, "fetch", append(place[:2:2], slog.Any("error", err))...)
			}
			Pause(ctx, s.cfg.RedeliverDelay)
			continue
		}
		failing.repaired(ctx, s.ins.log, "fetch", place[:2:2]...)
		s.lag.end(p, got.End)
		if len(got.Messages) > 0 {
			s.lag.start(p, got.Messages[0].Offset)
		} else {
			s.lag.start(p, got.End)
		}
		for _, m := range got.Messages {
			if !l.admit(ctx, work, m) {
				return
			}
		}
	}
}

// deliver runs the handler until the batch is finished. It returns false when ctx is done before. After an error
// from the whole chain it delivers the batch again. So no record is lost even in a chain without retries.
func (s *session) deliver(ctx context.Context, batch []Message) bool {
	for {
		began := time.Now()
		err := s.handler(ctx, batch)
		s.ins.processed(ctx, s.outcomes[batch[0].Topic], batch, time.Since(began), err)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		s.ins.log.ErrorContext(ctx, "redelivering the batch", batchAttrs(batch, slog.Any("error", err))...)
		if !Pause(ctx, s.cfg.RedeliverDelay) {
			return false
		}
	}
}

// drain waits for the delivered work, with a limit, and commits it.
func (s *session) drain(work context.Context, stopWork context.CancelCauseFunc) error {
	for _, l := range s.parts {
		l.flush(work)
	}
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		for _, l := range s.parts {
			<-l.idle()
		}
	}()
	timer := time.NewTimer(s.cfg.DrainTimeout)
	defer timer.Stop()
	select {
	case <-idle:
	case <-work.Done():
	case <-timer.C:
		stopWork(context.DeadlineExceeded)
	}
	s.commit()
	stopped := time.NewTimer(s.cfg.StopTimeout)
	defer stopped.Stop()
	stopWork(nil)
	select {
	case <-idle:
		s.commit()
		return nil
	case <-stopped.C:
		s.ins.log.Error("handlers ignore that their context is done", slog.String("group", s.cfg.Group))
		return fmt.Errorf("stop handlers of group %s: still running after %v", s.cfg.Group, s.cfg.StopTimeout)
	}
}

func (s *session) commitLoop(ctx context.Context) {
	tick := time.NewTicker(s.cfg.CommitInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.commit()
		}
	}
}

// commit stores every prefix that has grown. A failure is no error: the next commit stores the same or more. An
// uncommitted record is delivered again.
func (s *session) commit() {
	offsets := make(map[Partition]int64)
	for p, l := range s.parts {
		next, ok := l.next()
		if !ok {
			continue
		}
		s.lag.next(p, next)
		if stored, ok := s.committed[p]; !ok || next > stored {
			offsets[p] = next
		}
	}
	if len(offsets) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.StopTimeout)
	defer cancel()
	if err := s.gen.Commit(ctx, offsets); err != nil {
		if !errors.Is(err, ErrRevoked) {
			s.commits.failed(ctx, s.ins.log, "commit", slog.String("group", s.cfg.Group), slog.Any("error", err))
		}
		return
	}
	s.commits.repaired(ctx, s.ins.log, "commit", slog.String("group", s.cfg.Group))
	maps.Copy(s.committed, offsets)
}

// lagLoop reads the ends of the partitions. A stalled partition is not fetched, and its lag must still show.
func (s *session) lagLoop(ctx context.Context) {
	tick := time.NewTicker(s.cfg.LagInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for p := range s.parts {
			// An error also occurs in the fetches, which report it.
			if end, err := s.gen.End(ctx, p); err == nil {
				s.lag.end(p, end)
			}
		}
	}
}
