package utilizer_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/store/bank"
	bankinmem "github.com/mneme-memory/mneme/shared/store/bank/inmem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ana = memory.Scope{Tenant: "acme", User: "ana"}
	eva = memory.Scope{Tenant: "acme", User: "eva"}

	table = sync.OnceValue(wordvector.Shipped)
	// roomy is an index cache that is large enough for a whole test.
	roomy = utilizer.IndexCacheOptions{Bytes: 64 << 20, Entries: 20_000, Fresh: time.Hour}
)

func newIndexCache(t testing.TB, b bank.Bank, o utilizer.IndexCacheOptions) *utilizer.IndexCache {
	t.Helper()
	s := utilizer.NewIndexCache(b, table(), o, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// counting counts the calls of a bank, and can block the reads of all memories of a user.
type counting struct {
	bank.Bank
	mu       sync.Mutex
	read     map[memory.Scope]int
	searches int
	// depth is the number of memories that the last search requested.
	depth int
	// sources is the maximum number of turns in a request for entries.
	sources int
	// hold blocks each read until it receives a value, if it is not nil.
	hold chan struct{}
	// begun receives the users of started reads, if it is not nil.
	begun chan memory.Scope
}

func (c *counting) List(ctx context.Context, scope memory.Scope, o bank.ListOptions) (bank.Page, error) {
	if o.Sources != nil { // not all memories of the user
		c.mu.Lock()
		c.sources = max(c.sources, len(o.Sources))
		c.mu.Unlock()
		return c.Bank.List(ctx, scope, o)
	}
	c.mu.Lock()
	if c.read == nil {
		c.read = map[memory.Scope]int{}
	}
	c.read[scope]++
	c.mu.Unlock()
	page, err := c.Bank.List(ctx, scope, o)
	if c.begun != nil {
		select {
		case c.begun <- scope:
		case <-ctx.Done():
		}
	}
	if c.hold != nil {
		select {
		case <-c.hold:
		case <-ctx.Done():
			return bank.Page{}, ctx.Err()
		}
	}
	return page, err
}

func (c *counting) Search(ctx context.Context, scope memory.Scope, q bank.Query) ([]bank.Scored, error) {
	c.mu.Lock()
	c.searches++
	c.depth = q.K
	c.mu.Unlock()
	return c.Bank.Search(ctx, scope, q)
}

// of returns the number of reads of a user; searched returns the number of searches.
func (c *counting) of(scope memory.Scope) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read[scope]
}

func (c *counting) searched() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.searches
}

// crowd is a bank of users u0, u1, .... Each has more memories than the one before, up to twenty.
func crowd(t *testing.T, users int) *counting {
	t.Helper()
	b := bankinmem.New(builtin.Dimension)
	vectors, err := builtin.New().Embed(t.Context(), []string{"Somebody owns a kite."})
	if err != nil {
		t.Fatal(err)
	}
	for u := range users {
		var w memory.Write
		for i := range u%20 + 1 {
			turn := fmt.Sprint("t", i)
			w.Put = append(w.Put, memory.Memory{
				ID: memory.DeriveID(one(u), []string{turn}, 0), Kind: memory.KindFact,
				Content: fmt.Sprintf("Somebody owns %d kites.", i),
				Status:  memory.StatusActive,
				Version: 1, RecordedAt: now, ValidFrom: now, Sources: []string{turn}, SessionID: "s1", Vector: vectors[0],
			})
		}
		if err := b.Write(t.Context(), one(u), w); err != nil {
			t.Fatal(err)
		}
	}
	return &counting{Bank: b}
}

func one(user int) memory.Scope { return memory.Scope{Tenant: "acme", User: fmt.Sprint("u", user)} }

func TestTheIndexCacheNeverTakesMoreThanItsBytes(t *testing.T) {
	const users = 20
	b := crowd(t, users)
	rapid.Check(t, func(rt *rapid.T) {
		o := roomy
		o.Bytes = rapid.SampledFrom([]int{0, 100, 1 << 10, 20 << 10, 150 << 10, 1 << 20}).Draw(rt, "bytes")
		s := utilizer.NewIndexCache(b, table(), o, slog.New(slog.DiscardHandler))
		defer s.Close()
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			user := one(rapid.IntRange(0, users-1).Draw(rt, "user"))
			if rapid.IntRange(0, 3).Draw(rt, "drop") == 0 {
				s.Drop(user)
			} else {
				s.Fetch(user)()
			}
			if account, sum, n := s.Held(); account != sum || account > o.Bytes || (n == 0) != (account == 0) {
				rt.Fatalf("%d entries take %d bytes, %d by its account, of at most %d", n, sum, account, o.Bytes)
			}
		}
	})
}

