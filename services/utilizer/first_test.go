package utilizer_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// recalled makes a recall of a user.
func recalled(t *testing.T, r *utilizer.Recaller, scope memory.Scope) utilizer.Result {
	t.Helper()
	q := where
	q.User = scope.User
	got, err := r.Recall(t.Context(), tenant.Tenant{ID: scope.Tenant, Policy: tenant.PolicyEmbedded}, q)
	if err != nil || len(got.Degraded) != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	return got
}

// newCounted returns a recaller with a counting bank.
func newCounted(t *testing.T, o utilizer.IndexCacheOptions) (*utilizer.Recaller, *counting) {
	t.Helper()
	r := newRecaller(t)
	b := &counting{Bank: r.Bank}
	r.Bank, r.Indexes = b, newIndexCache(t, b, o)
	return r, b
}

func TestAWarmRecallAsksNoBank(t *testing.T) {
	r, b := newCounted(t, roomy)
	first := recalled(t, r, ana)
	asked := b.searched()
	second := recalled(t, r, ana)
	if b.searched() != asked || b.of(ana) != 1 {
		t.Errorf("the second recall had %d searches made, and the user read %d times", b.searched()-asked, b.of(ana))
	}
	if !slices.Equal(contents(first.Evidence.Memories), contents(second.Evidence.Memories)) ||
		len(second.Evidence.Memories) != 2 {
		t.Errorf("first %q, then %q", contents(first.Evidence.Memories), contents(second.Evidence.Memories))
	}
}

func TestAUserWithoutMemoriesHasAnIndexToo(t *testing.T) {
	r, b := newCounted(t, roomy)
	for range 3 {
		if got := recalled(t, r, eva); len(got.Evidence.Memories) != 0 || got.Weights != "" {
			t.Errorf("got %+v", got)
		}
	}
	if b.of(eva) != 1 || b.searched() != 1 {
		t.Errorf("read %d times, searched %d times", b.of(eva), b.searched())
	}
}

func TestAFirstRecallWaitsForTheIndexOnlySoLong(t *testing.T) {
	table()
	synctest.Test(t, func(t *testing.T) {
		r, b := newCounted(t, roomy)
		r.IndexTimeout = 50 * time.Millisecond
		b.hold = make(chan struct{})
		began := time.Now()
		got := recalled(t, r, ana)
		if took := time.Since(began); took != r.IndexTimeout || !got.Searched ||
			len(got.Evidence.Memories) != 2 || b.searched() != 1 || got.Weights == "" {
			t.Errorf("after %s and %d searches: %+v", took, b.searched(), got)
		}
		if !strings.HasPrefix(got.Evidence.Memories[0].Value, "Ana (2026-03-01): I") {
			t.Errorf("what a search found carries the dialogue %q", got.Evidence.Memories[0].Value)
		}
		close(b.hold)
		r.Indexes.Fetch(ana)()
		if again := recalled(t, r, ana); again.Searched || b.searched() != 1 || b.of(ana) != 1 {
			t.Errorf("%d searches and %d reads, want the index that came late to be used", b.searched(), b.of(ana))
		}
	})
}

func TestTheSearchThatServesAFirstRecallLooksDeeperThanItsCandidates(t *testing.T) {
	r, b := newCounted(t, utilizer.IndexCacheOptions{})
	if recalled(t, r, ana); b.depth != 200 {
		t.Errorf("the bank is asked for %d memories, want as many as reranking can make use of", b.depth)
	}
	q := where
	q.Unranked = true
	if _, err := r.Recall(t.Context(), acme, q); err != nil || b.depth != q.Candidates {
		t.Errorf("in the bank's order, it is asked for %d memories, want %d: %v", b.depth, q.Candidates, err)
	}
}

func TestRecallsAtOnceMakeOneIndex(t *testing.T) {
	r, b := newCounted(t, roomy)
	b.hold, b.begun = make(chan struct{}), make(chan memory.Scope)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() { recalled(t, r, ana) })
	}
	<-b.begun
	b.hold <- struct{}{}
	group.Wait()
	if b.of(ana) != 1 {
		t.Errorf("the user was read %d times", b.of(ana))
	}
}

func TestWhoIsTooLargeIsSearchedAndNotReadAgain(t *testing.T) {
	few, small, narrow := roomy, roomy, roomy
	few.Entries = len(facts) - 1
	small.Bytes = 4 << 10  // one read returns less than the user's memories
	narrow.Bytes = 5 << 10 // only the index is too large
	for name, o := range map[string]utilizer.IndexCacheOptions{"too many": few, "too much": small,
		"too much when indexed": narrow} {
		t.Run(name, func(t *testing.T) {
			table()
			synctest.Test(t, func(t *testing.T) {
				r, b := newCounted(t, o)
				for i := range 3 {
					if got := recalled(t, r, ana); len(got.Evidence.Memories) != 2 || b.searched() != i+1 {
						t.Errorf("recall %d has %q after %d searches", i, contents(got.Evidence.Memories), b.searched())
					}
					r.Indexes.Drop(ana) // one more memory makes no user smaller
				}
				if b.of(ana) != 1 {
					t.Errorf("read %d times", b.of(ana))
				}
				<-time.After(o.Fresh + 1)
				if recalled(t, r, ana); b.of(ana) != 2 {
					t.Errorf("read %d times, want once more after a while: memories may have gone", b.of(ana))
				}
			})
		})
	}
}

