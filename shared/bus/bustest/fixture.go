// Package bustest is the conformance suite of the bus. It checks every transport together with the consumer and the
// middlewares. For tests of users of the bus, it starts an embedded broker.
package bustest

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/bus"
)

// Transport has the functions of a transport under test. They fail the test themselves when they cannot do their
// work.
type Transport struct {
	// CreateTopic makes a topic.
	CreateTopic func(t testing.TB, name string, partitions int)
	// Source returns a membership in a group. The function kill cuts it off like the death of its process.
	Source func(t testing.TB, group string, topics ...string) (src bus.Source, kill func())
	// SourceFromEnd returns a membership that begins at the end in a group without a commit.
	SourceFromEnd func(t testing.TB, group string, topics ...string) bus.Source
	// Publisher returns a publisher.
	Publisher func(t testing.TB) bus.Publisher
	// Log returns a topic as a log.
	Log func(t testing.TB, topic string) bus.Log
	// Committed returns the offset that a group has committed, or -1.
	Committed func(t testing.TB, group string, p bus.Partition) int64
	// Restart stops the broker, calls during, and starts it again with all its data.
	Restart func(t testing.TB, during func())
}

// patience bounds every wait. It is long because a session timeout detects dead members.
const patience = 60 * time.Second

// Run checks a transport. The cases share it, one after the other, on separate topics.
func Run(t *testing.T, tr Transport) {
	for _, c := range []struct {
		name string
		run  func(*fixture)
	}{
		{"keeps the order of a key", orderOfKey},
		{"handles keys in parallel", parallelKeys},
		{"batches one key within the bounds", batchBounds},
		{"gathers a key's records where it is told to", gathering},
		{"lands on the Java client's partitions", javaPartitions},
		{"delivers the unfinished again after a crash", crash},
		{"commits only the finished prefix", prefixOnly},
		{"commits nothing after a revocation", revocation},
		{"loses nothing while members come and go", churn},
		{"bounds what is in flight", backPressure},
		{"drains when it is asked to stop", drain},
		{"survives a restart of the broker", restart},
		{"begins at the end when asked to", fromEnd},
		{"describes a dead letter", deadLetterContent},
		{"keeps the offset while dead letters cannot be written", deadLettersUnavailable},
		{"isolates the poison of a batch", isolation},
		{"retries until success", retries},
		{"gives up on a record that always panics", panics},
		{"carries trace contexts", traces},
		{"links the traces of a batch", links},
		{"passes records of two mebibytes", largeRecords},
		{"refuses a record that is too large for good", tooLarge},
		{"replays dead letters", replayAll},
		{"replays a choice and keeps the rest", replayChoice},
		{"replays one dead letter and keeps the rest", replayOne},
		{"reports its lag", lag},
		{"reads and cuts a log", logs},
		{"erases dead letters and keeps the rest", eraseDeadLetters},
		{"erases dead letters of several users together", eraseTogether},
		{"replays what is left after a cut", replayAfterCut},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(newFixture(t, tr)) })
	}
}

// fixture is the environment of one case.
type fixture struct {
	*testing.T
	tr    Transport
	id    string
	pub   bus.Publisher
	ins   *bus.Instruments
	topic string
	group string
}

func newFixture(t *testing.T, tr Transport) *fixture {
	id := fmt.Sprintf("t%d", time.Now().UnixNano())
	r := &fixture{T: t, tr: tr, id: id, topic: id + ".in", group: id + ".group"}
	r.pub = tr.Publisher(t)
	t.Cleanup(func() { r.must(r.pub.Close()) })
	r.instrument(bus.Telemetry{})
	return r
}

func (r *fixture) instrument(tel bus.Telemetry) {
	if tel.Log == nil {
		tel.Log = slog.New(slog.NewTextHandler(r.Output(), nil))
	}
	ins, err := bus.NewInstruments(tel)
	r.must(err)
	r.ins = ins
}

func (r *fixture) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// context is bounded by patience and ends with the case.
func (r *fixture) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	r.Cleanup(cancel)
	return ctx
}

func (r *fixture) publish(msgs ...bus.Message) {
	r.Helper()
	r.must(r.pub.Publish(r.context(), msgs...))
}

// say makes a record of the case's topic.
func (r *fixture) say(key, value string) bus.Message {
	return bus.Message{Topic: r.topic, Key: []byte(key), Value: []byte(value)}
}

// numbered makes n records with the values 0 to n-1, spread over the keys in turn.
func (r *fixture) numbered(n, keys int) []bus.Message {
	msgs := make([]bus.Message, n)
	for i := range msgs {
		msgs[i] = r.say(fmt.Sprintf("tenant/user-%d", i%keys), fmt.Sprint(i))
	}
	return msgs
}

// eventually polls until ready.
func (r *fixture) eventually(what string, ready func() bool) {
	r.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ready() {
		select {
		case <-deadline.C:
			r.Fatalf("never happened: %s", what)
		case <-tick.C:
		}
	}
}

// within waits until a channel is closed or gives a value.
func within[T any](r *fixture, what string, c <-chan T) T {
	r.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		r.Fatalf("never happened: %s", what)
		panic("unreachable")
	}
}

func (r *fixture) committed(partition int) int64 {
	return r.tr.Committed(r, r.group, bus.Partition{Topic: r.topic, ID: partition})
}

func (r *fixture) committedReaches(partition int, offset int64) {
	r.Helper()
	r.eventually(fmt.Sprintf("offset %d of partition %d is committed", offset, partition), func() bool {
		return r.committed(partition) == offset
	})
}

// config has short intervals, so cases do not wait long.
func (r *fixture) config() bus.Config {
	cfg := bus.DefaultConfig(r.group)
	cfg.CommitInterval = 10 * time.Millisecond
	cfg.RedeliverDelay = 20 * time.Millisecond
	cfg.LagInterval = 50 * time.Millisecond
	return cfg
}
