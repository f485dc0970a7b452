package deadletters_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/deadletters"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/services/gateway/rest"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/fault"
)

func TestReplayPutsOneLetterBack(t *testing.T) {
	p := open(t)
	var ids []string
	for i := range 9 {
		ids = append(ids, p.write(letter("acme", fmt.Sprintf("user-%d", i%3), fmt.Sprint(i))))
	}
	others := p.write(letter("other", "user-1", "x"))
	ctx := p.by("acme", "")
	if err := p.letters.Replay(ctx, ids[4]); err != nil {
		t.Fatal(err)
	}
	back := p.events(contract.TopicSessionEvents)
	if len(back) != 1 || string(back[0].Value) != string(turnOf("acme", "user-1", "4")) ||
		string(back[0].Key) != "acme/user-1" {
		t.Fatalf("back came %d records: %v", len(back), back)
	}
	headers := bus.HeaderCarrier{Headers: &back[0].Headers}
	if got := headers.Get(bus.ReplayedHeader); got != ids[4] {
		t.Errorf("the record is marked %q, want %q", got, ids[4])
	}
	want := slices.Delete(slices.Clone(ids), 4, 5)
	slices.Reverse(want)
	if got := p.ids(ctx, 3); !slices.Equal(got, want) {
		t.Errorf("then wait %v, want %v", got, want)
	}
	if got := p.ids(p.by("other", ""), 3); !slices.Equal(got, []string{others}) {
		t.Errorf("of the other tenant wait %v", got)
	}
	if _, ok, err := p.letters.Find(ctx, "user-1", "4"); ok || err != nil {
		t.Errorf("the turn has a letter still: %v", err)
	}
	if l, ok, err := p.letters.Find(ctx, "user-1", "1"); !ok || err != nil || l.ID != ids[1] {
		t.Errorf("the turn of a letter that was written anew: %+v, %v", l, err)
	}
	if err := p.letters.Replay(ctx, ids[4]); problem.From(err).Status != 404 {
		t.Errorf("once more: %v", err)
	}
	if err := p.letters.Replay(p.by("acme", "user-2"), ids[5]); err != nil {
		t.Errorf("by a key of the user that may: %v", err)
	}
	if n := len(p.events(contract.TopicSessionEvents)); n != 2 {
		t.Errorf("%d records came back", n)
	}
}

func TestWhatWasReplayedOrErasedDoesNotWait(t *testing.T) {
	p := open(t)
	for i := range 6 {
		p.write(letter("acme", fmt.Sprintf("user-%d", i%3), fmt.Sprint(i)))
	}
	source, _ := p.join()
	if _, err := bus.Replay(t.Context(), bus.ReplayConfig{KeyPrefix: "acme/user-0"}, source, p.out, p.ins); err != nil {
		t.Fatal(err)
	}
	if got := p.ids(p.by("acme", ""), 10); len(got) != 4 {
		t.Errorf("after a replay of 2 wait %d", len(got))
	}
	if _, ok, err := p.letters.Find(p.by("acme", ""), "user-1", "1"); !ok || err != nil {
		t.Errorf("before the erasure: %v", err)
	}
	match := func(key []byte, _ *mnemev1.DeadLetter) bool { return string(key) == "acme/user-1" }
	_, err := bus.EraseDeadLetters(t.Context(), bus.EraseConfig{Match: match, Idle: 10 * time.Millisecond}, p.join,
		p.broker.Log(contract.TopicDeadLetters), p.out, p.ins)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.ids(p.by("acme", ""), 10); len(got) != 2 {
		t.Errorf("after an erasure wait %d, want 2", len(got))
	}
	if l, ok, err := p.letters.Find(p.by("acme", ""), "user-1", "1"); ok || err != nil {
		t.Errorf("after the erasure: %+v, %v", l, err)
	}
	if _, ok, err := p.letters.Find(p.by("acme", ""), "user-2", "2"); !ok || err != nil {
		t.Errorf("another user's turn after the erasure: %v", err)
	}
}

func TestALetterThatIsThereTwiceIsOne(t *testing.T) {
	p := open(t)
	one := letter("acme", "ines", "t")
	id := p.write(one)
	p.write(one)
	if got := p.ids(p.by("acme", ""), 1); !slices.Equal(got, []string{id}) {
		t.Errorf("listed %v", got)
	}
	if err := p.letters.Replay(p.by("acme", ""), id); err != nil {
		t.Fatal(err)
	}
	if got, back := p.ids(p.by("acme", ""), 1), len(p.events(contract.TopicSessionEvents)); len(got) != 0 || back != 1 {
		t.Errorf("%v wait, %d came back", got, back)
	}
}

