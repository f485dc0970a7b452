package idempotency_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/idempotency"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
	"github.com/mneme-memory/mneme/test/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ines = memory.Scope{Tenant: "acme", User: "ines"}

// open returns a store over a new Redis.
func open(t *testing.T, o idempotency.Options) (*idempotency.Store, *miniredis.Miniredis) {
	t.Helper()
	server := miniredis.RunT(t)
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	return idempotency.New(client, o), server
}

func TestOnEveryRedis(t *testing.T) {
	redistest.Each(t, func(t *testing.T, addr string) {
		client := goredis.NewClient(&goredis.Options{Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1})
		t.Cleanup(func() { _ = client.Close() })
		store := idempotency.New(client, idempotency.Options{Timeout: time.Minute})
		note(t, store, ines, "s1", memory.Turn{ID: "t1"})
		scope := idempotency.Scope{Tenant: "acme", User: "ines", Route: "POST turns", Credential: "KEY"}
		_, claim, err := store.Begin(t.Context(), scope, "k", nil)
		if err == nil {
			err = claim.Finish(t.Context(), idempotency.Stored{Status: 200, Body: []byte("tea")})
		}
		if err != nil {
			t.Fatal(err)
		}
		if answer, _, err := store.Begin(t.Context(), scope, "k", nil); err != nil || string(answer.Body) != "tea" {
			t.Errorf("the answer is %v, %v", answer, err)
		}
		count(t, store, ines, "e1", 5)
		if err := store.Erase(t.Context(), ines, "e1"); err != nil {
			t.Fatal(err)
		}
		count(t, store, ines, "", 0)
		if _, _, err := store.Begin(t.Context(), scope, "k", nil); !errors.Is(err, idempotency.ErrErased) {
			t.Errorf("the same request again: %v", err)
		}
		if err := store.NoteTurns(t.Context(), ines, "0", "s1", nil); !errors.Is(err, redisstore.ErrErased) {
			t.Errorf("a note of a request that began before: %v", err)
		}
	})
}

