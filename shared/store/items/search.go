package items

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// readAtOnce is the number of items per read from Redis in a search.
const readAtOnce = 100

// Found is the result of a search without values. Read reads the values, because the values of many searches would
// need too much memory.
type Found struct {
	search   Search
	question question
	matching []match
	scanned  int
	err      error
}

// match is an item in a search result, with its state at the time of the search. The state of an unread item is
// empty.
type match struct {
	member, updated string
	score           float64
}

// Search runs searches of a user's items, and reads the items once for all searches. An error of a single search is
// returned by Read.
func (s *Store) Search(ctx context.Context, scope memory.Scope, searches ...Search) ([]Found, error) {
	for _, q := range searches {
		if err := q.Check(); err != nil {
			return nil, err
		}
	}
	members, err := s.names(ctx, scope)
	if err != nil {
		return nil, err
	}
	out := make([]Found, len(searches))
	var scans []*Found
	for i, q := range searches {
		out[i] = Found{search: q, question: newQuestion(q.Query)}
		if q.reads() {
			scans = append(scans, &out[i])
		} else {
			out[i].matching = pageOfNames(members, q)
		}
	}
	if len(scans) == 0 {
		return out, nil
	}
	leave, err := s.scans.enter(ctx, scope.Tenant)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := s.scan(ctx, scope, members, scans); err != nil {
		return nil, err
	}
	for _, f := range scans {
		rank(f.matching)
		f.matching = page(f.matching, f.search.Offset, f.search.Limit)
	}
	return out, nil
}

// reads reports whether the search needs values, and not only names.
func (q Search) reads() bool { return len(q.Filter.conditions) > 0 || q.Query != "" }

// pageOfNames returns the page of a search that needs only names.
func pageOfNames(members []string, q Search) []match {
	var out []match
	skip := q.Offset
	for _, member := range members {
		if !under(nameOf(member).Namespace, q.Prefix) {
			continue
		}
		if skip--; skip >= 0 {
			continue
		}
		if out = append(out, match{member: member}); len(out) == q.Limit {
			break
		}
	}
	return out
}

// under reports whether a namespace equals a prefix or is in it.
func under(n, prefix Namespace) bool {
	return len(n) >= len(prefix) && slices.Equal(n[:len(prefix)], prefix)
}

