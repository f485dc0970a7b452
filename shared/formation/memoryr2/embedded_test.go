package memoryr2_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/memoryr2"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// quoting is the embedded former with a judge that returns the test's relations.
func quoting(judged ...formationtest.Judged) *memoryr2.Embedded {
	return &memoryr2.Embedded{Former: formationtest.Quoting(memoryr2.Name, judged...)}
}

// moves from town to town.
var moves = []formationtest.Judged{
	{Later: "Braga", Stored: "Porto", Does: relation.Replaces}, {Later: "Faro", Stored: "Braga", Does: relation.Replaces},
	{Later: "Braga", Stored: "Faro", Does: relation.Replaces},
	{Later: "station", Stored: "Braga now", Does: relation.Replaces},
}

// told forms a session for each text into a new bank and returns it.
func told(t *testing.T, judged []formationtest.Judged, texts ...string) *formationtest.Life {
	t.Helper()
	l := formationtest.NewLife(quoting(judged...))
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
	l := told(t, moves, "I live in Porto.", "I live in Braga now.", "I live in Faro now.", "I live in Faro now.")
	want := []string{"I live in Faro now. Before that: I live in Braga now. Before that: I live in Porto."}
	if got := active(t, l); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if v := l.Verdicts[3]; v.Operations[0].Kind != memory.OpNone {
		t.Errorf("the repetition is %+v", v.Operations)
	}
}

func TestMoreAboutTheSameValueIsARefinement(t *testing.T) {
	l := told(t, moves, "I live in Porto.", "I live in Braga now.", "I live in Braga now near the station.")
	if got := active(t, l); !slices.Equal(got, []string{
		"I live in Braga now near the station. Before that: I live in Porto.",
	}) {
		t.Errorf("got %q", got)
	}
}

// An explicit denial deletes the entry, and is kept for its content.
func TestADenialDeletesFirst(t *testing.T) {
	ends := []formationtest.Judged{{Later: "no longer", Stored: "tennis", Does: relation.Ends}}
	l := told(t, ends, "I play tennis every Friday.", "I no longer play tennis.")
	ops := l.Verdicts[1].Operations
	if got := kinds(ops); !slices.Equal(got, []memory.OpKind{memory.OpDelete, memory.OpAdd}) {
		t.Fatalf("got %v, %q", got, active(t, l))
	}
	if ops[0].Reason != "contradiction" || !ops[0].At.Equal(day.AddDate(0, 1, 0)) {
		t.Errorf("the deletion is %+v", ops[0])
	}
	if got := active(t, l); !slices.Equal(got, []string{"I no longer play tennis."}) {
		t.Errorf("got %q", got)
	}
}

// A statement deletes no entry with claims that it does not mention. It links the entry.
func TestAnEndLosesNothingElse(t *testing.T) {
	const over = "The doctor stopped the lisinopril."
	ends := []formationtest.Judged{{Later: "stopped", Stored: "lisinopril", Does: relation.Ends}}
	for known, stays := range map[string]bool{
		"my meds:\n- metformin 500mg\n- lisinopril 10mg\n- aspirin": true, "I take metformin, lisinopril, aspirin": true,
		"I take lisinopril 10mg every evening": false, "my meds:\n- lisinopril 10mg": false,
	} {
		l := told(t, ends, known, over)
		got := l.Active(t, scope)
		if len(got) == 2 != stays {
			t.Errorf("%q: got %q", known, active(t, l))
		}
		if i := slices.IndexFunc(got, func(m memory.Memory) bool {
			return m.Content == over
		}); i < 0 || len(got[i].Links) == 1 != stays {
			t.Errorf("%q: got %+v", known, got)
		}
	}
}

// The rest of an entry after a partial change follows no entry: its past stays after it.
func TestWhatIsLeftFollowsNothing(t *testing.T) {
	l := told(t, moves, "I have a dog. I live in Porto.", "I live in Braga now.")
	if got := active(t, l); !slices.Equal(got, []string{"I have a dog.", "I live in Braga now."}) {
		t.Errorf("got %q", got)
	}
}

// A statement of quite another matter is no successor, however the two are judged among many; they are linked.
func TestOnlyWhatBelongsTogetherIsASuccession(t *testing.T) {
	old := stored("m-1", "I want to run the marathon.")
	old.Speaker = "Ana"
	b := bundle([]string{"Week twelve is too hard."}, old)
	b.Related[0].Candidate.Speaker = "Ana"
	always := quoting(formationtest.Judged{Later: "twelve", Stored: "marathon", Does: relation.Replaces})
	out, err := operations(t.Context(), always, b)
	if err != nil || len(out) != 1 || out[0].Kind != memory.OpAdd || !slices.Equal(out[0].New.Links, []string{"m-1"}) ||
		strings.Contains(out[0].New.Content, "marathon") {
		t.Errorf("got %+v, %v", out, err)
	}
}

// A statement without a denial contradicts no entry. For any judgement, no known claim is lost.
func TestAChangeThatDeniesNothingLosesNothing(t *testing.T) {
	const known, text = "I have worked at Santa Clara Hospital as a nurse since 2019.",
		"I work at the Riverside Clinic now."
	for _, does := range []relation.Label{relation.Unrelated, relation.Same, relation.Adds, relation.Replaces} {
		l := told(t, []formationtest.Judged{{Later: "Riverside", Stored: "Santa Clara", Does: does}}, known, text)
		for _, op := range l.Verdicts[1].Operations {
			if op.Kind == memory.OpDelete {
				t.Errorf("%s deletes", does)
			}
		}
		if lost := memoryr2.Dropped(known, strings.Join(active(t, l), " ")); len(lost) > 0 {
			t.Errorf("%s loses %q of what was known: %q", does, lost, active(t, l))
		}
	}
}

// The past is kept as long as it fits; then the old entry is retracted, and the history has it.
func TestThePastDoesNotGrowForEver(t *testing.T) {
	old := stored("m-1", "I live in Porto. Before that: "+strings.Repeat("I live in Faro. ", 80))
	old.Speaker = "Ana"
	b := bundle([]string{"I moved to Braga."}, old)
	b.Related[0].Candidate.Speaker = "Ana"
	out, err := operations(t.Context(), quoting(moves...), b)
	if err != nil || !slices.Equal(kinds(out), []memory.OpKind{memory.OpDelete, memory.OpAdd}) {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestSomebodyElsesMemoriesAreLeftAlone(t *testing.T) {
	for name, old := range map[string]memory.Memory{
		"quoted": {Speaker: "Ben", Content: "I live in Porto."}, "in the third person": {Content: "Ben lives in Porto."},
	} {
		m := stored("m-1", old.Content)
		m.Speaker, m.Slot = old.Speaker, ""
		b := bundle([]string{"I moved to Braga.", "Hi"}, m)
		b.Session.Turns[1].Speaker = "Ben"
		b.Related = b.Related[:1]
		b.Related[0].Candidate.Speaker = "Ana"
		if out, err := operations(t.Context(), quoting(moves...), b); err != nil ||
			!slices.Equal(kinds(out), []memory.OpKind{memory.OpAdd}) {
			t.Errorf("%s: got %+v, %v", name, out, err)
		}
	}
}
