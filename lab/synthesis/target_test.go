package synthesis_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/memory"
)

// turnsOf returns a person's turns by id.
func turnsOf(p synthesis.Person) map[string]synthesis.Turn {
	out := map[string]synthesis.Turn{}
	for _, s := range p.Sessions {
		for _, t := range s.Turns {
			out[t.ID] = t
		}
	}
	return out
}

func contains(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

func TestTargetsAreTold(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawn(r)
		turns := turnsOf(p)
		for i, x := range p.Targets {
			if len(x.Turns) == 0 {
				r.Fatalf("target %d has no turns: %+v", i, x)
			}
			text := ""
			for _, id := range x.Turns {
				turn, ok := turns[id]
				if !ok || !turn.Salient || turn.SessionID != p.Sessions[x.Session].ID || !slices.Contains(turn.Targets, i) {
					r.Fatalf("target %d names turn %s, which is not there, not salient, of another session or of another target", i,
						id)
				}
				text += turn.Text + "\n"
			}
			if !x.ValidFrom.Equal(turns[x.Turns[0]].Time) {
				r.Fatalf("target %d holds from %s, its turn is of another time", i, x.ValidFrom)
			}
			if len(x.Keywords) != 3 {
				r.Fatalf("target %d has keywords %q", i, x.Keywords)
			}
			for _, k := range x.Keywords {
				if k == "" || !contains(x.Statement, k) {
					r.Fatalf("keyword %q is not in %q", k, x.Statement)
				}
			}
			if x.Operation != memory.OpNone && x.Operation != memory.OpDelete && !contains(text, x.Keywords[0]) {
				r.Fatalf("keyword %q is not in what was said: %q (%s)", x.Keywords[0], text, x.Slot)
			}
		}
		for _, turn := range turns {
			if !turn.Salient && len(turn.Targets) > 0 {
				r.Fatalf("turn %s tells targets and is not salient", turn.ID)
			}
		}
	})
}

func TestPredecessorsAreEarlierAndOfTheSameSlot(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawn(r)
		closed := map[int]bool{}
		for i, x := range p.Targets {
			changes := x.Operation == memory.OpUpdate || x.Operation == memory.OpDelete
			if (x.Operation == memory.OpAdd) != (x.Predecessor < 0) || x.Predecessor >= i || x.Unlike >= i {
				r.Fatalf("target %d: %s has predecessor %d, unlike %d", i, x.Operation, x.Predecessor, x.Unlike)
			}
			if x.Unlike >= 0 && (p.Targets[x.Unlike].Slot == x.Slot || x.Operation != memory.OpAdd) {
				r.Fatalf("target %d is an aside of its own slot %s", i, x.Slot)
			}
			if x.Predecessor < 0 {
				continue
			}
			before := p.Targets[x.Predecessor]
			if before.Slot != x.Slot || before.Session >= x.Session || closed[x.Predecessor] {
				r.Fatalf("target %d follows %+v, of another slot, the same session, or closed before", i, before)
			}
			if changes {
				closed[x.Predecessor] = true
				if !before.ValidTo.Equal(x.ValidFrom) {
					r.Fatalf("target %d begins at %s, the one before ends at %s", i, x.ValidFrom, before.ValidTo)
				}
				if x.Statement == before.Statement {
					r.Fatalf("target %d changes nothing: %q", i, x.Statement)
				}
			}
		}
		for i, x := range p.Targets {
			if !closed[i] && !x.ValidTo.IsZero() {
				r.Fatalf("target %d ends without a successor", i)
			}
		}
	})
}

// In this life two friends fall out twice in one month.
func TestWhatHappensAgainHappensAtAnotherTime(t *testing.T) {
	o := synthesis.Options{Seed: 0x118dbc8, Split: synthesis.SplitHeldout, Form: synthesis.FormMixed, Beats: 11,
		Clean: true}
	g, err := synthesis.New(o)
	if err != nil {
		t.Fatal(err)
	}
	targets := g.Person(2).Targets
	for i, x := range targets {
		if x.Operation == memory.OpUpdate && targets[x.Predecessor].Statement == x.Statement {
			t.Errorf("target %d changes nothing: %q", i, x.Statement)
		}
	}
}

func TestAtMostOneTargetOfASlotHolds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawn(r)
		for _, s := range p.Sessions {
			seen := map[string]bool{}
			for _, x := range stateOf(p, s.ClosedAt) {
				if seen[x.Slot] {
					r.Fatalf("slot %s has two values at %s", x.Slot, s.ClosedAt)
				}
				seen[x.Slot] = true
			}
		}
	})
}