// begin returns the token of a request that begins now.
func begin(t *testing.T, store *idempotency.Store, scope memory.Scope) redisstore.Token {
	t.Helper()
	_, token, err := store.Reused(t.Context(), scope, "s", nil)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func note(t *testing.T, store *idempotency.Store, scope memory.Scope, session string, turns ...memory.Turn) {
	t.Helper()
	if err := store.NoteTurns(t.Context(), scope, begin(t, store, scope), session, turns); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, store *idempotency.Store, scope memory.Scope, erasure string, want int) {
	t.Helper()
	if n, err := store.Count(t.Context(), scope, erasure); err != nil || n != want {
		t.Errorf("%d are kept of %s for the erasure %q, %v, want %d", n, scope.User, erasure, err, want)
	}
}

// Turns published before the erasure are not recorded after it.
func TestANoteOfARequestThatBeganBeforeTheErasureIsRefused(t *testing.T) {
	store, _ := open(t, idempotency.Options{})
	began := begin(t, store, ines)
	if err := store.Erase(t.Context(), ines, "e1"); err != nil {
		t.Fatal(err)
	}
	err := store.NoteTurns(t.Context(), ines, began, "s", []memory.Turn{{ID: "t1", Text: "tea"}})
	if !errors.Is(err, redisstore.ErrErased) {
		t.Errorf("got %v", err)
	}
	count(t, store, ines, "", 0)
}

// A request claimed before the erasure stores no answer after it, and is not carried out again.
func TestAnAnswerOfARequestThatBeganBeforeTheErasureIsNotKept(t *testing.T) {
	store, redis := open(t, idempotency.Options{})
	scope := idempotency.Scope{Tenant: "acme", User: "ines", Route: "POST turns", Credential: "KEY"}
	_, claim, err := store.Begin(t.Context(), scope, "k", nil)
	if err != nil {
		t.Fatal(err)
	}
	count(t, store, ines, "e1", 1)
	if err := store.Erase(t.Context(), ines, "e1"); err != nil {
		t.Fatal(err)
	}
	if err := claim.Finish(t.Context(), idempotency.Stored{Status: 200, Body: []byte("tea")}); err != nil {
		t.Fatal(err)
	}
	count(t, store, ines, "", 0)
	if strings.Contains(redis.Dump(), "answer") {
		t.Errorf("an answer is kept: %s", redis.Dump())
	}
	if _, _, err := store.Begin(t.Context(), scope, "k", nil); !errors.Is(err, idempotency.ErrErased) {
		t.Errorf("the same request again: %v", err)
	}
}

// Data stored after an erasure stays, however often the same erasure repeats.
func TestARepeatedErasureLeavesWhatCameAfterIt(t *testing.T) {
	store, _ := open(t, idempotency.Options{})
	note(t, store, ines, "s1", memory.Turn{ID: "t1"})
	count(t, store, ines, "e1", 4)
	scope := idempotency.Scope{Tenant: "acme", User: "ines", Route: "POST turns", Credential: "KEY"}
	for range 3 {
		if err := store.Erase(t.Context(), ines, "e1"); err != nil {
			t.Fatal(err)
		}
		note(t, store, ines, "s1", memory.Turn{ID: "t2"})
	}
	_, claim, err := store.Begin(t.Context(), scope, "k", nil)
	if err == nil {
		err = claim.Finish(t.Context(), idempotency.Stored{Status: 200})
	}
	if err == nil {
		err = store.Erase(t.Context(), ines, "e1")
	}
	if err != nil {
		t.Fatal(err)
	}
	count(t, store, ines, "e1", 0)
	count(t, store, ines, "", 5)
	if answer, _, err := store.Begin(t.Context(), scope, "k", nil); err != nil || answer == nil {
		t.Errorf("the answer is lost: %v", err)
	}
	if err := store.Erase(t.Context(), ines, "e2"); err != nil {
		t.Fatal(err)
	}
	count(t, store, ines, "", 0)
}

// An accepted erasure stays known after it is carried out.
func TestAnErasureStaysKnown(t *testing.T) {
	store, _ := open(t, idempotency.Options{})
	if err := errors.Join(store.NoteErasure(t.Context(), ines, "e1"), store.Erase(t.Context(), ines, "e1")); err != nil {
		t.Fatal(err)
	}
	if known, err := store.Knows(t.Context(), ines, idempotency.Erasure, "e1"); err != nil || !known {
		t.Errorf("known: %t, %v", known, err)
	}
}

func TestAcceptedTurnsAreKnown(t *testing.T) {
	at := time.Date(2026, 1, 2, 23, 59, 0, 0, time.UTC)
	store, redis := open(t, idempotency.Options{Now: func() time.Time { return at }})
	ines, ben := memory.Scope{Tenant: "acme", User: "ines"}, memory.Scope{Tenant: "acme", User: "ben"}
	knows := func(s memory.Scope, id string, want bool) {
		t.Helper()
		if got, err := store.Knows(t.Context(), s, idempotency.Turn, id); err != nil || got != want {
			t.Errorf("%v knows %s: %t, %v", s, id, got, err)
		}
	}
	note(t, store, ines, "s1", memory.Turn{ID: "t1"}, memory.Turn{ID: "t2"})
	at = at.Add(23 * time.Hour)
	knows(ines, "t1", true)
	knows(ines, "t3", false)
	knows(ben, "t1", false)
	if got, err := store.Knows(t.Context(), ines, idempotency.Session, "t1"); err != nil || got {
		t.Errorf("a turn is taken for a session: %v", err)
	}
	note(t, store, ines, "s1", memory.Turn{ID: "t3"})
	if err := store.Erase(t.Context(), ines, ""); err != nil {
		t.Fatal(err)
	}
	knows(ines, "t1", false)
	knows(ines, "t3", false)
	note(t, store, ines, "s1", memory.Turn{ID: "t1"})
	redis.FastForward(2 * idempotency.DefaultKeep)
	knows(ines, "t1", false)
}

// An id with another text is distinguished from a repeated turn, over days, and by user. A failed read is an error.
func TestTurnsWhoseIDWasUsedAreFound(t *testing.T) {
	at := time.Date(2026, 1, 2, 23, 59, 0, 0, time.UTC)
	store, redis := open(t, idempotency.Options{Now: func() time.Time { return at }})
	ines := memory.Scope{Tenant: "acme", User: "ines"}
	turn := func(id, text string) memory.Turn { return memory.Turn{ID: id, Text: text} }
	note(t, store, ines, "s", turn("t1", "one"), turn("t2", "two"))
	at = at.Add(2 * time.Minute) // another day
	reused := func(scope memory.Scope, session string, want []int, turns ...memory.Turn) {
		t.Helper()
		if got, _, err := store.Reused(t.Context(), scope, session, turns); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v in %s: %v, %v, want %v", turns, session, got, err, want)
		}
	}
	reused(ines, "s", nil, turn("t1", "one"), turn("t2", "two"), turn("t3", "three"))
	reused(ines, "s", []int{1}, turn("t1", "one"), turn("t2", "other"))
	reused(ines, "s2", []int{0, 2}, turn("t1", "one"), turn("t3", "three"), turn("t2", "two"))
	reused(memory.Scope{Tenant: "acme", User: "ben"}, "s", nil, turn("t1", "other"))
	if known, err := store.Knows(t.Context(), ines, idempotency.Session, "s"); err != nil || !known {
		t.Errorf("the session is known: %t, %v", known, err)
	}
	if err := store.Erase(t.Context(), ines, ""); err != nil {
		t.Fatal(err)
	}
	reused(ines, "s", nil, turn("t1", "other"))
	redis.Close()
	if _, _, err := store.Reused(t.Context(), ines, "s", []memory.Turn{turn("t1", "one")}); err == nil {
		t.Error("without Redis it says that it knows")
	}
}

