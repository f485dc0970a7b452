package bustest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/bus"
)

func (r *fixture) log(topic string) bus.Log {
	l := r.tr.Log(r, topic)
	r.Cleanup(func() { r.must(l.Close()) })
	return l
}

// scanned returns the values of a topic, by key, in order.
func (r *fixture) scanned(l bus.Log) map[string][]string {
	out := map[string][]string{}
	r.must(bus.ScanLog(r.context(), l, func(m bus.Message) {
		value := string(m.Value)
		dead := new(mnemev1.DeadLetter)
		if proto.Unmarshal(m.Value, dead) == nil && dead.Topic != "" {
			value = string(dead.Value)
		}
		out[string(m.Key)] = append(out[string(m.Key)], value)
	}))
	return out
}

func logs(r *fixture) {
	r.tr.CreateTopic(r, r.topic, 3)
	l := r.log(r.topic)
	ids, err := l.Partitions(r.context())
	r.must(err)
	if !slices.Equal(ids, []int{0, 1, 2}) {
		r.Fatalf("partitions %v", ids)
	}
	const n = 300
	r.publish(r.numbered(n, 1)...)
	partition := -1
	for _, id := range ids {
		first, end, err := l.Bounds(r.context(), id)
		r.must(err)
		if first != 0 || (end != 0 && end != n) {
			r.Fatalf("partition %d has bounds %d and %d", id, first, end)
		}
		if end == n {
			partition = id
		}
	}
	if got := r.scanned(l)["tenant/user-0"]; len(got) != n || got[0] != "0" || got[n-1] != fmt.Sprint(n-1) {
		r.Fatalf("%d records, want all of them in order", len(got))
	}
	for range 2 {
		r.must(l.Cut(r.context(), partition, 250))
		first, end, err := l.Bounds(r.context(), partition)
		r.must(err)
		if got := r.scanned(l)["tenant/user-0"]; first != 250 || end != n || len(got) != 50 || got[0] != "250" {
			r.Errorf("after the cut: bounds %d and %d, records %v", first, end, got)
		}
	}
	r.must(l.Cut(r.context(), partition, n))
	r.publish(r.say("tenant/user-0", "next"))
	if got := r.scanned(l); len(got) != 1 || !slices.Equal(got["tenant/user-0"], []string{"next"}) {
		r.Errorf("after all was cut and one came, the log holds %v", got)
	}
	rec := new(recorder)
	r.consume(rec.handle)
	r.eventually("a new group reads what is left", func() bool { return slices.Equal(rec.values(), []string{"next"}) })
}

func (r *fixture) erase(ctx context.Context, l bus.Log, key string) (int, error) {
	join := func() (bus.Source, error) {
		src, _ := r.tr.Source(r, r.id+".replay", r.deadLetterTopic())
		return src, nil
	}
	return bus.EraseDeadLetters(ctx, bus.EraseConfig{
		Match: func(k []byte, _ *mnemev1.DeadLetter) bool { return string(k) == key }, Idle: 50 * time.Millisecond,
	}, join, l, r.pub, r.ins)
}

