package bustest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/mneme-memory/mneme/shared/bus"
)

// hold returns a handler that passes values below limit to rec and blocks the others.
func hold(rec *recorder, limit int) bus.Handler {
	return func(ctx context.Context, batch []bus.Message) error {
		for _, m := range batch {
			var n int
			if _, err := fmt.Sscan(string(m.Value), &n); err != nil {
				return err
			}
			if n >= limit {
				<-ctx.Done()
				return ctx.Err()
			}
		}
		return rec.handle(ctx, batch)
	}
}

func crash(r *fixture) {
	r.tr.CreateTopic(r, r.topic, 1)
	before, after := new(recorder), new(recorder)
	first := r.consume(hold(before, 5))
	r.publish(r.numbered(10, 10)...)
	r.committedReaches(0, 5)
	first.die()
	r.consume(after.handle)
	r.eventually("the rest is delivered", func() bool { return len(after.values()) == 5 })
	r.committedReaches(0, 10)
	got := after.values()
	slices.Sort(got)
	if !slices.Equal(got, []string{"5", "6", "7", "8", "9"}) {
		r.Errorf("after the crash %v were delivered, want 5 to 9", got)
	}
}

func prefixOnly(r *fixture) {
	r.tr.CreateTopic(r, r.topic, 1)
	rec := new(recorder)
	open := make(chan struct{})
	r.consume(func(ctx context.Context, batch []bus.Message) error {
		if string(batch[0].Value) == "3" {
			select {
			case <-open:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return rec.handle(ctx, batch)
	})
	r.publish(r.numbered(10, 10)...)
	r.eventually("all but one are finished", func() bool { return len(rec.values()) == 9 })
	r.committedReaches(0, 3)
	// This is a second check after one more record has passed through: commits have happened since.
	r.publish(r.say("another", "10"))
	r.eventually("a later record is finished", func() bool { return len(rec.values()) == 10 })
	if got := r.committed(0); got != 3 {
		r.Fatalf("committed %d while record 3 is unfinished", got)
	}
	close(open)
	r.committedReaches(0, 11)
}

// revocation lets a handler report success after its partition was revoked.
func revocation(r *fixture) {
	r.tr.CreateTopic(r, r.topic, 1)
	revoked := make(chan error, 1)
	var calls atomic.Int32
	again, open := make(chan struct{}), make(chan struct{})
	handler := func(ctx context.Context, _ []bus.Message) error {
		if calls.Add(1) == 1 {
			<-ctx.Done()
			revoked <- context.Cause(ctx)
			return nil
		}
		close(again)
		select {
		case <-open:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.consume(handler)
	r.publish(r.say("k", "0"))
	r.eventually("the record is being handled", func() bool { return calls.Load() == 1 })
	r.consume(handler)
	if cause := within(r, "the handler's context ends", revoked); !errors.Is(cause, bus.ErrRevoked) {
		r.Errorf("the context ended with %v, want %v", cause, bus.ErrRevoked)
	}
	within(r, "the record is delivered again", again)
	if got := r.committed(0); got > 0 {
		r.Errorf("offset %d was committed by a member that had lost the partition", got)
	}
	close(open)
	r.committedReaches(0, 1)
}

// churn publishes while members join, leave and die.
func churn(r *fixture) {
	const n, keys, partitions = 900, 30, 6
	r.tr.CreateTopic(r, r.topic, partitions)
	rec := new(recorder)
	ctx := r.context()
	msgs := r.numbered(n, keys)
	published := 0
	step := func(upTo int) {
		for chunk := range slices.Chunk(msgs[published:upTo], 10) {
			r.must(r.pub.Publish(ctx, chunk...))
		}
		published = upTo
		r.eventually(fmt.Sprintf("%d records are delivered", upTo), func() bool { return len(rec.values()) >= upTo })
	}
	a := r.consume(rec.handle)
	step(100)
	b := r.consume(rec.handle)
	step(300)
	c := r.consume(rec.handle)
	step(500)
	b.stop()
	step(600)
	c.die()
	step(750)
	r.consume(rec.handle)
	step(850)
	a.stop()
	step(n)
	if got := len(rec.values()); got != n {
		r.Errorf("%d distinct records were delivered, want %d", got, n)
	}
	rec.checkOrder(r)
	r.eventually("everything is committed", func() bool {
		var sum int64
		for p := range partitions {
			sum += max(0, r.committed(p))
		}
		return sum == n
	})
	r.Logf("%d deliveries of %d records", len(rec.all()), n)
}