// A reused turn id makes several letters with one id. The last letter is listed and replayed.
func TestALetterThatCameAgainIsListedOnce(t *testing.T) {
	p := open(t)
	first, second := letter("acme", "ines", "t"), letter("acme", "ines", "t")
	first.Id, second.Id = "one", "one"
	p.write(first)
	other := p.write(letter("acme", "ines", "u"))
	p.write(second)
	for _, limit := range []int{1, 2, 200} {
		if got := p.ids(p.by("acme", ""), limit); !slices.Equal(got, []string{"one", other}) {
			t.Errorf("by %d: listed %v", limit, got)
		}
	}
	if list, _, err := p.letters.List(p.by("acme", ""), 1, ""); err != nil ||
		!list[0].Time.Equal(second.GetTime().AsTime()) {
		t.Errorf("listed %+v, %v; want the last one", list, err)
	}
}

// failing is a publisher that a topic refuses.
type failing struct {
	bus.Publisher
	topic string
	err   error
}

func (f failing) Publish(ctx context.Context, msgs ...bus.Message) error {
	if msgs[0].Topic == f.topic {
		return f.err
	}
	return f.Publisher.Publish(ctx, msgs...)
}

func TestWhatCannotBePutBackGoesOnWaiting(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
	}{
		"refused": {fault.Terminal("", "too large"), 409},
		"away":    {fmt.Errorf("kafka at host:9092: %w", fault.ErrUnavailable), 503},
		"broken":  {errors.New("kafka at host:9092"), 500},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t)
			id := p.write(letter("acme", "ines", "t"))
			letters := p.reader(failing{p.out, contract.TopicSessionEvents, c.err}, time.Nanosecond)
			err := letters.Replay(p.by("acme", ""), id)
			problem := problem.From(err)
			if problem.Status != c.status || strings.Contains(problem.Detail, "host") {
				t.Errorf("told %d %q (%v), want %d", problem.Status, problem.Detail, err, c.status)
			}
			if got := p.ids(p.by("acme", ""), 10); !slices.Equal(got, []string{id}) {
				t.Errorf("%v wait", got)
			}
			if err := p.letters.Replay(p.by("acme", ""), id); err != nil {
				t.Errorf("the next time: %v", err)
			}
		})
	}
}

func TestReplaysAtTheSameTime(t *testing.T) {
	p := open(t)
	second := p.reader(p.out, time.Nanosecond) // another replica
	var ids []string
	for i := range 6 {
		ids = append(ids, p.write(letter("acme", fmt.Sprintf("user-%d", i%2), fmt.Sprint(i))))
	}
	errs := make(chan error, len(ids))
	for i, id := range ids {
		of := p.letters
		if i%2 == 0 {
			of = second
		}
		go func() { errs <- of.Replay(p.by("acme", ""), id) }()
	}
	for range ids {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	seen := map[string]bool{}
	for _, m := range p.events(contract.TopicSessionEvents) {
		seen[string(m.Value)] = true
	}
	if len(seen) != len(ids) || len(p.ids(p.by("acme", ""), 10)) != 0 {
		t.Errorf("%d of %d came back, %v wait", len(seen), len(ids), p.ids(p.by("acme", ""), 10))
	}
}

// counting counts the requests for offsets.
type counting struct {
	deadletters.Offsets
	asked int
}

func (c *counting) Committed(ctx context.Context) (map[int]int64, error) {
	c.asked++
	return c.Offsets.Committed(ctx)
}

func TestFindAsksTheBusOnceAWhile(t *testing.T) {
	p := open(t)
	now := noon
	offsets := &counting{Offsets: p.broker.Offsets(contract.GroupReplay, contract.TopicDeadLetters)}
	letters := deadletters.New(deadletters.Parts{
		Log: p.broker.Log(contract.TopicDeadLetters), Offsets: offsets, Join: p.join, Out: p.out, Instruments: p.ins,
		Fresh: time.Minute,
		Now:   func() time.Time { return now },
	})
	for range 10 {
		if _, ok, err := letters.Find(p.by("acme", ""), "ines", "t"); ok || err != nil {
			t.Fatalf("%v, %v", ok, err)
		}
	}
	p.write(letter("acme", "ines", "t"))
	if _, ok, _ := letters.Find(p.by("acme", ""), "ines", "t"); ok || offsets.asked != 1 {
		t.Errorf("found %v, asked %d times", ok, offsets.asked)
	}
	now = now.Add(time.Minute)
	if _, ok, err := letters.Find(p.by("acme", ""), "ines", "t"); !ok || err != nil || offsets.asked != 2 {
		t.Errorf("a minute later: found %v, asked %d times, %v", ok, offsets.asked, err)
	}
}

func TestAsTheRESTAPIAsks(t *testing.T) {
	p := open(t)
	id := p.write(letter("acme", "ines", "t"))
	var api rest.DeadLetters = p.letters
	list, next, err := api.List(p.by("acme", ""), 10, "")
	if err != nil || next != "" || len(list) != 1 || list[0].ID != id || list[0].User != "ines" || list[0].TurnID != "t" {
		t.Errorf("%+v, %q, %v", list, next, err)
	}
	if l, ok, err := api.Find(p.by("acme", ""), "ines", "t"); err != nil || !ok || l != list[0] {
		t.Errorf("%+v, %v, %v", l, ok, err)
	}
	if err := api.Replay(p.by("acme", ""), id); err != nil {
		t.Error(err)
	}
}
