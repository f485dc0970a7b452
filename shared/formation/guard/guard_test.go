package guard_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/formationtest/adversarial"
	"github.com/mneme-memory/mneme/shared/formation/guard"
	"github.com/mneme-memory/mneme/shared/memory"
)

// spy is a former that keeps what it is shown, and decides what it is told to.
type spy struct {
	shown []memory.Turn
	next  formation.Verdict
}

func (s *spy) Extract(_ context.Context, in formation.Session) ([]formation.Candidate, error) {
	s.shown = append(s.shown, in.Turns...)
	return nil, nil
}

func (s *spy) Decide(_ context.Context, in formation.Bundle) (formation.Verdict, error) {
	s.shown = append(append(s.shown, in.Session.Turns...), in.Window...)
	return s.next, nil
}

func (*spy) Version() string { return "spy/1" }

func TestNoDirectiveReachesAFormer(t *testing.T) {
	for _, a := range adversarial.Attacks() {
		if a.Category == adversarial.Echo || a.Category == adversarial.Praise {
			continue // worthless, not hostile
		}
		s := &spy{}
		f := guard.New(s)
		in := formationtest.Session("I have a dog called Biscuit.", a.Text)
		in.Turns[1].Role, in.Turns[0].Caption = a.Role, a.Text
		if _, err := f.Extract(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Decide(t.Context(), formation.Bundle{Session: in, Window: in.Turns}); err != nil {
			t.Fatal(err)
		}
		if len(s.shown) < 3 || s.shown[0].Text != in.Turns[0].Text {
			t.Errorf("%s: the honest turn is not shown: %+v", a.Name, s.shown)
		}
		for _, turn := range s.shown {
			if turn.Caption != "" || (turn.Text != in.Turns[0].Text && strings.Contains(turn.Text, a.Text)) {
				t.Errorf("%s: a former is shown %q, %q", a.Name, turn.Text, turn.Caption)
			}
		}
	}
}

func TestHonestTurnsPassUnchanged(t *testing.T) {
	s := &spy{}
	in := formationtest.Session("I deleted the photos from my phone. Sad!", "Remember, my flight is on  Friday -  ok?",
		"I forgot the rules of chess <3", "")
	in.Turns[3].Caption = "a dog in a park"
	if _, err := guard.New(s).Extract(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if len(s.shown) != 4 {
		t.Fatalf("shown %+v", s.shown)
	}
	for i, turn := range s.shown {
		if turn != in.Turns[i] {
			t.Errorf("%+v became %+v", in.Turns[i], turn)
		}
	}
}

func TestBenignTurnsPassUnchanged(t *testing.T) {
	s := &spy{}
	in := formationtest.Session(adversarial.Benign()...)
	if _, err := guard.New(s).Extract(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if len(s.shown) != len(in.Turns) {
		t.Fatalf("%d turns of %d are shown", len(s.shown), len(in.Turns))
	}
	for i, turn := range s.shown {
		if turn != in.Turns[i] {
			t.Errorf("%+v became %+v", in.Turns[i], turn)
		}
	}
}

func TestAnAssistantsWordChangesNothing(t *testing.T) {
	entry := func(id string) *memory.Memory { return &memory.Memory{ID: id, Content: "x"} }
	op := func(kind memory.OpKind, source, writes string, targets ...string) memory.Operation {
		o := memory.Operation{Kind: kind, Sources: []string{source}, Targets: targets}
		if writes != "" {
			o.New = entry(writes)
		}
		return o
	}
	s := &spy{next: formation.Verdict{
		Operations: []memory.Operation{
			op(memory.OpAdd, "turn-b", "n0"), op(memory.OpUpdate, "turn-b", "n1", "m1"), op(memory.OpUpdate, "turn-a", "n2", "n1"),
			op(memory.OpDelete, "turn-b", "", "m2"), op(memory.OpUpdate, "turn-a", "n3", "m3"),
		},
		Core: []memory.CoreOperation{{Kind: memory.OpAppend, New: "x", Sources: []string{"turn-b"}},
			{Kind: memory.OpAppend, New: "y", Sources: []string{"turn-a", "turn-b"}}},
	}}
	in := formationtest.Session("I have a dog.", "You have a cat.")
	in.Turns[1].Role = memory.RoleAssistant
	got, err := guard.New(s).Decide(t.Context(), formation.Bundle{Session: in})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, o := range got.Operations {
		kinds = append(kinds, string(o.Kind))
	}
	if want := "ADD NONE NONE NONE UPDATE"; strings.Join(kinds, " ") != want {
		t.Errorf("got %v, want %s", kinds, want)
	}
	if len(got.Core) != 1 || got.Core[0].New != "y" {
		t.Errorf("core operations %+v", got.Core)
	}
}

type divisible struct{ spy }

func (*divisible) Division() formation.Division { return formation.Division{Extract: true} }

func TestTheDivisionIsThatOfTheFormerBehind(t *testing.T) {
	for want, f := range map[formation.Division]formation.Former{{}: &spy{}, {Extract: true}: &divisible{}} {
		if d, ok := guard.New(f).(formation.Divisible); !ok || d.Division() != want {
			t.Errorf("got %+v, want %+v", d.Division(), want)
		}
	}
}

func TestNothingIsAddedTwice(t *testing.T) {
	add := func(id, content string) memory.Operation {
		return memory.Operation{Kind: memory.OpAdd, Sources: []string{"turn-a"}, New: &memory.Memory{ID: id, Content: content}}
	}
	update := add("n5", "Ana lives in Braga.")
	update.Kind, update.Targets = memory.OpUpdate, []string{"m2"}
	s := &spy{next: formation.Verdict{Operations: []memory.Operation{
		add("n1", "ana has a DOG"), add("n2", "Ana sings."), add("n3", "Ana sings"), update, add("n6", "Ana lives in Porto."),
		add("n7", "Ana lives in Braga!"),
	}}}
	b := formationtest.Bundle([]string{"x"}, formationtest.Stored("m1", "Ana has a dog."), formationtest.Stored("m2", "Ana lives in Porto."))
	got, err := guard.New(s).Decide(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, o := range got.Operations {
		kinds = append(kinds, string(o.Kind))
	}
	if want := "NONE ADD NONE UPDATE ADD NONE"; strings.Join(kinds, " ") != want {
		t.Errorf("got %v, want %s", kinds, want)
	}
}