func TestStateFollowsTheTargets(t *testing.T) {
	p := generate(t, synthesis.Options{Seed: 5})[0]
	if got := stateOf(p, p.Sessions[0].Time.Add(-time.Hour)); len(got) != 0 {
		t.Errorf("%d targets hold before the first session", len(got))
	}
	for _, x := range p.Targets {
		if x.Operation != memory.OpUpdate {
			continue
		}
		at := func(when time.Time) (old, now bool) {
			for _, held := range stateOf(p, when) {
				old = old || held.Statement == p.Targets[x.Predecessor].Statement && held.Slot == x.Slot
				now = now || held.Statement == x.Statement && held.Slot == x.Slot
			}
			return old, now
		}
		if old, now := at(x.ValidFrom.Add(-time.Second)); !old || now {
			t.Errorf("just before %q: old holds %v, new %v", x.Statement, old, now)
		}
		if old, now := at(x.ValidFrom); old || !now {
			t.Errorf("from %q on: old holds %v, new %v", x.Statement, old, now)
		}
	}
}

func TestQuestionsHaveEvidence(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawn(r)
		turns := turnsOf(p)
		for _, q := range p.Questions {
			x := p.Targets[q.Target]
			if q.Text == "" || q.Answer == "" || !slices.Equal(q.Evidence, x.Turns) {
				r.Fatalf("question %+v has no text, answer, or evidence of its target", q)
			}
			for _, id := range q.Evidence {
				if _, ok := turns[id]; !ok {
					r.Fatalf("evidence %s does not exist", id)
				}
			}
			past := q.Category == synthesis.CategoryPast
			if past != !q.AsOf.IsZero() || past && (q.AsOf.Before(x.ValidFrom) || !q.AsOf.Before(x.ValidTo)) {
				r.Fatalf("question %q asks about %s; its target holds from %s to %s", q.Text, q.AsOf, x.ValidFrom, x.ValidTo)
			}
			if q.Category == synthesis.CategoryNow && !x.ValidTo.IsZero() {
				r.Fatalf("question %q asks for now and its target holds no more", q.Text)
			}
		}
	})
}

// A filter learns both sides, so neither may be rare.
func TestShareOfTurnsThatTellNothing(t *testing.T) {
	for form, want := range map[synthesis.Form][2]float64{
		synthesis.FormFriends: {0.25, 0.50}, synthesis.FormAssistant: {0.25, 0.70},
	} {
		turns, silent := 0, 0
		for _, p := range generate(t, synthesis.Options{Form: form, Persons: 30}) {
			for _, turn := range turnsOf(p) {
				turns++
				if !turn.Salient {
					silent++
				}
			}
		}
		if share := float64(silent) / float64(turns); share < want[0] || share > want[1] {
			t.Errorf("%s: %.2f of %d turns tell nothing, want %.2f to %.2f", form, share, turns, want[0], want[1])
		}
	}
}

func TestEveryOperationAndEvolutionOccurs(t *testing.T) {
	seen := map[string]int{}
	for _, p := range generate(t, synthesis.Options{Persons: 10}) {
		for _, x := range p.Targets {
			seen[string(x.Operation)]++
			seen[string(x.Evolution)]++
			seen[x.Domain]++
			seen[string(x.Kind)]++
		}
	}
	for _, want := range []string{
		"ADD", "UPDATE", "DELETE", "NONE", "new", "expand", "adjust", "shift", "partial", "end", "again", "near", "wish",
		"career", "health", "relationship", "preference", "home", "pets", "hobbies", "possessions", "travel", "plans",
		"habits", "family",
		"fact", "episodic", "semantic", "procedural",
	} {
		if seen[want] == 0 {
			t.Errorf("no target of %s among %v", want, seen)
		}
	}
}

// stateOf returns the targets that hold at a time, in order: added or updated by then, and not yet closed.
func stateOf(p synthesis.Person, at time.Time) []synthesis.Target {
	var out []synthesis.Target
	for _, t := range p.Targets {
		holds := t.Operation == memory.OpAdd || t.Operation == memory.OpUpdate
		if holds && !t.ValidFrom.After(at) && (t.ValidTo.IsZero() || at.Before(t.ValidTo)) {
			out = append(out, t)
		}
	}
	return out
}