func TestTheIndexCacheKeepsThoseWhoAreAskedOften(t *testing.T) {
	o := roomy
	b := crowd(t, 20)
	o.Bytes = 200 << 10 // for a few of them
	s := newIndexCache(t, b, o)
	for u := range 20 {
		s.Fetch(one(u))()
		for range 5 {
			s.Fetch(one(0))()
		}
	}
	_, _, n := s.Held()
	if !s.Has(one(0)) || b.of(one(0)) != 1 || n < 2 || n > 15 {
		t.Errorf("%d users are kept, the one who was asked often: %t, after %d reads", n, s.Has(one(0)), b.of(one(0)))
	}
}

func TestALoadThatIsOvertakenByAChangeIsNotKept(t *testing.T) {
	b := crowd(t, 1)
	b.hold, b.begun = make(chan struct{}), make(chan memory.Scope)
	s := newIndexCache(t, b, roomy)
	first := s.Fetch(one(0))
	<-b.begun
	s.Drop(one(0))
	second := s.Fetch(one(0)) // starts again, in parallel with the first
	<-b.begun
	b.hold <- struct{}{}
	b.hold <- struct{}{}
	first()
	second()
	if !s.Has(one(0)) || b.of(one(0)) != 2 {
		t.Errorf("read %d times, and kept: %t; want the second load kept", b.of(one(0)), s.Has(one(0)))
	}
}

// overtaken blocks the reads of a bank one by one.
type overtaken struct {
	bank.Bank
	reads chan chan struct{}
}

func (o overtaken) List(ctx context.Context, scope memory.Scope, l bank.ListOptions) (bank.Page, error) {
	proceed := make(chan struct{})
	o.reads <- proceed
	<-proceed
	return o.Bank.List(ctx, scope, l)
}

func TestTheEndOfAnOvertakenLoadHidesNoLaterChange(t *testing.T) {
	b := overtaken{crowd(t, 1), make(chan chan struct{})}
	s := newIndexCache(t, b, roomy)
	first := s.Fetch(one(0))
	goFirst := <-b.reads
	s.Drop(one(0))
	second := s.Fetch(one(0))
	goSecond := <-b.reads
	close(goFirst)
	s.Drop(one(0)) // while the second load runs
	close(goSecond)
	goThird := <-b.reads // because the first two came too early
	if s.Has(one(0)) {
		t.Error("what was read before the second change is kept")
	}
	close(goThird)
	first()
	second()
	if !s.Has(one(0)) {
		t.Error("what was read after the last change is not kept")
	}
}

func TestAnIndexIsGoodForItsTime(t *testing.T) {
	b := crowd(t, 1)
	table()
	synctest.Test(t, func(t *testing.T) {
		s := newIndexCache(t, b, roomy)
		s.Fetch(one(0))()
		<-time.After(roomy.Fresh - time.Nanosecond)
		if !s.Has(one(0)) {
			t.Error("gone before its time")
		}
		<-time.After(time.Nanosecond)
		if s.Has(one(0)) {
			t.Error("kept beyond its time")
		}
		if account, _, n := s.Held(); account != 0 || n != 0 {
			t.Errorf("%d entries of %d bytes are left", n, account)
		}
	})
}

func TestCloseWaitsForWhatIsOnItsWay(t *testing.T) {
	b := crowd(t, 8)
	b.hold, b.begun = make(chan struct{}), make(chan memory.Scope)
	s := newIndexCache(t, b, roomy)
	var waits []func()
	for u := range 8 { // more than run in parallel
		waits = append(waits, s.Fetch(one(u)))
	}
	<-b.begun
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, wait := range append(waits, s.Fetch(one(0)), s.Fetch(one(3))) {
		wait()
	}
	if _, _, n := s.Held(); n != 0 || s.Close() != nil {
		t.Errorf("%d are kept of what was given up", n)
	}
}
