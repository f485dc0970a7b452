package salimory_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// earlier is working memory of a session before.
func earlier(texts ...string) []memory.Turn {
	out := formationtest.Turns(texts...)
	for i := range out {
		out[i].SessionID, out[i].Time = "s0", day.AddDate(0, 0, -7)
		out[i].ID = "old-" + out[i].ID
	}
	return out
}

func TestWhatIsOverLeavesWorkingMemory(t *testing.T) {
	b := formation.Bundle{Session: session("I am a nurse."), Window: append(earlier(
		"I have an exam tomorrow.", "We fly to Rome next month.", "I like tea.", "I met Eva yesterday.",
		"Some years ago I had an exam.",
	), session("I have a date tomorrow.").Turns...)}
	b.Related = formationtest.Bundle([]string{"Ana is a nurse."}).Related
	v, err := salimory.NewEmbedded().Decide(t.Context(), b)
	if err != nil || !slices.Equal(v.Retire, []string{"old-turn-a"}) {
		t.Errorf("retired %v, %v, want the exam", v.Retire, err)
	}
	// the exam was the day before yesterday, and how it went may still come up
	b.Session.Turns[0].Time = day.AddDate(0, 0, -5)
	if v, err = salimory.NewEmbedded().Decide(t.Context(), b); err != nil || len(v.Retire) != 0 {
		t.Errorf("retired %v, %v, want nothing yet", v.Retire, err)
	}
}

func TestOfTheMomentIsForWorkingMemoryOnly(t *testing.T) {
	b := bundle([]string{"Ana is tired today.", "Ana is a nurse."})
	b.Related[0].Candidate.Working = true
	for name, f := range map[string]formation.Former{"embedded": salimory.NewEmbedded(),
		"llm": newFormer(t, llmtest.New(t))} {
		v, err := f.Decide(t.Context(), b)
		if err != nil || len(v.Operations) != 2 {
			t.Fatalf("%s: %+v, %v", name, v, err)
		}
		for _, op := range v.Operations {
			if (op.Kind == memory.OpNone) != slices.Equal(op.Sources, []string{"turn-a"}) {
				t.Errorf("%s: %s of %v", name, op.Kind, op.Sources)
			}
		}
	}
}

// Working memory holds a statement of the moment for a day, or until the end of the day that it names.
func TestOfTheMomentIsHeldForItsTime(t *testing.T) {
	tomorrow := time.Date(day.Year(), day.Month(), day.Day()+1, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		name  string
		event memory.EventTime
		want  time.Time
	}{
		{"names no day", memory.EventTime{}, day.Add(24 * time.Hour)},
		{"names today", memory.EventTime{Time: tomorrow.AddDate(0, 0, -1), Precision: memory.PrecisionDay},
			day.Add(24 * time.Hour)},
		{"names tomorrow", memory.EventTime{Time: tomorrow, Precision: memory.PrecisionDay}, tomorrow.AddDate(0, 0, 1)},
		{"names some days", memory.EventTime{Time: tomorrow, End: tomorrow.AddDate(0, 0, 2), Precision: memory.PrecisionDay},
			tomorrow.AddDate(0, 0, 3)},
		{"names a year", memory.EventTime{Time: tomorrow, Precision: memory.PrecisionYear}, day.Add(24 * time.Hour)},
	}
	for _, tt := range tests {
		for policy, f := range map[string]formation.Former{"embedded": salimory.NewEmbedded(),
			"llm": newFormer(t, llmtest.New(t))} {
			for _, lasting := range [][]string{nil, {"Ana is a nurse."}} {
				b := bundle(append([]string{"Ana waits for a parcel."}, lasting...))
				b.Related[0].Candidate.Working, b.Related[0].Candidate.EventTime = true, tt.event
				v, err := f.Decide(t.Context(), b)
				want := []formation.Passing{{TurnID: "turn-a", Until: tt.want}}
				if err != nil || !slices.Equal(v.Passing, want) {
					t.Errorf("%s, %s: held %+v, %v, want %+v", tt.name, policy, v.Passing, err, want)
				}
			}
		}
	}
}

