package memoryr2_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/memoryr2"
	"github.com/mneme-memory/mneme/shared/memory"
)

// told forms a session for each text into a new bank and returns it.
func told(t *testing.T, texts ...string) *formationtest.Life {
	t.Helper()
	l := formationtest.NewLife(memoryr2.NewEmbedded())
	for i, text := range texts {
		in := session(text)
		in.ID = "s" + string(rune('1'+i))
		in.Turns[0].ID, in.Turns[0].SessionID, in.Turns[0].Time = in.ID+":a", in.ID, day.AddDate(0, i, 0)
		if _, _, err := l.Form(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// active are the contents that hold.
func active(t *testing.T, l *formationtest.Life) []string {
	t.Helper()
	var out []string
	for _, m := range l.Active(t, scope) {
		out = append(out, m.Content)
	}
	slices.Sort(out)
	return out
}

func TestANewValueKeepsTheOldOneAsThePast(t *testing.T) {
	l := told(t, "I live in Porto.", "I live in Braga now.", "I live in Faro now.", "I live in Faro now.")
	want := []string{"Ana lives in Faro now. Before that: Ana lives in Braga now. Before that: Ana lives in Porto."}
	if got := active(t, l); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if v := l.Verdicts[3]; v.Operations[0].Kind != memory.OpNone {
		t.Errorf("the repetition is %+v", v.Operations)
	}
}

func TestMoreAboutTheSameValueIsARefinement(t *testing.T) {
	l := told(t, "I live in Porto.", "I live in Braga now.", "I live in Braga now, near the station.")
	got := active(t, l)
	if len(got) != 1 || !strings.HasPrefix(got[0], "Ana lives in Braga now, near the station. Before that: Ana lives in Porto.") {
		t.Errorf("got %q", got)
	}
}

func TestADenialDeletes(t *testing.T) {
	l := told(t, "I play tennis every Friday.", "I no longer play tennis.")
	if ops := l.Verdicts[1].Operations; len(ops) != 1 || ops[0].Kind != memory.OpDelete || len(l.Active(t, scope)) != 0 {
		t.Errorf("got %+v, %q", ops, active(t, l))
	}
}

// Contradiction comes first: what says outright that something is no longer so deletes it, and is inserted for what it tells beside that.
func TestADenialThatTellsWhatHoldsDeletesFirst(t *testing.T) {
	l := told(t, "I work at Santa Clara Hospital.", "I no longer work at Santa Clara Hospital, I work at the Riverside Clinic now.")
	ops := l.Verdicts[1].Operations
	if got := kinds(ops); !slices.Equal(got, []memory.OpKind{memory.OpDelete, memory.OpAdd}) {
		t.Fatalf("got %v, %q", got, active(t, l))
	}
	if ops[0].Reason != "contradiction" || !ops[0].At.Equal(day.AddDate(0, 1, 0)) {
		t.Errorf("the deletion is %+v", ops[0])
	}
	if got := active(t, l); len(got) != 1 || !strings.Contains(got[0], "Riverside Clinic") || strings.Contains(got[0], "Before that") {
		t.Errorf("got %q", got)
	}
}

// What goes on without denying anything contradicts nothing: whichever way the rules word it, no claim of what was known is lost.
func TestAChangeThatDeniesNothingLosesNothing(t *testing.T) {
	for _, text := range []string{
		"I quit my job at Santa Clara Hospital and started at the Riverside Clinic.",
		"I started at the Riverside Clinic in June.",
		"I work at the Riverside Clinic now.",
	} {
		l := told(t, "I have worked at Santa Clara Hospital as a nurse since 2019.", text)
		for _, op := range l.Verdicts[1].Operations {
			if op.Kind == memory.OpDelete {
				t.Errorf("%q deletes", text)
			}
		}
		known := l.Verdicts[0].Operations[0].New.Content
		if lost := memoryr2.Dropped(known, strings.Join(active(t, l), " ")); len(lost) > 0 {
			t.Errorf("%q loses %q of what was known: %q", text, lost, active(t, l))
		}
	}
}

// The past is kept as long as it fits; then the old entry is retracted, and the history has it.
func TestThePastDoesNotGrowForEver(t *testing.T) {
	old := stored("m-1", "Ana lives in Porto. Before that: "+strings.Repeat("Ana lives in Faro. ", 60))
	old.Slot = "ana/residence"
	b := formation.Bundle{Session: session("I moved to Braga.")}
	former := memoryr2.NewEmbedded()
	facts, err := former.Extract(t.Context(), b.Session)
	if err != nil || len(facts) != 1 {
		t.Fatalf("got %+v, %v", facts, err)
	}
	b.Related = []formation.Related{{Candidate: facts[0], Memories: []memory.Memory{old}, Similarity: []float64{0.9}}}
	out, err := operations(t.Context(), former, b)
	if err != nil || !slices.Equal(kinds(out), []memory.OpKind{memory.OpDelete, memory.OpAdd}) {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestSomebodyElsesMemoriesAreLeftAlone(t *testing.T) {
	old := stored("m-1", "Ben lives in Porto.")
	old.Slot = "ana/residence" // by which the rules alone would take it for Ana's
	b := formation.Bundle{Session: session("I moved to Braga.", "Hi")}
	b.Session.Turns[1].Speaker = "Ben"
	former := memoryr2.NewEmbedded()
	facts, err := former.Extract(t.Context(), b.Session)
	if err != nil || len(facts) == 0 {
		t.Fatalf("got %+v, %v", facts, err)
	}
	old.Slot = "ben/residence"
	b.Related = []formation.Related{{Candidate: facts[0], Memories: []memory.Memory{old}, Similarity: []float64{0.9}}}
	if out, err := operations(t.Context(), former, b); err != nil || !slices.Equal(kinds(out), []memory.OpKind{memory.OpAdd}) {
		t.Errorf("got %+v, %v", out, err)
	}
}
