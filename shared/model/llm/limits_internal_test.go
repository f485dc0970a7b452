package llm

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Concurrent calls learn the ratio that each of them saw, and not its power.
func TestConcurrentCallsLearnTheSameLength(t *testing.T) {
	p := newPromptLength()
	r := Request{User: string(make([]byte, 4000))} // about 1,000 tokens
	const ratio = 1.25
	var raws []float64
	for range 16 {
		_, raw := p.guess("m", r, nil)
		raws = append(raws, raw)
	}
	for _, raw := range raws {
		p.learn("m", raw, int64(raw*ratio))
	}
	if got, raw := p.guess("m", r, nil); got != int64(raw*ratio) {
		t.Errorf("the guess is %d, want %v", got, raw*ratio)
	}
	p.learn("m", 1000, 9000) // one odd count
	before, _ := p.guess("m", r, nil)
	for range 100 {
		p.refused("m")
	}
	if after, raw := p.guess("m", r, nil); after >= before || float64(after) > raw*1.01 {
		t.Errorf("after a hundred prompts that were not sent the guess is %d of %v, before %d", after, raw, before)
	}
}

func TestWhatIsAskedForNobodyWaitsForNobody(t *testing.T) {
	r := newTokenRate(60)
	r.use("", 1_000_000)
	if r.excess("") >= 0 || r.wait(t.Context(), "") != nil || len(r.spent) != 0 {
		t.Error("calls for no tenant share a debt")
	}
}

// A connection that cannot be made in time is a deadline as well, and the fault of the endpoint. A caller that
// cancels is not.
func TestTheBreakerTellsTheEndpointFromTheCaller(t *testing.T) {
	var unreachable error = &net.OpError{Op: "dial", Err: context.DeadlineExceeded}
	b := newBreaker(Breaker{Failures: 3, Pause: time.Hour}, slog.New(slog.DiscardHandler))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 5 {
		if err := b.run(gone, time.Minute, func(context.Context) error { return unreachable }); !errors.Is(err, unreachable) {
			t.Fatalf("of a caller that went away: %v", err)
		}
	}
	for range 3 {
		if err := b.run(t.Context(), time.Minute, func(context.Context) error {
			return unreachable
		}); !errors.Is(err, unreachable) {
			t.Fatalf("got %v", err)
		}
	}
	if err := b.run(t.Context(), time.Minute, func(context.Context) error { return nil }); !errors.Is(err, errLeftAlone) {
		t.Errorf("after three that could not connect: %v", err)
	}
}

// The call that tests whether the endpoint works again is never a call that waits for its tenant's turn.
func TestACallThatWaitsDoesNotKeepOthersFromAnEndpointThatIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := DefaultConfig()
		cfg.Model, cfg.Retry.Max, cfg.TokensPerMinute = "m", 0, 60
		cfg.Breaker = Breaker{Failures: 1, Pause: time.Second}
		c, err := NewClient(cfg, Deps{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.try(t.Context(), RoleFilter, "other", func(context.Context) error {
			return errors.New("away")
		}); err == nil {
			t.Fatal("no error")
		}
		time.Sleep(2 * time.Second) // the pause is over
		c.rate.use("indebted", 1000)
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		waiting.Go(func() { _, _ = c.try(ctx, RoleFilter, "indebted", func(context.Context) error { return nil }) })
		synctest.Wait()
		if _, err := c.try(t.Context(), RoleFilter, "other", func(context.Context) error { return nil }); err != nil {
			t.Errorf("another tenant's call: %v", err)
		}
		cancel()
		waiting.Wait()
	})
}

// An impatient caller gives its place up until its turn comes, but not once it has begun.
func TestWhoIsImpatientComesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := DefaultConfig()
		cfg.Model, cfg.TokensPerMinute = "m", 600
		c, err := NewClient(cfg, Deps{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx := fault.WithPatience(t.Context(), time.Second)
		spends := func(context.Context) error { c.rate.use("acme", 900); return nil }
		began := time.Now()
		for range 2 {
			if _, err := c.try(ctx, RoleFilter, "acme", spends); err != nil {
				t.Errorf("what has begun waits: %v", err)
			}
		}
		if took := time.Since(began).Round(time.Second); took != 30*time.Second {
			t.Errorf("the second call came after %s, want half a minute", took)
		}
		var later *fault.LaterError
		n, err := c.try(fault.WithPatience(t.Context(), time.Second), RoleFilter, "acme", spends)
		if n != 0 || !errors.As(err, &later) || later.After.Round(time.Second) != 90*time.Second ||
			!errors.Is(err, ErrUnavailable) {
			t.Errorf("%d attempts, %v; want none, and again in 90 s", n, err)
		}
		if _, err := c.try(fault.WithPatience(t.Context(), 2*time.Minute), RoleFilter, "acme", spends); err != nil {
			t.Errorf("who is patient enough waits: %v", err)
		}
	})
}

// A caller waited for a place while other calls used up the tenant's tokens. It also waits for those tokens.
func TestABacklogDoesNotRunOverTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := DefaultConfig()
		cfg.Model, cfg.TokensPerMinute, cfg.TenantConcurrency = "m", 600, 1
		c, err := NewClient(cfg, Deps{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		began := time.Now()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				_, err := c.try(t.Context(), RoleFilter, "acme", func(context.Context) error {
					c.rate.use("acme", 1200)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(began).Round(time.Minute); took != 3*time.Minute {
			t.Errorf("3,600 tokens at 600 a minute took %s, want a minute, and two more, before the second and the third call",
				took)
		}
	})
}
