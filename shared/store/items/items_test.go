package items

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

func TestAPutIsReadAtOnceAndAsItCame(t *testing.T) {
	k := open(t)
	k.put(ines, "a.b/k", `{"n": 1.50e2, "big": 12345678901234567890.10, "s": "<é> "}`)
	item, ok, err := k.Get(t.Context(), ines, named("a.b/k"))
	if err != nil || !ok || string(item.Value) != `{"n":1.50e2,"big":12345678901234567890.10,"s":"<é> "}` {
		t.Fatal(item, ok, err)
	}
	if item.member() != "a.b..k" || !item.CreatedAt.Equal(start) || !item.UpdatedAt.Equal(start) || item.Score != 0 {
		t.Errorf("got %+v", item)
	}
	k.at(time.Hour)
	k.put(ines, "a.b/k", `{"n":2}`)
	item, _, _ = k.Get(t.Context(), ines, named("a.b/k"))
	if string(item.Value) != `{"n":2}` || !item.CreatedAt.Equal(start) || !item.UpdatedAt.Equal(start.Add(time.Hour)) {
		t.Errorf("after another put it is %+v", item)
	}
	if err := k.Delete(t.Context(), ines, named("a.b/k")); err != nil || k.value(ines, "a.b/k") != "" {
		t.Errorf("it is not deleted: %v", err)
	}
	if err := k.Delete(t.Context(), ines, named("a.b/k")); err != nil {
		t.Errorf("what is not there cannot be deleted: %v", err)
	}
	k.at(2 * time.Hour)
	k.put(ines, "a.b/k", `{}`)
	if item, _, _ = k.Get(t.Context(), ines, named("a.b/k")); !item.CreatedAt.Equal(start.Add(2 * time.Hour)) {
		t.Errorf("a new one was made at %v", item.CreatedAt)
	}
}

func TestTenantsAndUsersAreApart(t *testing.T) {
	k := open(t)
	scopes := []memory.Scope{ines, ben, beta}
	for i, scope := range scopes {
		k.put(scope, "a/k", fmt.Sprintf(`{"of":%d}`, i))
		k.put(scope, fmt.Sprintf("only%d/k", i), `{}`)
		k.append(scope, "s", "1", fmt.Sprintf(`{"of":%d}`, i))
	}
	for i, scope := range scopes {
		if got, want := k.value(scope, "a/k"), fmt.Sprintf(`{"of":%d}`, i); got != want ||
			k.latest(scope, "s", 10) != "["+want+"]" {
			t.Errorf("%v has %s", scope, got)
		}
		if got, want := k.namespaces(scope, Listing{}), fmt.Sprintf("[[a] [only%d]]", i); got != want {
			t.Errorf("%v has %s", scope, got)
		}
	}
	if err := k.Delete(t.Context(), ben, named("a/k")); err != nil || k.value(ines, "a/k") == "" ||
		k.value(beta, "a/k") == "" {
		t.Errorf("one user deletes another's: %v", err)
	}
	for _, key := range k.redis.Keys() {
		if strings.Contains(key, "ines") || strings.Contains(key, "ben") ||
			!strings.Contains(key, "{acme}") && !strings.Contains(key, "{beta}") {
			t.Errorf("the key %s", key)
		}
	}
}

