package bustest

import (
	"errors"
	"fmt"
	"slices"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/bus"
)

// replayOne puts a letter back that exists twice, with other letters before and after it.
func replayOne(r *fixture) {
	r.tr.CreateTopic(r, r.topic, 1)
	r.tr.CreateTopic(r, r.deadLetterTopic(), 1)
	rec := new(recorder)
	r.consume(rec.handle)
	ids := make([]string, 6)
	for i := range ids {
		ids[i] = r.deadLetterFor("filter", "tenant/user", fmt.Sprint(i), int64(i))
	}
	r.publish(bus.Message{Topic: r.deadLetterTopic(), Key: []byte("tenant/user"), Value: []byte("no dead letter \xff")})
	if again := r.deadLetterFor("filter", "tenant/user", "2", 2); again != ids[2] {
		r.Fatalf("the copy has the id %s, want %s", again, ids[2])
	}
	one := bus.OneLetter{Partition: 0, Offset: 7, Match: func(key []byte, dead *mnemev1.DeadLetter) bool {
		return string(key) == "tenant/user" && dead.GetId() == ids[2]
	}}
	for _, want := range []bus.ReplayResult{{Replayed: 1, Kept: 5, Unreadable: 1}, {}} {
		src, _ := r.tr.Source(r, r.id+".replay", r.deadLetterTopic())
		got, err := bus.ReplayOne(r.context(), one, src, r.pub, r.ins)
		r.must(err)
		if got != want {
			r.Errorf("counted %+v, want %+v", got, want)
		}
	}
	r.eventually("the record is back", func() bool { return slices.Equal(rec.values(), []string{"2"}) })
	src, _ := r.tr.Source(r, r.id+".replay", r.deadLetterTopic())
	waiting, err := bus.DeadLetters(r.context(), bus.ReplayConfig{}, src)
	r.must(err)
	var values []string
	for _, l := range waiting {
		values = append(values, string(l.GetValue()))
	}
	if !slices.Equal(values, []string{"0", "1", "3", "4", "5"}) {
		r.Errorf("%q wait", values)
	}
	one.Partition = 1
	src, _ = r.tr.Source(r, r.id+".replay", r.deadLetterTopic())
	if _, err := bus.ReplayOne(r.context(), one, src, r.pub, r.ins); !errors.Is(err, bus.ErrHeld) {
		r.Errorf("got %v for a partition that is not this member's, want %v", err, bus.ErrHeld)
	}
}