func TestTheModelRetiresWorkingMemory(t *testing.T) {
	s := llmtest.New(t)
	good := ops(op("c1", "ADD", ""))
	good["retire"] = []string{"w2"}
	bad := ops(op("c1", "ADD", ""))
	bad["retire"] = []string{"t1"}
	s.Script(model.RoleManager, text(t, bad), text(t, good))
	b := bundle([]string{"Ana is a nurse."})
	b.Window = append(earlier("I like tea.", "I like coffee."), b.Session.Turns...)
	v, err := newFormer(t, s).Decide(t.Context(), b)
	if err != nil || !slices.Equal(v.Retire, []string{"old-turn-b"}) || s.Count(model.RoleManager) != 2 {
		t.Errorf("retired %v, %v, after %d calls", v.Retire, err, s.Count(model.RoleManager))
	}
}

func TestOneWrongRetirementFailsAlone(t *testing.T) {
	s := llmtest.New(t)
	bad := ops(op("c1", "ADD", ""))
	bad["retire"] = []string{"w7", "w2"}
	s.Script(model.RoleManager, text(t, bad), text(t, bad))
	b := bundle([]string{"Ana is a nurse."})
	b.Window = append(earlier("I like tea.", "I like coffee."), b.Session.Turns...)
	v, err := newFormer(t, s).Decide(t.Context(), b)
	if err != nil || len(v.Operations) != 1 || len(v.Failed) != 0 || !slices.Equal(v.Retire, []string{"old-turn-b"}) {
		t.Fatalf("verdict %+v, %v, want the operation and the other retirement", v, err)
	}
	repair := s.Calls(model.RoleManager)[1].Messages
	if !strings.Contains(repair[len(repair)-1].Content, "retire names w7") {
		t.Errorf("the repair shows %q, want the wrong retirement", repair[len(repair)-1].Content)
	}
}

func TestStoresAreRoutedByKind(t *testing.T) {
	s := llmtest.New(t)
	s.Script(model.RoleExtractor, text(t, extraction(
		said("store", "working", "content", "Ana is tired."),
		said("store", "preferences", "kind", "preference", "content", "Ana loves tea."), said(),
	)))
	got, err := newFormer(t, s).Extract(t.Context(), session("I moved last week"))
	if err != nil || len(got) != 3 || !got[0].Working || got[1].Working || got[1].Kind != memory.KindPreference ||
		got[2].Working {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A session costs two calls, whatever it says.
func TestASessionCostsTwoCalls(t *testing.T) {
	s := llmtest.New(t)
	l := formationtest.NewLife(newFormer(t, s))
	for i, in := range formationtest.Sessions() {
		before := s.Total()
		if _, _, err := l.Form(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if n := s.Total() - before; n != 2 {
			t.Errorf("session %d took %d calls, want 2", i, n)
		}
	}
}

// The embedded policy routes statements of the moment to working memory, and events and constraints to the bank.
func TestTheEmbeddedPolicyRoutesWhatIsOfTheMoment(t *testing.T) {
	in := session("My head hurts today.", "I went to the concert yesterday.", "I'm allergic to nuts.")
	got, err := salimory.NewEmbedded().Extract(t.Context(), in)
	if err != nil || len(got) != 3 || !got[0].Working || got[1].Working || got[2].Working {
		t.Errorf("got %+v, %v", got, err)
	}
}

// storing is a chooser that takes one option of the store, and leaves the others to the rules.
type storing int

func (s storing) Choose(r decision.Role, options []decision.Option) int {
	if r == decision.Store {
		return int(s)
	}
	return decision.Rules{}.Choose(r, options)
}

// What nothing but its words keeps in the bank is a chooser's to route; constraints and what happened are not.
func TestAChooserRoutesWhatMayBeOfTheMoment(t *testing.T) {
	in := session("My head hurts today.", "I went to the concert yesterday.", "I'm allergic to nuts.",
		"I live in Lisbon now.")
	for choose, want := range map[decision.Chooser]bool{storing(0): false, storing(1): true, decision.Rules{}: true} {
		got, err := salimory.NewEmbedded().Deciding(choose, "test-1").Extract(t.Context(), in)
		if err != nil || len(got) != 4 || got[0].Working != want || got[1].Working || got[2].Working || got[3].Working {
			t.Errorf("%v: got %+v, %v", choose, got, err)
		}
	}
}
