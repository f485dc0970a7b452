package items

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

func TestASessionIsInOrder(t *testing.T) {
	k := open(t)
	if got := k.latest(ines, "s", 10); got != "[]" {
		t.Errorf("a session that nobody knows has %s", got)
	}
	if n := k.append(ines, "s", "1", `{"n":1}`, `{"n":2.0}`); n != 2 {
		t.Errorf("%d items", n)
	}
	if n := k.append(ines, "s", "2", `{"n":3}`); n != 3 {
		t.Errorf("%d items", n)
	}
	k.append(ines, "other", "1", `{"n":4}`)
	for limit, want := range map[int]string{
		1: `[{"n":3}]`, 2: `[{"n":2.0} {"n":3}]`, 3: `[{"n":1} {"n":2.0} {"n":3}]`, 1000: `[{"n":1} {"n":2.0} {"n":3}]`,
	} {
		if got := k.latest(ines, "s", limit); got != want {
			t.Errorf("the last %d are %s", limit, got)
		}
	}
	for i, want := range []string{`{"n":3}`, `{"n":2.0}`, `{"n":1}`, ""} {
		if got := k.pop(ines, "s", fmt.Sprint("p", i)); got != want {
			t.Errorf("taken off %s, want %s", got, want)
		}
	}
	if err := k.Clear(t.Context(), ines, "other"); err != nil || k.latest(ines, "other", 1) != "[]" {
		t.Errorf("it is not cleared: %v", err)
	}
	if err := k.Clear(t.Context(), ines, "other"); err != nil {
		t.Error(err)
	}
}

func TestACallThatComesAgainHasNoEffect(t *testing.T) {
	k := open(t)
	for range 2 {
		if n := k.append(ines, "s", "1", `{"n":1}`, `{"n":2}`); n != 2 {
			t.Errorf("%d items", n)
		}
	}
	k.append(ines, "t", "1", `{"n":3}`) // another session or another user makes it another call
	k.append(ben, "s", "1", `{"n":4}`)
	for range 2 {
		if got := k.pop(ines, "s", "1"); got != `{"n":2}` {
			t.Errorf("taken off %s", got)
		}
	}
	k.pop(ines, "s", "2")
	for range 2 {
		if got := k.pop(ines, "s", "3"); got != "" {
			t.Errorf("taken off %s", got)
		}
		k.append(ines, "s", "4", `{"n":5}`)
	}
	if got := k.latest(ines, "s", 10) + k.latest(ines, "t", 10) +
		k.latest(ben, "s", 10); got != `[{"n":5}][{"n":3}][{"n":4}]` {
		t.Errorf("there are %s", got)
	}
	k.redis.FastForward(keepDone)
	k.at(keepDone)
	if n := k.append(ines, "s", "4", `{"n":6}`); n != 2 {
		t.Errorf("what was long ago is known: %d items", n)
	}
	if calls, err := k.redis.ZMembers(k.Key("acme", "done:"+redisstore.Hash("ines"))); err != nil || len(calls) != 1 {
		t.Errorf("%d calls are known: %v", len(calls), err)
	}
}