func TestSearches(t *testing.T) {
	k := open(t)
	for _, put := range [][2]string{
		{"a/1", `{"text":"tea in Porto","n":1}`}, {"a.b/2", `{"text":"Porto","n":2}`}, {"a.b/3", `{"text":"coffee","n":3}`},
		{"ab/4", `{"text":"Porto and tea","n":4}`}, {"c/5", `{"n":5,"list":["tea"]}`},
	} {
		k.put(ines, put[0], put[1])
	}
	k.put(ines, "a.b/2", `{"text":"Porto","n":2}`) // at the same moment, but later in order
	ge2, err := ParseFilter([]byte(`{"n":{"$gte":2}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		query Search
		want  string
	}{
		"the one that was put last first": {Search{}, "2, 5, 4, 3, 1"},
		"under a prefix":                  {Search{Prefix: Namespace{"a"}}, "2, 3, 1"},
		"under a longer one":              {Search{Prefix: Namespace{"a", "b"}}, "2, 3"},
		"under none":                      {Search{Prefix: Namespace{"a", "b", "c"}}, ""},
		"a star is a label":               {Search{Prefix: Namespace{"*"}}, ""},
		"a page":                          {Search{Limit: 2, Offset: 1}, "5, 4"},
		"the last page":                   {Search{Limit: 2, Offset: 4}, "1"},
		"after the last page":             {Search{Limit: 2, Offset: 1000}, ""},
		"a filter":                        {Search{Filter: ge2}, "2, 5, 4, 3"},
		"a page of a filter":              {Search{Filter: ge2, Limit: 2, Offset: 2}, "4, 3"},
		"a query":                         {Search{Query: "tea Porto"}, "4 1.00, 1 1.00, 2 0.50, 5 0.50"},
		"a page of a query":               {Search{Query: "tea Porto", Limit: 2, Offset: 1}, "1 1.00, 2 0.50"},
		"a query and a filter":            {Search{Query: "tea Porto", Filter: ge2, Prefix: Namespace{"a"}}, "2 0.50"},
		"a query of no word":              {Search{Query: "!"}, ""},
	} {
		if got := k.search(ines, c.query); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if got := k.search(ben, Search{}); got != "" {
		t.Errorf("another has %s", got)
	}
}

func TestASearchOfManyReadsInParts(t *testing.T) {
	k := open(t)
	for i := range 3*readAtOnce + 7 {
		k.put(ines, fmt.Sprintf("a/%d", i), fmt.Sprintf(`{"even":%t,"text":"word%d"}`, i%2 == 0, i))
	}
	even, err := ParseFilter([]byte(`{"even":true}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := k.search(ines, Search{Filter: even, Offset: 150}); got != "6, 4, 2, 0" {
		t.Errorf("the last ones are %s", got)
	}
	if got := k.search(ines, Search{Query: "word3 word301"}); got != "301 0.50, 3 0.50" {
		t.Errorf("found %s", got)
	}
}

func TestASearchThatIsTooLarge(t *testing.T) {
	k := open(t)
	k.most = 4 * MaxObject
	large := `{"a":"` + strings.Repeat("x", MaxObject-8) + `"}`
	for i := range 4 {
		k.place(ines, fmt.Sprintf("a.%d/%d", i%2, i), large)
	}
	none, err := ParseFilter([]byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.find(t.Context(), ines, Search{Limit: 1, Filter: none})
	refused(t, err, ErrTooLarge, "give a longer namespace_prefix")
	if got := k.search(ines, Search{Prefix: Namespace{"a", "1"}, Filter: none}); got != "" {
		t.Errorf("found %s", got)
	}
}

func TestScansOfATenantWaitForEachOther(t *testing.T) {
	k := open(t)
	k.put(ines, "a/1", `{"text":"tea"}`)
	k.put(beta, "a/1", `{"text":"tea"}`)
	leave, err := k.scans.enter(t.Context(), ines.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	late, cancel := context.WithDeadline(t.Context(), start)
	defer cancel()
	_, err = k.scans.enter(late, ben.Tenant)
	refused(t, err, ErrBusy, "send fewer at a time")
	waited := make(chan error, 1)
	go func() {
		_, err := k.Search(t.Context(), ben, Search{Limit: 1, Query: "tea"})
		waited <- err
	}()
	eventually(t.Context(), t, func() bool {
		k.scans.mu.Lock()
		defer k.scans.mu.Unlock()
		return k.scans.tenants[ben.Tenant].users == 2
	})
	if got := k.search(beta, Search{Query: "tea"}) + k.search(ines, Search{}); got != "1 1.001" {
		t.Errorf("another tenant's search, and one that scans nothing, find %q", got)
	}
	leave()
	if err := <-waited; err != nil {
		t.Error(err)
	}
	if got := k.search(ines, Search{Query: "tea"}); got != "1 1.00" || len(k.scans.tenants) != 0 {
		t.Errorf("afterwards: %q, %d tenants", got, len(k.scans.tenants))
	}
}

func TestASearchThatWaitsTooLongIsRefused(t *testing.T) {
	k := open(t)
	k.scans.wait = 20 * time.Millisecond
	leave, err := k.scans.enter(t.Context(), ines.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	_, err = k.find(t.Context(), ines, Search{Limit: 1, Query: "tea"})
	refused(t, err, ErrBusy, "send fewer at a time")
}

func TestSearchesThatComeTogetherReadItemsOnce(t *testing.T) {
	k := open(t)
	for i := range 2*readAtOnce + 7 {
		k.put(ines, fmt.Sprintf("a.%d/%d", i%3, i), fmt.Sprintf(`{"third":%d,"text":"word%d of all"}`, i%3, i))
	}
	second, err := ParseFilter([]byte(`{"third":1}`))
	if err != nil {
		t.Fatal(err)
	}
	searches := []Search{{Limit: 2}, {Limit: 3, Query: "word7 word8 all", Offset: 1},
		{Limit: 2, Filter: second, Prefix: Namespace{"a", "1"}},
		{Limit: 5, Query: "palabra word9"}, {Limit: 100, Query: "all", Filter: second},
		{Limit: 1, Prefix: Namespace{"b"}, Query: "all"}}
	for i := range 50 {
		searches = append(searches, Search{Limit: 10, Query: fmt.Sprintf("word%d", i)})
	}
	calls := func(q ...Search) (int, []Found) {
		before := k.redis.CommandCount()
		found, err := k.Search(t.Context(), ines, q...)
		if err != nil {
			t.Fatal(err)
		}
		return k.redis.CommandCount() - before, found
	}
	calls(searches...) // connects
	one, _ := calls(searches[1])
	all, found := calls(searches...)
	if all > one {
		t.Errorf("%d searches ask Redis %d times, one does %d times", len(searches), all, one)
	}
	for i, q := range searches {
		items, err := k.Read(t.Context(), ines, found[i])
		alone, err2 := k.find(t.Context(), ines, q)
		if err != nil || err2 != nil || fmt.Sprint(items) != fmt.Sprint(alone) {
			t.Errorf("search %d finds %v (%v), alone %v (%v)", i, items, err, alone, err2)
		}
	}
}

func TestOfSearchesThatComeTogetherOneThatIsTooLargeFailsAlone(t *testing.T) {
	k := open(t)
	k.most = 2 * MaxObject
	for i := range 4 {
		k.place(ines, fmt.Sprintf("a.%d/%d", i%2, i), `{"a":"`+strings.Repeat("x", MaxObject-40)+` tea"}`)
	}
	found, err := k.Search(t.Context(), ines, Search{Limit: 1, Query: "tea"},
		Search{Limit: 9, Query: "tea", Prefix: Namespace{"a", "0"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.Read(t.Context(), ines, found[0])
	refused(t, err, ErrTooLarge, "give a longer namespace_prefix")
	if items, err := k.Read(t.Context(), ines, found[1]); err != nil || len(items) != 2 {
		t.Errorf("the other finds %d items, %v", len(items), err)
	}
}

func TestWhatHasChangedSinceItWasFoundIsReadAsItIs(t *testing.T) {
	k := open(t)
	for _, name := range []string{"a/1", "a/2", "a/3"} {
		k.put(ines, name, `{"text":"tea"}`)
	}
	found, err := k.Search(t.Context(), ines, Search{Limit: 10, Query: "tea Porto"})
	if err != nil {
		t.Fatal(err)
	}
	k.put(ines, "a/1", `{"text":"coffee"}`)
	k.put(ines, "a/2", `{"text":"tea in Porto"}`)
	items, err := k.Read(t.Context(), ines, found[0])
	if err != nil || len(items) != 2 || items[0].Key != "3" || items[0].Score != 0.5 || items[1].Score != 1 {
		t.Errorf("read %v, %v", items, err)
	}
}

// BenchmarkABatchOfSearches is 100 searches over 3,000 items, Redis included.
func BenchmarkABatchOfSearches(b *testing.B) {
	store := New(goredis.NewClient(&goredis.Options{Addr: miniredis.RunT(b).Addr()}), Options{Timeout: time.Minute})
	defer func() { _ = store.Redis.Close() }()
	for i := range 3000 {
		value := Object(fmt.Sprintf(`{"text":"Ines told that she went to place %d with friend %d."}`, i, i%7))
		if err := store.Put(b.Context(), ines, "0",
			Put{Name: Name{Namespace{"a"}, fmt.Sprint(i)}, Value: value}); err != nil {
			b.Fatal(err)
		}
	}
	searches := make([]Search, 100)
	for i := range searches {
		searches[i] = Search{Query: fmt.Sprintf("Where did Ines go with friend %d?", i), Limit: 10}
	}
	for b.Loop() {
		found, err := store.Search(b.Context(), ines, searches...)
		for _, f := range found {
			if err == nil {
				_, err = store.Read(b.Context(), ines, f)
			}
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func TestItemsOfATenantAreBounded(t *testing.T) {
	k := open(t)
	boundedItems(k)
	k.put(ines, "a/short", `{}`, time.Minute)
	k.at(time.Minute)
	k.counts(1)
	if err := k.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.counts(0)
	k.put(ines, "a/short", `{}`, time.Minute)
	k.at(3 * time.Minute)
	k.put(ines, "a/other", `{}`) // which sweeps
	k.counts(1)
}

// boundedItems checks the store against a quota per tenant, and leaves no items.
func boundedItems(k *kept) {
	t := k.t
	k.bound(6)
	putting := func(scope memory.Scope, name string) error {
		return k.Put(t.Context(), scope, k.token(scope), Put{Name: named(name), Value: object(t, `{}`)})
	}
	appending := func(once string, items ...Object) error {
		_, err := k.Append(t.Context(), ben, k.token(ben), Call{"s", once}, items)
		return err
	}
	one := object(t, `{}`)
	k.put(ines, "a/1", `{}`)
	k.put(ben, "a/1", `{}`)
	k.append(ben, "s", "1", `{}`, `{}`, `{}`)
	k.append(ben, "s", "1", `{}`, `{}`, `{}`) // the same call
	k.put(ines, "a/1", `{"n":2}`)             // replaces one
	refused(t, appending("2", one, one), ErrQuota, "")
	k.append(ben, "s", "2", `{}`) // a refused call may be repeated
	k.counts(6)
	refused(t, putting(ines, "a/2"), ErrQuota, "")
	refused(t, appending("3", one), ErrQuota, "")
	k.put(ines, "a/1", `{"n":3}`)
	k.put(beta, "a/1", `{}`)
	if err := k.Erase(t.Context(), beta, ""); err != nil {
		t.Error(err)
	}
	for range 2 { // deletes once
		if err := k.Delete(t.Context(), ines, named("a/1")); err != nil {
			t.Fatal(err)
		}
		k.counts(5)
	}
	k.put(ines, "a/2", `{}`)
	k.pop(ben, "s", "p")
	k.pop(ben, "s", "p")
	k.counts(5)
	if err := k.Clear(t.Context(), ben, "s"); err != nil {
		t.Fatal(err)
	}
	k.counts(2)
	k.append(ines, "s", "1", `{}`, `{}`)
	k.append(ines, "t", "1", `{}`)
	if err := k.Erase(t.Context(), ines, ""); err != nil {
		t.Fatal(err)
	}
	k.counts(1)
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 10 {
				_, _ = putting(ines, fmt.Sprintf("w/%d.%d", w, i)), appending(fmt.Sprintf("w%d.%d", w, i), one)
			}
		})
	}
	all.Wait()
	k.counts(6)
	for _, scope := range []memory.Scope{ines, ben} {
		if err := k.Erase(t.Context(), scope, ""); err != nil {
			t.Error(err)
		}
	}
	k.counts(0)
	k.bound(0)
}

func TestItemsExpire(t *testing.T) {
	k := open(t)
	k.put(ines, "a/short", `{"text":"tea"}`, time.Minute)
	k.put(ines, "b/long", `{"text":"tea"}`, time.Hour)
	k.put(ines, "c/ever", `{"text":"tea"}`)
	shown := func() string {
		return fmt.Sprintf("%s; %s; %s; %s", k.value(ines, "a/short"), k.search(ines, Search{}),
			k.search(ines, Search{Query: "tea"}),
			k.namespaces(ines, Listing{}))
	}
	before := `{"text":"tea"}; ever, long, short; ever 1.00, long 1.00, short 1.00; [[a] [b] [c]]`
	after := `; ever, long; ever 1.00, long 1.00; [[b] [c]]`
	k.at(time.Minute - time.Microsecond)
	if got := shown(); got != before {
		t.Errorf("before it expires: %s", got)
	}
	k.at(time.Minute)
	if got := shown(); got != after {
		t.Errorf("when it has expired: %s", got)
	}
	k.put(ines, "a/short", `{}`)
	item, ok, err := k.Get(t.Context(), ines, named("a/short"))
	if err != nil || !ok || !item.CreatedAt.Equal(start.Add(time.Minute)) {
		t.Errorf("a new one is %+v, %v", item, err)
	}
	k.put(ines, "b/long", `{}`) // for ever from now on
	k.at(100 * time.Hour)
	if got := k.search(ines, Search{}); got != "long, short, ever" {
		t.Errorf("there are %s", got)
	}
}

func TestARefreshHasAnItemLiveAsLongAgain(t *testing.T) {
	k := open(t)
	k.put(ines, "a/k", `{"x":1}`, time.Minute)
	k.put(ines, "a/other", `{}`, time.Minute)
	k.at(50 * time.Second)
	item, ok, err := k.Refresh(t.Context(), ines, named("a/k"))
	if err != nil || !ok || string(item.Value) != `{"x":1}` || !item.UpdatedAt.Equal(start) {
		t.Fatal(item, ok, err)
	}
	k.at(109 * time.Second)
	if k.value(ines, "a/k") == "" || k.value(ines, "a/other") != "" {
		t.Error("it is not refreshed, or what was only read is")
	}
	k.at(110 * time.Second)
	if k.value(ines, "a/k") != "" {
		t.Error("it does not expire")
	}
	if _, ok, err := k.Refresh(t.Context(), ines, named("a/k")); ok || err != nil {
		t.Error("what has expired is refreshed", err)
	}
	k.put(ines, "a/ever", `{}`)
	if _, ok, err := k.Refresh(t.Context(), ines, named("a/ever")); !ok || err != nil {
		t.Error(err)
	}
	k.at(1000 * time.Hour)
	if k.value(ines, "a/ever") == "" {
		t.Error("what is kept for ever expires once it is refreshed")
	}
}

func TestWhatHasExpiredIsRemoved(t *testing.T) {
	k := open(t, time.Millisecond)
	for i := range sweptItems + 5 {
		k.put(ines, fmt.Sprintf("a/%d", i), `{"text":"secret"}`, time.Minute)
	}
	k.put(ben, "a/k", `{"text":"kept"}`, time.Hour)
	k.put(beta, "a/k", `{"text":"secret"}`, time.Minute)
	k.at(time.Minute)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- k.Run(ctx) }()
	eventually(t.Context(), t, func() bool { return !strings.Contains(k.redis.Dump(), "secret") })
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if k.value(ben, "a/k") == "" || k.log.String() != "" {
		t.Errorf("too much is removed, or logged: %s", k.log)
	}
	due := k.Key("acme", "due")
	if users, err := k.redis.ZMembers(due); err != nil || !slices.Equal(users, []string{redisstore.Hash("ben")}) {
		t.Errorf("there is something to be removed of %v, %v", users, err)
	}
	k.at(2 * time.Hour)
	if err := k.sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if k.redis.Exists(due) || strings.Contains(k.redis.Dump(), "kept") {
		t.Errorf("something is left: %s", k.redis.Dump())
	}
}

func TestASweepThatFailsIsTriedAgain(t *testing.T) {
	k := open(t)
	k.put(ines, "a/k", `{}`, time.Minute)
	k.at(time.Hour)
	k.redis.SetError("LOADING")
	if err := k.sweep(t.Context()); !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	k.redis.SetError("")
	if err := k.sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if k.redis.Exists(k.Key("acme", "due")) {
		t.Error("it is not tried again")
	}
}

func TestAUserHasSoManyItems(t *testing.T) {
	k := open(t)
	for i := range MaxItems - 1 {
		k.place(ines, fmt.Sprintf("a/%d", i), "{}")
	}
	k.put(ines, "b/last", `{}`, time.Minute)
	more := Put{Name: named("b/more"), Value: object(t, `{}`)}
	refused(t, k.Put(t.Context(), ines, k.token(ines), more), ErrManyItems, "has 10000 items")
	k.put(ines, "a/5", `{"x":1}`) // replaces one
	k.put(ben, "b/more", `{}`)
	if err := k.Delete(t.Context(), ines, named("a/7")); err != nil {
		t.Fatal(err)
	}
	k.put(ines, "b/more", `{}`)
	refused(
		t,
		k.Put(t.Context(), ines, k.token(ines), Put{Name: named("b/evenmore"), Value: object(t, `{}`)}),
		ErrManyItems,
		"has 10000 items",
	)
	k.at(time.Minute) // one has expired
	k.put(ines, "b/evenmore", `{}`)
	if got := k.search(ines, Search{Limit: 3, Offset: 9_998}); strings.Count(got, ",") != 1 {
		t.Errorf("the last ones are %s", got)
	}
}

func TestLimits(t *testing.T) {
	k := open(t)
	x := func(n int) string { return strings.Repeat("x", n) }
	labels := func(n int) Namespace { return slices.Repeat(Namespace{"a"}, n) }
	value := object(t, `{}`)
	for _, c := range []struct {
		put           Put
		field, detail string
	}{
		{Put{Name: Name{nil, "k"}, Value: value}, "namespace", "has no label"},
		{Put{Name: Name{labels(17), "k"}, Value: value}, "namespace", "has 17 labels"},
		{Put{Name: Name{Namespace{"a", ""}, "k"}, Value: value}, "namespace[1]", "is 0 bytes long"},
		{Put{Name: Name{Namespace{x(257)}, "k"}, Value: value}, "namespace[0]", "is 257 bytes long, want 1 to 256"},
		{Put{Name: Name{Namespace{"a", "b.c"}, "k"}, Value: value}, "namespace[1]", "has a dot"},
		{Put{Name: Name{labels(1), ""}, Value: value}, "key", "is 0 bytes long"},
		{Put{Name: Name{labels(1), x(1025)}, Value: value}, "key", "is 1025 bytes long"},
		{Put{Name: Name{labels(1), "k"}, Value: value, TTL: time.Second - 1}, "ttl_seconds",
			"is out of range, want 1 to 315360000"},
		{Put{Name: Name{labels(1), "k"}, Value: value, TTL: -time.Second}, "ttl_seconds", "is out of range"},
		{Put{Name: Name{labels(1), "k"}, Value: value, TTL: MaxTTL + 1}, "ttl_seconds", "is out of range"},
	} {
		invalid(t, k.Put(t.Context(), ines, k.token(ines), c.put), c.field, c.detail)
		if c.field == "ttl_seconds" {
			continue
		}
		_, _, err := k.Get(t.Context(), ines, c.put.Name)
		invalid(t, err, c.field, c.detail)
		invalid(t, k.Delete(t.Context(), ines, c.put.Name), c.field, c.detail)
	}
	for _, c := range []struct {
		search Search
		field  string
	}{
		{Search{Limit: 0}, "limit"}, {Search{Limit: 101}, "limit"}, {Search{Limit: 1, Offset: -1}, "offset"},
		{Search{Limit: 1, Offset: MaxOffset + 1}, "offset"}, {Search{Limit: 1, Prefix: labels(17)}, "namespace_prefix"},
		{Search{Limit: 1, Query: x(memory.MaxQueryBytes + 1)}, "query"},
	} {
		_, err := k.find(t.Context(), ines, c.search)
		invalid(t, err, c.field, "")
	}
	for _, c := range []struct {
		listing Listing
		field   string
	}{
		{Listing{Limit: 0}, "limit"}, {Listing{Limit: 1001}, "limit"}, {Listing{Limit: 1, Offset: -1}, "offset"},
		{Listing{Limit: 1, MaxDepth: 17}, "max_depth"}, {Listing{Limit: 1, Prefix: Namespace{""}}, "prefix[0]"},
		{Listing{Limit: 1, Suffix: Namespace{"a", "."}}, "suffix[1]"},
	} {
		_, err := k.Namespaces(t.Context(), ines, c.listing)
		invalid(t, err, c.field, "")
	}
	longest := Put{Name: Name{slices.Repeat(Namespace{x(256)}, 16), x(1024)}, Value: value, TTL: MaxTTL}
	if err := k.Put(t.Context(), ines, k.token(ines), longest); err != nil {
		t.Error(err)
	}
}

func TestWithoutRedis(t *testing.T) {
	k := open(t)
	k.redis.SetError("LOADING of secrets")
	ctx, name := t.Context(), named("a/k")
	call, items := Call{"s", "1"}, []Object{object(t, `{}`)}
	for what, do := range map[string]func() error{
		"put":        func() error { return k.Put(ctx, ines, "0", Put{Name: name, Value: items[0]}) },
		"a TTL":      func() error { return k.Put(ctx, ines, "0", Put{Name: name, Value: items[0], TTL: time.Hour}) },
		"delete":     func() error { return k.Delete(ctx, ines, name) },
		"get":        func() error { _, _, err := k.Get(ctx, ines, name); return err },
		"search":     func() error { _, err := k.find(ctx, ines, Search{Limit: 1}); return err },
		"namespaces": func() error { _, err := k.Namespaces(ctx, ines, Listing{Limit: 1}); return err },
		"append":     func() error { _, err := k.Append(ctx, ines, "0", call, items); return err },
		"pop":        func() error { _, _, err := k.Pop(ctx, ines, "0", call); return err },
		"latest":     func() error { _, _, err := k.Latest(ctx, ines, "s", 1, 0); return err },
		"clear":      func() error { return k.Clear(ctx, ines, "s") },
		"of tenant":  func() error { _, err := k.OfTenant(ctx, "acme"); return err },
		"count":      func() error { _, err := k.Count(ctx, ines, ""); return err },
		"erase":      func() error { return k.Erase(ctx, ines, "") },
		"token":      func() error { _, err := k.Token(ctx, ines); return err },
	} {
		if err := do(); !errors.Is(err, fault.ErrUnavailable) || !strings.Contains(err.Error(), "LOADING") {
			t.Errorf("%s: %v", what, err)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	refused(t, k.Delete(gone, ines, name), context.Canceled, "")
}

func TestWhatNoStoreWroteIsAnError(t *testing.T) {
	k := open(t)
	k.put(ines, "a/k", `{}`)
	items := k.itemKeys(ines.Tenant, redisstore.Hash(ines.User))[2]
	for _, record := range []string{"", "x", "1 2", "x 0 {}"} {
		k.redis.HSet(items, "a..k", record)
		_, _, err := k.Get(t.Context(), ines, named("a/k"))
		refused(t, err, errForm, "")
		_, err = k.find(t.Context(), ines, Search{Limit: 1})
		refused(t, err, errForm, "")
	}
}