// lateAnswer delays the answer to the first script.
type lateAnswer struct{ goredis.Hook }

func (h *lateAnswer) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	first := true
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		if strings.HasPrefix(cmd.Name(), "eval") && err == nil && first {
			first = false
			cmd.SetErr(context.DeadlineExceeded)
			return context.DeadlineExceeded
		}
		return err
	}
}

func (h *lateAnswer) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (h *lateAnswer) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// A claim with a late answer leaves no record in Redis that refuses the repeated request.
func TestAClaimWhoseAnswerIsLateIsGivenBack(t *testing.T) {
	client := goredis.NewClient(&goredis.Options{Addr: miniredis.RunT(t).Addr(), ContextTimeoutEnabled: true,
		MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	client.AddHook(&lateAnswer{})
	store, scope := idempotency.New(client, idempotency.Options{}), idempotency.Scope{Tenant: "acme"}
	if _, _, err := store.Begin(t.Context(), scope, "k", nil); !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if _, claim, err := store.Begin(t.Context(), scope, "k", nil); err != nil || claim == nil {
		t.Errorf("the request made again: %v", err)
	}
}

// breaking is a connection that closes at the first answer "claimed".
type breaking struct {
	net.Conn
	broke *atomic.Bool
}

func (c breaking) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if bytes.Contains(p[:n], []byte("claimed")) && c.broke.CompareAndSwap(false, true) {
		_ = c.Close()
		return 0, io.EOF
	}
	return n, err
}

// If a connection breaks after a claim, the client claims again, and that is the same request.
func TestAClaimThatIsMadeAgainIsTheSame(t *testing.T) {
	var broke atomic.Bool
	client := goredis.NewClient(&goredis.Options{
		Addr: miniredis.RunT(t).Addr(), ContextTimeoutEnabled: true,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return breaking{conn, &broke}, err
		},
	})
	t.Cleanup(func() { _ = client.Close() })
	store, scope := idempotency.New(client, idempotency.Options{}), idempotency.Scope{Tenant: "acme"}
	if _, claim, err := store.Begin(t.Context(), scope, "k", nil); err != nil || claim == nil || !broke.Load() {
		t.Errorf("got %v; the connection broke: %t", err, broke.Load())
	}
	if _, _, err := store.Begin(t.Context(), scope, "k", nil); !errors.Is(err, idempotency.ErrInFlight) {
		t.Errorf("another request meanwhile: %v", err)
	}
}
