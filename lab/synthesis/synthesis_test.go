package synthesis_test

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

func generate(t testing.TB, o synthesis.Options) []synthesis.Person {
	t.Helper()
	people, err := synthesis.Generate(o)
	if err != nil {
		t.Fatal(err)
	}
	return people
}

func TestSameOptionsMakeTheSamePeople(t *testing.T) {
	o := synthesis.Options{Seed: 7, Persons: 4}
	if a, b := generate(t, o), generate(t, o); !reflect.DeepEqual(a, b) {
		t.Error("two runs differ")
	}
	other := o
	other.Seed++
	if a, b := generate(t, o), generate(t, other); reflect.DeepEqual(a[0].Sessions, b[0].Sessions) {
		t.Error("another seed makes the same dialogues")
	}
}

func TestAPersonDoesNotDependOnTheOthers(t *testing.T) {
	many := generate(t, synthesis.Options{Seed: 11, Persons: 6})
	g, err := synthesis.New(synthesis.Options{Seed: 11})
	if err != nil {
		t.Fatal(err)
	}
	for i := 5; i >= 0; i-- {
		if !reflect.DeepEqual(g.Person(i), many[i]) {
			t.Errorf("person %d differs when made alone", i)
		}
	}
	if reflect.DeepEqual(many[0].Sessions, many[1].Sessions) {
		t.Error("two persons are equal")
	}
}

func TestOptionsOutOfRangeAreRefused(t *testing.T) {
	for field, o := range map[string]synthesis.Options{
		"persons":  {Persons: -1},
		"sessions": {Sessions: 1000},
		"beats":    {Beats: -2},
		"split":    {Split: "test"},
		"form":     {Form: "letters"},
	} {
		_, err := synthesis.New(o)
		if !fault.IsTerminal(err) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: error %v, want a terminal one that names it", field, err)
		}
	}
}

// drawn makes one person of any options.
func drawn(r *rapid.T) synthesis.Person {
	o := synthesis.Options{
		Seed:  rapid.Uint64().Draw(r, "seed"),
		Split: rapid.SampledFrom([]synthesis.Split{synthesis.SplitTrain, synthesis.SplitHeldout}).Draw(r, "split"),
		Form: rapid.SampledFrom([]synthesis.Form{synthesis.FormMixed, synthesis.FormAssistant,
			synthesis.FormFriends}).Draw(r, "form"),
		Beats: rapid.IntRange(1, 12).Draw(r, "beats"),
		Clean: rapid.Bool().Draw(r, "clean"),
	}
	g, err := synthesis.New(o)
	if err != nil {
		r.Fatal(err)
	}
	return g.Person(rapid.IntRange(0, 1000).Draw(r, "person"))
}

func TestSessionsAreInOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawn(r)
		if n := len(p.Sessions); n < 20 || n > 30 {
			r.Fatalf("has %d sessions, want 20 to 30", n)
		}
		span := p.Sessions[len(p.Sessions)-1].Time.Sub(p.Sessions[0].Time).Hours() / 24
		if span < 180 || span > 4*365 {
			r.Fatalf("spans %.0f days", span)
		}
		ids := map[string]bool{}
		at := p.Sessions[0].Time
		for _, s := range p.Sessions {
			if p.Form == synthesis.FormAssistant && s.Turns[0].Role != memory.RoleUser {
				r.Fatalf("session %s begins with the assistant", s.ID)
			}
			for i, turn := range s.Turns {
				if ids[turn.ID] || turn.SessionID != s.ID || strings.TrimSpace(turn.Text) == "" || turn.Time.Before(at) {
					r.Fatalf("turn %+v repeats an id, is empty, is of another session, or comes before %s", turn, at)
				}
				if i > 0 && turn.Speaker == s.Turns[i-1].Speaker {
					r.Fatalf("%s speaks twice in a row at %s", turn.Speaker, turn.ID)
				}
				ids[turn.ID], at = true, turn.Time
			}
			if !s.ClosedAt.After(at) {
				r.Fatalf("session %s closes before its last turn", s.ID)
			}
			at = s.ClosedAt
		}
	})
}

func TestTextHasNoTemplateLeft(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawn(r)
		check := func(what, text string) {
			if strings.ContainsAny(text, "{}[]|") || strings.Contains(text, "  ") {
				r.Fatalf("%s: %q", what, text)
			}
		}
		for _, s := range p.Sessions {
			for _, turn := range s.Turns {
				check("text", turn.Text)
				check("caption", turn.Caption)
			}
		}
		for _, x := range p.Targets {
			check("statement", x.Statement)
		}
		for _, q := range p.Questions {
			check("question", q.Text)
		}
	})
}

func TestFormsOfDialogue(t *testing.T) {
	for form, role := range map[synthesis.Form]memory.Role{
		synthesis.FormAssistant: memory.RoleAssistant, synthesis.FormFriends: memory.RoleUser,
	} {
		p := generate(t, synthesis.Options{Form: form})[0]
		if p.Other.Role != role || p.Profile.Role != memory.RoleUser || p.Form != form {
			t.Errorf("%s: %+v talks with %+v", form, p.Profile, p.Other)
		}
	}
}

func BenchmarkPerson(b *testing.B) {
	g, err := synthesis.New(synthesis.Options{Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	turns := 0
	for i := 0; b.Loop(); i++ {
		for _, s := range g.Person(i).Sessions {
			turns += len(s.Turns)
		}
	}
	b.ReportMetric(float64(turns)/b.Elapsed().Seconds(), "turns/s")
}
