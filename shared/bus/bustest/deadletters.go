package bustest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/fault"
)

func (r *fixture) deadLetterTopic() string { return r.id + ".dead" }

// standard surrounds h with the usual chain and short pauses.
func (r *fixture) standard(name string, pub bus.Publisher, h bus.Handler) bus.Handler {
	chain, err := bus.Standard(bus.StandardConfig{
		Group: r.group, Handler: name, DeadLetters: r.deadLetterTopic(),
		Retry: bus.RetryConfig{Initial: time.Millisecond, Max: 20 * time.Millisecond, Panics: 3},
	}, pub, r.ins, h)
	r.must(err)
	return chain
}

// deadLetters collects the dead letters in a separate group.
func (r *fixture) deadLetters() func() []*mnemev1.DeadLetter {
	rec := new(recorder)
	other := *r
	other.topic, other.group = r.deadLetterTopic(), r.id+".dead-letters"
	other.consume(rec.handle)
	return func() []*mnemev1.DeadLetter {
		var out []*mnemev1.DeadLetter
		for _, m := range rec.all() {
			dead := new(mnemev1.DeadLetter)
			r.must(proto.Unmarshal(m.Value, dead))
			if !bytes.Equal(m.Key, dead.Key) {
				r.Errorf("dead letter has key %q, the record %q", m.Key, dead.Key)
			}
			out = append(out, dead)
		}
		return out
	}
}

// poison fails for good on values that begin with "bad".
func poison(next bus.Handler) bus.Handler {
	return func(ctx context.Context, batch []bus.Message) error {
		for _, m := range batch {
			if strings.HasPrefix(string(m.Value), "bad") {
				return fmt.Errorf("decode: %w", fault.Terminal("turn.text", "must not be bad"))
			}
		}
		return next(ctx, batch)
	}
}

func deadLetterContent(r *fixture) {
	r.tr.CreateTopic(r, r.topic, 1)
	r.tr.CreateTopic(r, r.deadLetterTopic(), 2)
	deadLetters := r.deadLetters()
	r.consume(r.standard("filter", r.pub, poison(new(recorder).handle)))
	began := time.Now()
	bad := r.say("tenant/user", "bad \xff bytes")
	bad.Headers = []bus.Header{{Key: "source", Value: []byte("\x00one")}, {Key: "source", Value: []byte("two")}}
	r.publish(r.say("tenant/user", "fine"))
	r.publish(bad)
	r.eventually("a dead letter arrives", func() bool { return len(deadLetters()) == 1 })
	r.committedReaches(0, 2)
	got := deadLetters()[0]
	if age := got.Time.AsTime().Sub(began); age < -time.Minute || age > patience {
		r.Errorf("time is %v", got.Time.AsTime())
	}
	got.Time = nil
	if i := slices.IndexFunc(got.Headers, func(h *mnemev1.Header) bool { return h.Key == "traceparent" }); i >= 0 {
		got.Headers = slices.Delete(got.Headers, i, i+1)
	}
	want := &mnemev1.DeadLetter{
		SchemaVersion: 1, Id: bus.DeadLetterID(r.topic, 0, 1), Reason: "decode: turn.text: must not be bad",
		Field: "turn.text", Handler: "filter", Topic: r.topic, Partition: 0, Offset: 1,
		Key: bad.Key, Value: bad.Value, Attempts: 1,
		Headers: []*mnemev1.Header{{Key: "source", Value: []byte("\x00one")}, {Key: "source", Value: []byte("two")}},
	}
	if !proto.Equal(got, want) {
		r.Errorf("dead letter is\n%v\nwant\n%v", got, want)
	}
}

// brokenPublisher fails until it is repaired, with an error of either kind.
type brokenPublisher struct {
	bus.Publisher
	repaired atomic.Bool
	failures atomic.Int32
}

func (p *brokenPublisher) Publish(ctx context.Context, msgs ...bus.Message) error {
	if p.repaired.Load() {
		return p.Publisher.Publish(ctx, msgs...)
	}
	if p.failures.Add(1)%2 == 0 {
		return fault.Terminal("", "refused for good")
	}
	return errors.New("not now")
}