// eraseDeadLetters erases one user's dead letters, replayed ones and waiting ones. It then checks the rest for
// readers and replays.
func eraseDeadLetters(r *fixture) {
	r.tr.CreateTopic(r, r.topic, 2)
	r.tr.CreateTopic(r, r.deadLetterTopic(), 3)
	l := r.log(r.deadLetterTopic())
	for i := range 12 {
		r.deadLetterFor("filter", fmt.Sprintf("tenant/user-%d", i%4), fmt.Sprintf("old %d", i), int64(i))
	}
	r.replay(bus.ReplayConfig{}, bus.ReplayResult{Replayed: 12})
	for i := range 12 {
		r.deadLetterFor("filter", fmt.Sprintf("tenant/user-%d", i%4), fmt.Sprint(i), int64(100+i))
	}
	r.publish(bus.Message{Topic: r.deadLetterTopic(), Key: []byte("tenant/user-1"), Value: []byte("no dead letter \xff")})
	r.publish(bus.Message{Topic: r.deadLetterTopic(), Key: []byte("tenant/user-2"), Value: []byte("no dead letter \xff")})
	for _, want := range []int{7, 0} {
		if n, err := r.erase(r.context(), l, "tenant/user-1"); err != nil || n != want {
			r.Fatalf("erased %d, %v, want %d", n, err, want)
		}
	}
	left := r.scanned(l)
	if _, ok := left["tenant/user-1"]; ok {
		r.Errorf("the scan finds %v of the erased user", left["tenant/user-1"])
	}
	want := map[string][]string{
		"tenant/user-0": {"0", "4", "8"}, "tenant/user-2": {"2", "6", "10", "no dead letter \xff"},
		"tenant/user-3": {"3", "7", "11"},
	}
	for key, values := range want {
		if got := left[key]; len(got) < len(values) || !slices.Equal(got[len(got)-len(values):], values) {
			r.Errorf("the log holds %q of %s, want it to end with %q", got, key, values)
		}
	}
	src, _ := r.tr.Source(r, r.id+".replay", r.deadLetterTopic())
	waiting, err := bus.DeadLetters(r.context(), bus.ReplayConfig{}, src)
	r.must(err)
	if len(waiting) != 9 {
		r.Errorf("%d dead letters wait, want 9", len(waiting))
	}
	r.replay(bus.ReplayConfig{}, bus.ReplayResult{Replayed: 9, Unreadable: 1})
	back := r.scanned(r.log(r.topic))
	if got := back["tenant/user-1"]; !slices.Equal(got, []string{"old 1", "old 5", "old 9"}) {
		r.Errorf("of the erased user came back %q, want what was replayed before the erasure alone", got)
	}
	if got := back["tenant/user-2"]; !slices.Equal(got, []string{"old 2", "old 6", "old 10", "2", "6", "10"}) {
		r.Errorf("of another user came back %q", got)
	}
}

// eraseTogether erases users at the same time. No dead letter comes back through another erasure, and none is lost.
func eraseTogether(r *fixture) {
	r.tr.CreateTopic(r, r.deadLetterTopic(), 3)
	for i := range 60 {
		r.deadLetterFor("filter", fmt.Sprintf("tenant/user-%d", i%6), fmt.Sprint(i), int64(i))
	}
	var all sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		l := r.log(r.deadLetterTopic())
		ctx := r.context()
		all.Go(func() { _, errs[i] = r.erase(ctx, l, fmt.Sprintf("tenant/user-%d", i)) })
	}
	all.Wait()
	r.must(errors.Join(errs...))
	left := r.scanned(r.log(r.deadLetterTopic()))
	if got := slices.Sorted(maps.Keys(left)); !slices.Equal(got,
		[]string{"tenant/user-3", "tenant/user-4", "tenant/user-5"}) {
		r.Errorf("dead letters of %v are left", got)
	}
	for key, values := range left {
		if slices.Sort(values); len(slices.Compact(values)) != 10 {
			r.Errorf("%s has dead letters %v, want 10", key, values)
		}
	}
}

// replayAfterCut continues reading when a group's offset lies before the cut.
func replayAfterCut(r *fixture) {
	r.tr.CreateTopic(r, r.topic, 1)
	r.tr.CreateTopic(r, r.deadLetterTopic(), 1)
	for i := range 3 {
		r.deadLetterFor("filter", "tenant/user", fmt.Sprint(i), int64(i))
	}
	r.replay(bus.ReplayConfig{}, bus.ReplayResult{Replayed: 3})
	for i := range 6 {
		r.deadLetterFor("filter", "tenant/user", fmt.Sprint(10+i), int64(10+i))
	}
	r.must(r.log(r.deadLetterTopic()).Cut(r.context(), 0, 6))
	src, _ := r.tr.Source(r, r.id+".replay", r.deadLetterTopic())
	waiting, err := bus.DeadLetters(r.context(), bus.ReplayConfig{}, src)
	if err != nil || len(waiting) != 3 {
		r.Errorf("%d dead letters wait, %v, want 3", len(waiting), err)
	}
	r.replay(bus.ReplayConfig{}, bus.ReplayResult{Replayed: 3})
}