func TestWhoSaysTooMuchIsSearchedToo(t *testing.T) {
	o := roomy
	o.Entries = len(facts)
	r, b := newCounted(t, o)
	if err := r.Bank.Write(t.Context(), ana, memory.Write{Turns: []memory.Turn{{ID: "more", SessionID: "s1",
		Speaker: "Ana",
		Role:    memory.RoleUser, Text: "Well.", Time: now}}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		recalled(t, r, ana)
	}
	if b.of(ana) != 1 || b.searched() != 2 {
		t.Errorf("read %d times, searched %d times", b.of(ana), b.searched())
	}
}

func TestNoIndexCache(t *testing.T) {
	r, b := newCounted(t, utilizer.IndexCacheOptions{})
	for range 2 {
		recalled(t, r, ana)
	}
	if b.of(ana) != 0 || b.searched() != 2 {
		t.Errorf("read %d times, searched %d times", b.of(ana), b.searched())
	}
}

func TestRetrievalOrderAsksNeitherRerankerNorIndexCache(t *testing.T) {
	r, b := newCounted(t, roomy)
	r.Ranker = unavailableRanker{}
	q := where
	q.Unranked = true
	got, err := r.Recall(t.Context(), acme, q)
	if err != nil || len(got.Degraded) != 0 || got.Weights != "" || b.of(ana) != 0 {
		t.Fatalf("got %+v, %v; the user was read %d times", got, err, b.of(ana))
	}
	vectors, err := r.Embedder.Embed(t.Context(), []string{q.Query})
	if err != nil {
		t.Fatal(err)
	}
	want, err := r.Bank.Search(t.Context(), ana,
		bank.Query{Text: q.Query, Vector: vectors[0], K: q.Candidates, Alpha: r.Alpha})
	if err != nil || len(got.Retrieved) != len(want) || len(got.Ranked) != q.Memories {
		t.Fatalf("%d are retrieved and %d shown, want %d: %v", len(got.Retrieved), len(got.Ranked), len(want), err)
	}
	for i, s := range got.Retrieved {
		if s.Memory.ID != want[i].Memory.ID || s.Score != want[i].Score ||
			i < q.Memories && got.Ranked[i].Memory.ID != s.Memory.ID {
			t.Errorf("place %d has %q with %v, want %q with %v", i, s.Memory.Content, s.Score, want[i].Memory.Content,
				want[i].Score)
		}
	}
}

// Banks with one failing read.
type (
	unavailableSearch struct{ bank.Bank }
	unavailableList   struct{ bank.Bank }
)

func (unavailableSearch) Search(context.Context, memory.Scope, bank.Query) ([]bank.Scored, error) {
	return nil, errUnavailable
}

func (unavailableList) List(context.Context, memory.Scope, bank.ListOptions) (bank.Page, error) {
	return bank.Page{}, errUnavailable
}

func TestASearchThatFailsIsNotNeededWhereTheIndexIsReady(t *testing.T) {
	r := newRecaller(t)
	r.Bank = unavailableSearch{r.Bank}
	for range 2 {
		if got := recalled(t, r, ana); len(got.Evidence.Memories) != 2 {
			t.Errorf("got %q", contents(got.Evidence.Memories))
		}
	}
}

func TestAnIndexThatCannotBeMadeIsNotNeededWhereTheSearchAnswers(t *testing.T) {
	r := newRecaller(t)
	r.Indexes = newIndexCache(t, unavailableList{r.Bank}, roomy)
	for range 2 {
		if got := recalled(t, r, ana); len(got.Evidence.Memories) != 2 {
			t.Errorf("got %q", contents(got.Evidence.Memories))
		}
	}
	r.Bank = unavailableTurns{r.Bank}
	got, err := r.Recall(t.Context(), acme, where)
	if err != nil || len(got.Degraded) != 1 || got.Degraded[0] != "dialogue_unavailable" || len(got.Profile.Cited) != 2 {
		t.Errorf("without the turns: %+v, %v", got, err)
	}
}

// silentSearch blocks until the caller cancels.
type silentSearch struct{ bank.Bank }

func (silentSearch) Search(ctx context.Context, _ memory.Scope, _ bank.Query) ([]bank.Scored, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestASearchThatIsSlowerThanTheIndexIsNotWaitedFor(t *testing.T) {
	r := newRecaller(t)
	r.Bank = silentSearch{r.Bank}
	if got := recalled(t, r, ana); len(got.Evidence.Memories) != 2 {
		t.Errorf("got %q", contents(got.Evidence.Memories))
	}
}