func deadLettersUnavailable(r *fixture) {
	r.tr.CreateTopic(r, r.topic, 1)
	r.tr.CreateTopic(r, r.deadLetterTopic(), 1)
	deadLetters := r.deadLetters()
	broken := &brokenPublisher{Publisher: r.pub}
	r.consume(r.standard("filter", broken, poison(new(recorder).handle)))
	r.publish(r.say("a", "fine"), r.say("b", "bad"), r.say("c", "fine"))
	r.eventually("writing the dead letter is tried again", func() bool { return broken.failures.Load() >= 4 })
	r.committedReaches(0, 1)
	if n := len(deadLetters()); n != 0 {
		r.Fatalf("%d dead letters while none could be written", n)
	}
	broken.repaired.Store(true)
	r.committedReaches(0, 3)
	r.eventually("the dead letter arrives", func() bool { return len(deadLetters()) == 1 })
}

// isolation puts the bad record in a batch with others. The key is blocked until a later record of another key is
// delivered.
func isolation(r *fixture) {
	r.tr.CreateTopic(r, r.topic, 1)
	r.tr.CreateTopic(r, r.deadLetterTopic(), 1)
	deadLetters := r.deadLetters()
	rec := new(recorder)
	r.consume(r.standard("filter", r.pub, gate(poison(rec.handle))))
	r.publish(r.say("k", "0"), r.say("k", "1"), r.say("k", "2"), r.say("k", "bad"), r.say("k", "4"), r.say("k", "5"),
		r.say("gate", ""))
	r.committedReaches(0, 7)
	r.eventually("the dead letter arrives", func() bool { return len(deadLetters()) == 1 })
	if got := deadLetters()[0].Offset; got != 3 {
		r.Errorf("the dead letter is of offset %d, want 3", got)
	}
	if got := rec.values(); !slices.Equal(got, []string{"0", "1", "2", "4", "5"}) {
		r.Errorf("handled %v", got)
	}
}

func retries(r *fixture) {
	const failures = 12
	r.tr.CreateTopic(r, r.topic, 1)
	r.tr.CreateTopic(r, r.deadLetterTopic(), 1)
	rec := new(recorder)
	var calls atomic.Int32
	r.consume(r.standard("filter", r.pub, func(ctx context.Context, batch []bus.Message) error {
		switch n := calls.Add(1); {
		case n > failures:
			return rec.handle(ctx, batch)
		case n == 1:
			return context.Canceled // of another context
		}
		return errors.New("the store is unavailable")
	}))
	r.publish(r.say("k", "0"))
	r.committedReaches(0, 1)
	if got := calls.Load(); got != failures+1 || len(rec.all()) != 1 {
		r.Errorf("%d calls and %d deliveries, want %d and 1", got, len(rec.all()), failures+1)
	}
}

func panics(r *fixture) {
	r.tr.CreateTopic(r, r.topic, 1)
	r.tr.CreateTopic(r, r.deadLetterTopic(), 1)
	deadLetters := r.deadLetters()
	r.consume(r.standard("filter", r.pub, func(context.Context, []bus.Message) error {
		panic("quoting the user's words")
	}))
	r.publish(r.say("k", "0"))
	r.eventually("the dead letter arrives", func() bool { return len(deadLetters()) == 1 })
	r.committedReaches(0, 1)
	dead := deadLetters()[0]
	if dead.Attempts != 3 || !strings.Contains(dead.Reason, "panicked") || strings.Contains(dead.Reason, "words") {
		r.Errorf("attempts %d, reason %q", dead.Attempts, dead.Reason)
	}
}

func largeRecords(r *fixture) {
	r.tr.CreateTopic(r, r.topic, 1)
	r.tr.CreateTopic(r, r.deadLetterTopic(), 1)
	deadLetters := r.deadLetters()
	rec := new(recorder)
	large := strings.Repeat("0123456789abcdef", 2<<20/16)
	r.consume(r.standard("filter", r.pub, poison(rec.handle)))
	r.publish(r.say("k", large), r.say("k", "bad"+large), r.say("k", "small"))
	r.eventually("the records are delivered", func() bool { return len(rec.values()) == 2 })
	if got := rec.all()[0].Value; string(got) != large {
		r.Errorf("a record of %d bytes came back as %d other ones", len(large), len(got))
	}
	r.eventually("the dead letter arrives", func() bool { return len(deadLetters()) == 1 })
	if got := deadLetters()[0].Value; string(got) != "bad"+large {
		r.Errorf("the dead letter wraps %d other bytes", len(got))
	}
	r.committedReaches(0, 3)
}

