package utilizer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/bank"
	"github.com/mneme-memory/mneme/shared/memory"
)

// The cache library's sweeper is a goroutine that it gives no way to end.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/hashicorp/golang-lru/v2/expirable.NewLRU[...].func1"))
}

var (
	ana = memory.Scope{Tenant: "acme", User: "ana"}
	eva = memory.Scope{Tenant: "acme", User: "eva"}
)

// asking counts how often the bank is asked, and answers with that number.
type asking struct {
	cache *utilizer.Cache
	calls int
	err   error
}

func (a *asking) answer(context.Context) ([]bank.Scored, error) {
	a.calls++
	return []bank.Scored{{Score: float64(a.calls)}}, a.err
}

// search returns the number of the call that its answer comes from.
func (a *asking) search(t *testing.T, scope memory.Scope, q utilizer.Request) float64 {
	t.Helper()
	found, err := a.cache.Search(t.Context(), scope, q, false, a.answer)
	if err != nil {
		t.Fatal(err)
	}
	return found[0].Score
}

func query(text string) utilizer.Request {
	return utilizer.Request{User: "ana", Query: text, Candidates: 20, Memories: 5, WordBudget: 250}
}

func TestWhatIsCached(t *testing.T) {
	more, words := query("where"), query("where")
	more.Candidates, words.WordBudget = 50, 20
	tests := []struct {
		name   string
		scope  memory.Scope
		second utilizer.Request
		hit    bool
	}{
		{"the same query", ana, query("where"), true},
		{"the same query with another word budget", ana, words, true},
		{"another query", ana, query("when"), false},
		{"more candidates", ana, more, false},
		{"another user's query", eva, query("where"), false},
		{"the same user of another tenant", memory.Scope{Tenant: "beta", User: "ana"}, query("where"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := &asking{cache: utilizer.NewCache(10, time.Hour)}
			a.search(t, ana, query("where"))
			if got := a.search(t, tt.scope, tt.second); (got == 1) != tt.hit {
				t.Errorf("the answer is that of call %v, want a hit: %t", got, tt.hit)
			}
		})
	}
}

func TestAChangeDropsTheUserAndNobodyElse(t *testing.T) {
	a := &asking{cache: utilizer.NewCache(10, time.Hour)}
	a.search(t, ana, query("where"))
	a.search(t, eva, query("where"))
	a.cache.Drop(ana)
	if got := a.search(t, ana, query("where")); got != 3 {
		t.Errorf("ana is answered by call %v, want a new one", got)
	}
	if got := a.search(t, eva, query("where")); got != 2 {
		t.Errorf("eva is answered by call %v, want the one before", got)
	}
}

func TestAnAnswerOnItsWayDuringADropIsNotKept(t *testing.T) {
	a := &asking{cache: utilizer.NewCache(10, time.Hour)}
	found, err := a.cache.Search(t.Context(), ana, query("where"), false, func(ctx context.Context) ([]bank.Scored, error) {
		a.cache.Drop(ana) // the bank was read, then written, before the answer is here
		return a.answer(ctx)
	})
	if err != nil || found[0].Score != 1 {
		t.Fatalf("got %v, %v", found, err)
	}
	if got := a.search(t, ana, query("where")); got != 2 {
		t.Errorf("answered by call %v: the stale answer was kept", got)
	}
}

func TestErrorsAreNotKept(t *testing.T) {
	a := &asking{cache: utilizer.NewCache(10, time.Hour), err: errors.New("bank is away")}
	if _, err := a.cache.Search(t.Context(), ana, query("where"), false, a.answer); !errors.Is(err, a.err) {
		t.Fatalf("got %v", err)
	}
	a.err = nil
	if got := a.search(t, ana, query("where")); got != 2 {
		t.Errorf("answered by call %v", got)
	}
}

func TestQueriesOfAUserAreBounded(t *testing.T) {
	const queries, bound = 200, 32
	a := &asking{cache: utilizer.NewCache(10, time.Hour)}
	for n := range queries {
		a.search(t, ana, query(fmt.Sprint("query ", n)))
	}
	hits := 0
	for n := range queries {
		before := a.calls
		a.search(t, ana, query(fmt.Sprint("query ", queries-1-n)))
		if a.calls == before {
			hits++
		}
	}
	if hits > bound {
		t.Errorf("%d of %d answers were kept, want at most %d", hits, queries, bound)
	}
}

func TestUsersAreBounded(t *testing.T) {
	a := &asking{cache: utilizer.NewCache(2, time.Hour)}
	for _, user := range []string{"a", "b", "c"} {
		a.search(t, memory.Scope{Tenant: "acme", User: user}, query("where"))
	}
	if got := a.search(t, memory.Scope{Tenant: "acme", User: "a"}, query("where")); got != 4 {
		t.Errorf("answered by call %v, want the user used least to be forgotten", got)
	}
	if got := a.search(t, memory.Scope{Tenant: "acme", User: "c"}, query("where")); got != 3 {
		t.Errorf("answered by call %v, want the newest user's to be kept", got)
	}
}

func TestAnswersOutliveTheirTimeByNothing(t *testing.T) {
	a := &asking{cache: utilizer.NewCache(10, time.Millisecond)}
	a.search(t, ana, query("where"))
	for a.search(t, ana, query("where")) == 1 {
		if t.Context().Err() != nil {
			t.Fatal("the answer is kept for ever")
		}
	}
}

func TestNoCache(t *testing.T) {
	for name, cache := range map[string]*utilizer.Cache{
		"no users": utilizer.NewCache(0, time.Hour), "no time": utilizer.NewCache(10, 0),
	} {
		t.Run(name, func(t *testing.T) {
			a := &asking{cache: cache}
			a.search(t, ana, query("where"))
			a.cache.Drop(ana)
			if got := a.search(t, ana, query("where")); got != 2 {
				t.Errorf("answered by call %v", got)
			}
		})
	}
}