func TestEachItemIsTakenOffOnce(t *testing.T) {
	k := open(t)
	const writers, each = 8, 25
	var mu sync.Mutex
	var all sync.WaitGroup
	taken := map[string]int{}
	for w := range writers {
		all.Go(func() {
			for i := range each {
				k.append(ines, "s", fmt.Sprint("a", w, ".", i), fmt.Sprintf(`{"w":%d,"i":%d}`, w, i),
					fmt.Sprintf(`{"w":%d,"i":%d.5}`, w, i))
			}
		})
		all.Go(func() {
			for i := range each {
				item := k.pop(ines, "s", fmt.Sprint("p", w, ".", i))
				mu.Lock()
				taken[item]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	rest := 0
	for item := k.pop(ines, "s", "rest0"); item != ""; item = k.pop(ines, "s", fmt.Sprint("rest", rest)) {
		taken[item]++
		rest++
	}
	empty := taken[""]
	delete(taken, "")
	for item, n := range taken {
		if n != 1 {
			t.Errorf("%s was taken off %d times", item, n)
		}
	}
	if len(taken) != 2*writers*each || empty+len(taken)-rest != writers*each {
		t.Errorf("%d items of %d, %d times none, %d were left", len(taken), 2*writers*each, empty, rest)
	}
}

func TestItemsOfOneAppendStayTogether(t *testing.T) {
	k := open(t)
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 10 {
				k.append(ines, "s", fmt.Sprint(w, ".", i), fmt.Sprintf(`{"w":%d,"first":%d}`, w, i),
					fmt.Sprintf(`{"w":%d,"second":%d}`, w, i))
			}
		})
	}
	all.Wait()
	items, _, err := k.Latest(t.Context(), ines, "s", MaxLatest, 0)
	if err != nil || len(items) != 160 {
		t.Fatal(len(items), err)
	}
	next := map[byte]int{}
	for i := 0; i < len(items); i += 2 {
		writer := items[i][5]
		want := fmt.Sprintf(`{"w":%c,"first":%d}`, writer, next[writer])
		if string(items[i]) != want || string(items[i+1]) != strings.Replace(want, "first", "second", 1) {
			t.Errorf("%s, then %s; want %s", items[i], items[i+1], want)
		}
		next[writer]++
	}
}

func TestLimitsOfSessions(t *testing.T) {
	k := open(t)
	thousand := make([]Object, MaxAppended)
	for i := range thousand {
		thousand[i] = Object(fmt.Sprintf(`{"n":%d}`, i))
	}
	appended := func(session, once string, items []Object) error {
		_, err := k.Append(t.Context(), ines, k.token(ines), Call{session, once}, items)
		return err
	}
	invalid(t, appended("s", "0", nil), "items", "has 0 entries")
	invalid(t, appended("s", "0", append(thousand, thousand[0])), "items", "has 1001 entries")
	for i := range MaxSessionItems / MaxAppended {
		if err := appended("s", fmt.Sprint(i), thousand); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, appended("s", "more", thousand[:1]), ErrManyItems, "more than 10000 items")
	k.pop(ines, "s", "p")
	refused(t, appended("s", "more", thousand[:2]), ErrManyItems, "more than 10000 items") // all or none
	if err := appended("s", "more", thousand[:1]); err != nil {
		t.Error(err) // a refused call may be repeated
	}
	for _, limit := range []int{0, 10_001} {
		_, _, err := k.Latest(t.Context(), ines, "s", limit, 0)
		invalid(t, err, "limit", "want 1 to 10000")
	}
	for _, before := range []int{-1, 10_001} {
		_, _, err := k.Latest(t.Context(), ines, "s", 1, before)
		invalid(t, err, "before", "want 0 to 10000")
	}
	for i := range MaxSessions - 1 {
		k.append(ines, fmt.Sprint("s", i), "1", `{}`)
	}
	refused(t, appended("another", "1", thousand[:1]), ErrManySessions, "has 1000 sessions")
	k.append(ines, "s1", "2", `{}`)
	k.append(ben, "another", "1", `{}`)
	k.pop(ines, "s2", "p")
	k.append(ines, "another", "1", `{}`) // an empty session does not count
	refused(t, appended("a third", "1", thousand[:1]), ErrManySessions, "has 1000 sessions")
	if err := k.Clear(t.Context(), ines, "s3"); err != nil {
		t.Fatal(err)
	}
	k.append(ines, "a third", "1", `{}`)
}

func TestASessionThatIsTooLargeForOneAnswerIsReadInParts(t *testing.T) {
	k := open(t)
	k.Timeout = time.Minute // the test Redis is slow with so much data
	const fit = MaxAnswer / MaxObject
	large := strings.Repeat("x", MaxObject-16)
	for i := range fit + 3 {
		k.append(ines, "s", fmt.Sprint(i), fmt.Sprintf(`{"n":%d,"a":"%s"}`, 100+i, large))
	}
	items, first, err := k.Latest(t.Context(), ines, "s", MaxLatest, 0)
	if err != nil || len(items) != fit || first != 3 || !strings.HasPrefix(string(items[0]), `{"n":103,`) {
		t.Fatalf("%d items from %d, %v", len(items), first, err)
	}
	items, first, err = k.Latest(t.Context(), ines, "s", 2, first)
	if err != nil || len(items) != 2 || first != 1 || !strings.HasPrefix(string(items[0]), `{"n":101,`) {
		t.Fatalf("%d items from %d, %v", len(items), first, err)
	}
	items, first, err = k.Latest(t.Context(), ines, "s", MaxLatest, first)
	if err != nil || len(items) != 1 || first != 0 || !strings.HasPrefix(string(items[0]), `{"n":100,`) {
		t.Errorf("%d items from %d, %v", len(items), first, err)
	}
}