func tooLarge(r *fixture) {
	r.tr.CreateTopic(r, r.topic, 1)
	rec := new(recorder)
	r.consume(rec.handle)
	err := r.pub.Publish(r.context(), r.say("k", strings.Repeat("x", 5<<20)))
	if !fault.IsTerminal(err) {
		r.Errorf("5 MiB: got %v, want a terminal error", err)
	}
	r.publish(r.say("k", "next"))
	r.eventually("later records pass", func() bool { return slices.Equal(rec.values(), []string{"next"}) })
}

// deadLetterFor writes the dead letter of a record that never existed, and returns its id.
func (r *fixture) deadLetterFor(handler, key, value string, offset int64) string {
	id := bus.DeadLetterID(r.topic, 0, offset)
	data, err := proto.Marshal(&mnemev1.DeadLetter{
		SchemaVersion: 1, Id: id, Handler: handler, Topic: r.topic, Offset: offset,
		Key: []byte(key), Value: []byte(value), Headers: []*mnemev1.Header{
			{Key: "source", Value: []byte("test")}, {Key: bus.ReplayedHeader, Value: []byte("an earlier replay")},
		},
	})
	r.must(err)
	r.publish(bus.Message{Topic: r.deadLetterTopic(), Key: []byte(key), Value: data})
	return id
}

func (r *fixture) replay(cfg bus.ReplayConfig, want bus.ReplayResult) {
	r.Helper()
	src, _ := r.tr.Source(r, r.id+".replay", r.deadLetterTopic())
	got, err := bus.Replay(r.context(), cfg, src, r.pub, r.ins)
	r.must(err)
	if got != want {
		r.Errorf("replay counted %+v, want %+v", got, want)
	}
}

func replayAll(r *fixture) {
	r.tr.CreateTopic(r, r.topic, 2)
	r.tr.CreateTopic(r, r.deadLetterTopic(), 3)
	rec := new(recorder)
	r.consume(rec.handle)
	ids := make(map[string]string)
	for i := range 10 {
		value := fmt.Sprint(i)
		ids[value] = r.deadLetterFor("filter", fmt.Sprintf("tenant/user-%d", i%4), value, int64(i))
	}
	r.replay(bus.ReplayConfig{}, bus.ReplayResult{Replayed: 10})
	r.eventually("the records are back", func() bool { return len(rec.values()) == 10 })
	rec.checkOrder(r)
	for _, m := range rec.all() {
		headers := bus.HeaderCarrier{Headers: &m.Headers}
		if got := headers.Get(bus.ReplayedHeader); got != ids[string(m.Value)] || headers.Get("source") != "test" {
			r.Errorf("record %s has headers %q", m.Value, m.Headers)
		}
		same := func(h bus.Header) bool { return h.Key == bus.ReplayedHeader }
		if first := slices.IndexFunc(m.Headers, same); slices.ContainsFunc(m.Headers[first+1:], same) {
			r.Errorf("record %s is marked twice", m.Value)
		}
	}
	r.replay(bus.ReplayConfig{}, bus.ReplayResult{})
}

func replayChoice(r *fixture) {
	r.tr.CreateTopic(r, r.topic, 1)
	r.tr.CreateTopic(r, r.deadLetterTopic(), 1)
	rec := new(recorder)
	r.consume(rec.handle)
	r.deadLetterFor("filter", "acme/a", "0", 0)
	r.deadLetterFor("filter", "other/b", "1", 1)
	r.deadLetterFor("booster", "acme/a", "2", 2)
	r.publish(bus.Message{Topic: r.deadLetterTopic(), Key: []byte("acme/a"), Value: []byte("no dead letter \xff")})
	r.replay(bus.ReplayConfig{KeyPrefix: "acme/", Handler: "filter"},
		bus.ReplayResult{Replayed: 1, Kept: 2, Unreadable: 1})
	r.replay(bus.ReplayConfig{Handler: "booster"}, bus.ReplayResult{Replayed: 1, Kept: 1, Unreadable: 1})
	r.replay(bus.ReplayConfig{}, bus.ReplayResult{Replayed: 1, Unreadable: 1})
	r.eventually("all records are back", func() bool { return len(rec.all()) == 3 })
	if got := rec.values(); !slices.Equal(got, []string{"0", "2", "1"}) {
		r.Errorf("replayed %v, want 0, 2, 1", got)
	}
}
