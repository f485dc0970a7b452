// Package checkpointtest is the conformance suite of the checkpoint port: every back-end passes it.
package checkpointtest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/lab/checkpoint"
	"github.com/mneme-memory/mneme/shared/fault"
)

// Backend is a store under test.
type Backend struct {
	// Store is new and empty, or shared with stores of other tests: the suite never uses a run twice.
	Store checkpoint.Store
	// Advance moves the store's clock on by d. Nil means the real clock; then the suite waits.
	Advance func(d time.Duration)
}

// Factory makes a store that keeps runs for ttl; it cleans up with t.
type Factory func(t *testing.T, ttl time.Duration) Backend

// Run runs the whole suite.
func Run(t *testing.T, factory Factory) {
	s := suite{factory}
	t.Run("bodies come back as they were written", s.roundTrip)
	t.Run("the largest body comes back, and a larger one is refused", s.large)
	t.Run("the same key again replaces", s.again)
	t.Run("runs and keys are apart", s.apart)
	t.Run("what is deleted is absent, and the rest is not", s.deletes)
	t.Run("a run is forgotten in time after its last write", s.expiry)
	t.Run("many write one run at a time", s.concurrent)
}

type suite struct{ factory Factory }

var runs atomic.Int64

// newRun returns an unused run.
func newRun() string { return fmt.Sprintf("run/%d/%d", time.Now().UnixNano(), runs.Add(1)) }

func put(t *testing.T, s checkpoint.Store, run, key string, body []byte) {
	t.Helper()
	given := bytes.Clone(body)
	if err := s.Put(t.Context(), run, key, given); err != nil {
		t.Fatalf("put %q: %v", key, err)
	}
	clear(given) // the store has not kept the argument
}

func want(t *testing.T, s checkpoint.Store, run, key string, body []byte) {
	t.Helper()
	for range 2 {
		got, err := s.Get(t.Context(), run, key)
		if err != nil || !bytes.Equal(got, body) {
			t.Fatalf("%q of %q has %d bytes, %v, want the %d that were written", key, run, len(got), err, len(body))
		}
		clear(got) // the result belongs to the caller
	}
}

func wantAbsent(t *testing.T, s checkpoint.Store, run, key string) {
	t.Helper()
	if got, err := s.Get(t.Context(), run, key); !errors.Is(err, checkpoint.ErrAbsent) || got != nil {
		t.Fatalf("%q of %q has %d bytes, %v, want it absent", key, run, len(got), err)
	}
}

// noise returns bytes that do not compress.
func noise(n int) []byte {
	source := rand.NewChaCha8([32]byte{1})
	out := make([]byte, n)
	_, _ = source.Read(out) // never fails
	return out
}

func (suite) bodies() map[string][]byte {
	return map[string][]byte{
		"empty": {}, "zero": {0}, "text": []byte(`{"a":1}`), "noise": noise(3 << 20),
		"repeats": bytes.Repeat([]byte("ab\r\n"), 1<<20),
		"":        []byte("of the empty key"), "a/b:{c}\n\x00*": []byte("of an odd key"),
	}
}

func (s suite) roundTrip(t *testing.T) {
	b, run := s.factory(t, time.Hour).Store, newRun()
	for key, body := range s.bodies() {
		wantAbsent(t, b, run, key)
		put(t, b, run, key, body)
	}
	for key, body := range s.bodies() {
		want(t, b, run, key, body)
	}
}

func (s suite) large(t *testing.T) {
	b, run := s.factory(t, time.Hour).Store, newRun()
	body := append(noise(1<<20), make([]byte, checkpoint.MaxBytes-1<<20)...)
	put(t, b, run, "most", body)
	want(t, b, run, "most", body)
	if err := b.Put(t.Context(), run, "more", append(body, 0)); !fault.IsTerminal(err) {
		t.Errorf("a body of %d bytes: %v, want a terminal error", len(body)+1, err)
	}
	wantAbsent(t, b, run, "more")
	if err := b.DeleteRun(t.Context(), run); err != nil {
		t.Error(err)
	}
}

func (s suite) again(t *testing.T) {
	b, run := s.factory(t, time.Hour).Store, newRun()
	for _, body := range []string{"first, and longer", "second", "second"} {
		put(t, b, run, "k", []byte(body))
		want(t, b, run, "k", []byte(body))
	}
}

func (s suite) apart(t *testing.T) {
	b, base := s.factory(t, time.Hour).Store, newRun()
	names := []string{base, base + "/", base + "}", "{}" + base, base + "*", base + "\n", base + " "}
	for _, run := range names {
		put(t, b, run, "k", []byte(run))
		put(t, b, run, "k ", []byte(run+" "))
	}
	for _, run := range names {
		want(t, b, run, "k", []byte(run))
		want(t, b, run, "k ", []byte(run+" "))
	}
}

func (s suite) deletes(t *testing.T) {
	b, run, other := s.factory(t, time.Hour).Store, newRun(), newRun()
	for _, key := range []string{"a", "b", "c"} {
		put(t, b, run, key, []byte(key))
		put(t, b, other, key, []byte(key))
	}
	for _, keys := range [][]string{nil, {"a", "b", "never was"}, {"a"}} {
		if err := b.Delete(t.Context(), run, keys...); err != nil {
			t.Fatal(err)
		}
	}
	wantAbsent(t, b, run, "a")
	wantAbsent(t, b, run, "b")
	want(t, b, run, "c", []byte("c"))
	for range 2 {
		if err := b.DeleteRun(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		wantAbsent(t, b, run, "c")
	}
	if err := b.Delete(t.Context(), run, "c"); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c"} {
		want(t, b, other, key, []byte(key))
	}
	put(t, b, run, "a", []byte("again"))
	want(t, b, run, "a", []byte("again"))
	wantAbsent(t, b, run, "c")
}

func (s suite) expiry(t *testing.T) {
	ttl := 500 * time.Millisecond
	b, run := s.factory(t, ttl), newRun()
	put(t, b.Store, run, "old", []byte("x"))
	if b.Advance == nil {
		for deadline := time.Now().Add(30 * time.Second); ; {
			if _, err := b.Store.Get(t.Context(), run, "old"); errors.Is(err, checkpoint.ErrAbsent) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatal("it is never forgotten")
			}
		}
	}
	b.Advance(ttl - time.Millisecond)
	put(t, b.Store, run, "young", []byte("y"))
	b.Advance(ttl - time.Millisecond)
	want(t, b.Store, run, "old", []byte("x"))
	b.Advance(2 * time.Millisecond)
	wantAbsent(t, b.Store, run, "old")
	put(t, b.Store, run, "young", []byte("y"))
	wantAbsent(t, b.Store, run, "old")
}

func (s suite) concurrent(t *testing.T) {
	b, run := s.factory(t, time.Hour).Store, newRun()
	g, ctx := errgroup.WithContext(t.Context())
	for i := range 16 {
		g.Go(func() error { return b.Put(ctx, run, fmt.Sprint(i%8), fmt.Append(nil, i%8)) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		want(t, b, run, fmt.Sprint(i), fmt.Append(nil, i))
	}
}
