package consolidation_test

import (
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// A consolidation removes talk that the tenant's current setting no longer keeps.
func TestAConsolidationRemovesOldTalk(t *testing.T) {
	for name, c := range map[string]struct {
		began, signalled int
		want             []int // days of the removals
	}{
		"for ever": {0, 0, nil}, "as the signal says": {0, 30, []int{30}}, "no longer": {30, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			env, s := newRun(t)
			env.RegisterDelayedCallback(func() {
				env.SignalWorkflow(consolidation.SignalEvents, consolidation.Signal{
					Events: []consolidation.Event{turn("s1", 1), closed("s1")}, Strategy: "salimory", Policy: "embedded",
					TalkDays: c.signalled,
				})
			}, 0)
			p := params()
			p.TalkDays = c.began
			finish(t, env, p)
			if len(s.applied) != 1 || len(s.expired) != len(c.want) {
				t.Fatalf("got %d consolidations and the removals %+v, want 1 and %d", len(s.applied), s.expired, len(c.want))
			}
			for i, days := range c.want {
				if in := s.expired[i]; in.Scope != p.Scope || !in.Before.Equal(in.Now.AddDate(0, 0, -days)) {
					t.Errorf("got %+v, want %d days", in, days)
				}
			}
		})
	}
}

func TestExpiredTalkLeavesTheBank(t *testing.T) {
	s := newShop(t)
	s.consolidate(t, batchOf(1, "I live in Porto."), start)
	page, err := s.Bank.List(t.Context(), owner, bank.ListOptions{WithVectors: true})
	if err != nil || len(page.Memories) == 0 {
		t.Fatalf("got %+v, %v", page, err)
	}
	kept := page.Memories[0]
	var talk []memory.Memory
	for i, at := range []time.Time{start.AddDate(0, 0, -31), start.AddDate(0, 0, -29)} {
		m := kept
		m.ID, m.Tier, m.ValidFrom = memory.DeriveID(owner, []string{"talk"}, i), memory.TierTalk, at
		talk = append(talk, m)
	}
	if err := s.Bank.Write(t.Context(), owner, memory.Write{Put: talk}); err != nil {
		t.Fatal(err)
	}
	s.announced.changes = nil
	for range 2 {
		in := consolidation.ExpireTalkInput{Scope: owner, Before: start.AddDate(0, 0, -30), Now: start}
		if err := s.ExpireTalk(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	left, err := s.Bank.List(t.Context(), owner, bank.ListOptions{Tiers: []memory.Tier{memory.TierTalk}})
	if err != nil || len(left.Memories) != 1 || left.Memories[0].ID != talk[1].ID {
		t.Errorf("got %+v, %v, want the newer talk alone", left.Memories, err)
	}
	if _, err := s.Bank.Get(t.Context(), owner, kept.ID); err != nil {
		t.Errorf("the memory: %v", err)
	}
	changes := s.announced.changes
	if len(changes) != 2 || changes[0].OperationID != changes[1].OperationID || changes[0].Tier != memory.TierTalk ||
		changes[0].OperationID == "" {
		t.Errorf("announced %+v, want one change of talk, repeated with its id", changes)
	}
}
