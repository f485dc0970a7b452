package llm

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
)

// waitingNow counts callers in the queue. The order of service shows only when all of them wait.
func (g *fairQueue) waitingNow() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, q := range g.tenants {
		n += len(q.waiting)
	}
	return n
}

// serve lets callers queue behind one place, then serves them one by one and returns the order of tenants.
func serve(t *testing.T, weights map[string]int, callers []string) []string {
	t.Helper()
	g := newFairQueue(8, 1, weights)
	first, err := g.enter(t.Context(), "first")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan string)
	for i, tenant := range callers {
		go func() {
			leave, err := g.enter(context.Background(), tenant)
			if err != nil {
				t.Error(err)
			}
			served <- tenant
			leave()
		}()
		for g.waitingNow() != i+1 {
			runtime.Gosched()
		}
	}
	first()
	var order []string
	for range callers {
		order = append(order, <-served)
	}
	for g.size() != 0 {
		runtime.Gosched()
	}
	return order
}

func (g *fairQueue) size() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.tenants)
}

func TestPlacesGoToTheTenantThatHadLeast(t *testing.T) {
	order := serve(t, nil, []string{"big", "big", "big", "big", "big", "small"})
	if at := slices.Index(order, "small"); at > 1 {
		t.Errorf("the small tenant was served after %d of the big one: %v", at, order)
	}
}

func TestWeightsShareThePlaces(t *testing.T) {
	var callers []string
	for range 6 {
		callers = append(callers, "gold", "tin")
	}
	order := serve(t, map[string]int{"gold": 2}, callers)
	gold := 0
	for _, tenant := range order[:6] {
		if tenant == "gold" {
			gold++
		}
	}
	if gold != 4 {
		t.Errorf("gold had %d of the first 6 places, want 4: %v", gold, order)
	}
}

func TestCancelledWaitersLeaveNothingBehind(t *testing.T) {
	g := newFairQueue(1, 1, nil)
	leave, err := g.enter(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.enter(ctx, "b"); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	leave()
	if n := g.size(); n != 0 {
		t.Errorf("%d tenants are remembered, want none", n)
	}
}