// scan compares items with searches, in order, and reads the items that a search needs.
func (s *Store) scan(ctx context.Context, scope memory.Scope, members []string, searches []*Found) error {
	some := make([]string, 0, readAtOnce)
	for i, member := range members {
		namespace := nameOf(member).Namespace
		if slices.ContainsFunc(searches, func(f *Found) bool { return f.needs(namespace) }) {
			some = append(some, member)
		}
		if len(some) < readAtOnce && i+1 < len(members) || len(some) == 0 {
			continue
		}
		err := s.read(ctx, scope, some, func(item Item, updated string, size int) error {
			c := &content{value: item.Value}
			for _, f := range searches {
				if err := f.matchItem(item, updated, size, c, s.most); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		some = some[:0]
	}
	return nil
}

// needs reports whether an item of a namespace may be a result. Without a query, a full page needs no more items.
func (f *Found) needs(n Namespace) bool {
	enough := f.search.Query == "" && len(f.matching) >= f.most()
	return f.err == nil && !enough && under(n, f.search.Prefix)
}

// most is the number of best matches for the page.
func (f *Found) most() int { return f.search.Offset + f.search.Limit }

// matchItem compares an item with the search.
func (f *Found) matchItem(item Item, updated string, size int, c *content, most int) error {
	if !f.needs(item.Namespace) {
		return nil
	}
	if f.scanned += size; f.scanned > most {
		f.err = fmt.Errorf("%w: the search would read more than %d MiB: give a longer namespace_prefix", ErrTooLarge,
			MaxScan>>20)
		return nil
	}
	score, matches, err := f.match(c)
	if err != nil || !matches {
		return err
	}
	f.matching = append(f.matching, match{item.member(), updated, score})
	if len(f.matching) >= 2*f.most() {
		rank(f.matching)
		f.matching = f.matching[:f.most()]
	}
	return nil
}

// match reports whether a value meets the search, and returns its share of the query.
func (f *Found) match(c *content) (score float64, matches bool, err error) {
	matches, err = f.search.Filter.matches(c)
	if err != nil || !matches || f.search.Query == "" {
		return 0, matches, err
	}
	score, err = f.question.score(c)
	return score, score > 0, err
}

// Read reads the results of a search. It omits items that have changed and no longer match.
func (s *Store) Read(ctx context.Context, scope memory.Scope, f Found) ([]Item, error) {
	if f.err != nil || len(f.matching) == 0 {
		return nil, f.err
	}
	at := make(map[string]match, len(f.matching))
	members := make([]string, len(f.matching))
	for i, m := range f.matching {
		members[i], at[m.member] = m.member, m
	}
	var out []Item
	err := s.read(ctx, scope, members, func(item Item, updated string, _ int) error {
		m, matches, err := at[item.member()], true, error(nil)
		if m.updated != updated { // also for an unread item
			m.score, matches, err = f.match(&content{value: item.Value})
		}
		if item.Score = m.score; matches {
			out = append(out, item)
		}
		return err
	})
	return out, err
}

// read reads items, and passes existing ones to a function with their update time and stored size. An error of the
// function means that the value has an unknown form.
func (s *Store) read(
	ctx context.Context, scope memory.Scope, members []string, pass func(item Item, updated string, size int) error,
) error {
	args := make([]any, len(members))
	for i, member := range members {
		args[i] = member
	}
	kept, err := s.Eval(ctx, "read items", s.scripts.read, s.itemKeys(scope.Tenant, redisstore.Hash(scope.User)), args...)
	if err != nil {
		return err
	}
	fields, err := kept.StringSlice()
	if err != nil || len(fields) != 2*len(members) {
		return unreadable("read items", err)
	}
	for i, member := range members {
		updated, text := fields[2*i], fields[2*i+1]
		if updated == "" {
			continue
		}
		item, err := itemOf(nameOf(member), updated, text)
		if err == nil {
			err = pass(item, updated, len(text))
		}
		if err != nil {
			return unreadable("read items", err)
		}
	}
	return nil
}

// ScansAtOnce is the maximum number of parallel searches per tenant and replica that compare items with a filter or a
// query. They use CPU time that all tenants' calls need.
const ScansAtOnce = 1

// RetrySearch is how long a caller should wait before it repeats a search refused with ErrBusy.
const RetrySearch = 2 * time.Second

// gate limits the parallel scans of a tenant. Others wait in order.
type gate struct {
	wait    time.Duration
	mu      sync.Mutex
	tenants map[string]*turnstile
}

func newGate(wait time.Duration) *gate { return &gate{wait: wait, tenants: map[string]*turnstile{}} }

// turnstile is a tenant's gate. It exists while a scan runs or waits.
type turnstile struct {
	*semaphore.Weighted
	users int
}

// enter waits until a scan of the tenant may run, and returns a function that ends it. Its error is ErrBusy, or the
// error of the caller's ctx.
func (g *gate) enter(ctx context.Context, tenant string) (leave func(), err error) {
	g.mu.Lock()
	t, ok := g.tenants[tenant]
	if !ok {
		t = &turnstile{Weighted: semaphore.NewWeighted(ScansAtOnce)}
		g.tenants[tenant] = t
	}
	t.users++
	g.mu.Unlock()
	forget := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(g.tenants, tenant)
		}
	}
	waiting, cancel := context.WithTimeout(ctx, g.wait)
	defer cancel()
	if err := t.Acquire(waiting, 1); err != nil {
		forget()
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: send fewer at a time, or give longer namespace prefixes", ErrBusy)
	}
	return func() { t.Release(1); forget() }, nil
}
