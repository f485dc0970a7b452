package items

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is the start time of tests.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var (
	ines = memory.Scope{Tenant: "acme", User: "ines"}
	ben  = memory.Scope{Tenant: "acme", User: "ben"}
	beta = memory.Scope{Tenant: "beta", User: "ines"}
)

// kept is a store over a Redis with a manual clock.
type kept struct {
	*Store
	t     *testing.T
	redis *miniredis.Miniredis
	log   *lockedBuffer
}

// token returns the token of a request that begins now.
func (k *kept) token(scope memory.Scope) redisstore.Token {
	k.t.Helper()
	token, err := k.Token(k.t.Context(), scope)
	if err != nil {
		k.t.Error(err)
	}
	return token
}

func open(t *testing.T, sweep ...time.Duration) *kept {
	t.Helper()
	k := &kept{t: t, redis: miniredis.RunT(t), log: &lockedBuffer{}}
	k.redis.SetTime(start)
	o := Options{Log: slog.New(slog.NewTextHandler(k.log, nil))}
	for _, o.Sweep = range sweep {
	}
	client := goredis.NewClient(&goredis.Options{Addr: k.redis.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	k.Store = New(client, o)
	return k
}

// bound sets the maximum number of items per tenant.
func (k *kept) bound(items int) { k.o.Items = items }

// counts fails the test unless acme has the given number of items.
func (k *kept) counts(want int64) {
	k.t.Helper()
	if n, err := k.OfTenant(k.t.Context(), "acme"); err != nil || n != want {
		k.t.Errorf("%d items are counted, want %d (%v)", n, want, err)
	}
}

// at sets the clock to a time after the start.
func (k *kept) at(after time.Duration) { k.redis.SetTime(start.Add(after)) }

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// named parses the name "a.b/key".
func named(text string) Name {
	namespace, key, _ := strings.Cut(text, "/")
	return Name{strings.Split(namespace, "."), key}
}

func object(t *testing.T, text string) Object {
	t.Helper()
	o, err := NewObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (k *kept) put(scope memory.Scope, name, value string, ttl ...time.Duration) {
	k.t.Helper()
	p := Put{Name: named(name), Value: object(k.t, value)}
	for _, p.TTL = range ttl {
	}
	if err := k.Put(k.t.Context(), scope, k.token(scope), p); err != nil {
		k.t.Fatal(err)
	}
}

// place writes an item directly to Redis as a put at the start would. It is for large numbers of items.
func (k *kept) place(scope memory.Scope, name, value string) {
	k.t.Helper()
	keys, member := k.itemKeys(scope.Tenant, redisstore.Hash(scope.User)), named(name).member()
	if _, err := k.redis.ZAdd(keys[0], float64(start.UnixMicro()), member); err != nil {
		k.t.Fatal(err)
	}
	k.redis.HSet(keys[2], member, fmt.Sprintf("%d 0 %s", start.UnixMicro(), value))
}

// value returns the value of a name. It is empty without an item.
func (k *kept) value(scope memory.Scope, name string) string {
	k.t.Helper()
	item, ok, err := k.Get(k.t.Context(), scope, named(name))
	if err != nil || ok != (item.Value != nil) {
		k.t.Fatal(err, ok)
	}
	return string(item.Value)
}

// find returns the results of one search.
func (k *kept) find(ctx context.Context, scope memory.Scope, q Search) ([]Item, error) {
	found, err := k.Search(ctx, scope, q)
	if err != nil {
		return nil, err
	}
	return k.Read(ctx, scope, found[0])
}

// search returns the keys of the results, with scores for a query.
func (k *kept) search(scope memory.Scope, q Search) string {
	k.t.Helper()
	if q.Limit == 0 {
		q.Limit = 10
	}
	items, err := k.find(k.t.Context(), scope, q)
	if err != nil {
		k.t.Fatal(err)
	}
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = item.Key
		if q.Query != "" {
			out[i] += fmt.Sprintf(" %.2f", item.Score)
		}
	}
	return strings.Join(out, ", ")
}

func (k *kept) namespaces(scope memory.Scope, l Listing) string {
	k.t.Helper()
	if l.Limit == 0 {
		l.Limit = 100
	}
	list, err := k.Namespaces(k.t.Context(), scope, l)
	if err != nil {
		k.t.Fatal(err)
	}
	return fmt.Sprint(list)
}

// append and pop are safe for concurrent use in a test.
func (k *kept) append(scope memory.Scope, session, once string, items ...string) int {
	k.t.Helper()
	objects := make([]Object, len(items))
	for i, item := range items {
		objects[i] = Object(item)
	}
	n, err := k.Append(k.t.Context(), scope, k.token(scope), Call{session, once}, objects)
	if err != nil {
		k.t.Error(err)
	}
	return n
}

func (k *kept) pop(scope memory.Scope, session, once string) string {
	k.t.Helper()
	item, ok, err := k.Pop(k.t.Context(), scope, k.token(scope), Call{session, once})
	if err != nil || ok != (len(item) > 0) {
		k.t.Error(err, ok)
	}
	return string(item)
}

func (k *kept) latest(scope memory.Scope, session string, limit int) string {
	k.t.Helper()
	items, _, err := k.Latest(k.t.Context(), scope, session, limit, 0)
	if err != nil {
		k.t.Fatal(err)
	}
	return fmt.Sprintf("%s", items)
}

// refused fails the test unless an error wraps an error of the package and contains a text.
func refused(t *testing.T, err, want error, detail string) {
	t.Helper()
	if !errors.Is(err, want) || !strings.Contains(err.Error(), detail) {
		t.Errorf("got %v, want %v: %s", err, want, detail)
	}
}

// invalid fails the test unless an error is terminal, names a field and contains a text.
func invalid(t *testing.T, err error, field, detail string) {
	t.Helper()
	if !fault.IsTerminal(err) || fault.Field(err) != field || !strings.Contains(err.Error(), detail) {
		t.Errorf("got %v, want %s: %s", err, field, detail)
	}
}

// eventually waits until a condition holds.
func eventually(ctx context.Context, t *testing.T, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatal("it does not come about")
		case <-tick.C:
		}
	}
}
