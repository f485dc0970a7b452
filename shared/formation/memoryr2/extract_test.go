package memoryr2_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// long is a session of n turns of some characters each.
func long(n, characters int) formation.Session {
	in := session()
	for i := range n {
		t := formationtest.Turns(fmt.Sprintf("Fact %03d: %s", i, strings.Repeat("é", characters)))[0]
		t.ID = fmt.Sprintf("turn-%03d", i)
		in.Turns = append(in.Turns, t)
	}
	return in
}

func TestFactsHaveTheirTurns(t *testing.T) {
	s := llmtest.New(t)
	s.Script(model.RoleFacts, text(t, object{"nothing": false,
		"facts": []object{fact("Ana likes tea.", "t2", "t1"), fact("Ana rents.", "t1")}}))
	got, err := newFormer(t, s).Extract(t.Context(), session("I rent. I like tea.", "Yes, tea."))
	if err != nil || len(got) != 2 {
		t.Fatalf("got %+v, %v", got, err)
	}
	if c := got[0]; !slices.Equal(c.Sources, []string{"turn-a", "turn-b"}) || c.Content != "Ana likes tea." {
		t.Errorf("fact is %+v", c)
	}
}

func TestAnOrdinarySessionIsOneChunk(t *testing.T) {
	s := llmtest.New(t)
	if _, err := newFormer(t, s).Extract(t.Context(), long(60, 350)); err != nil {
		t.Fatal(err)
	}
	if n := s.Count(model.RoleFacts); n != 1 {
		t.Errorf("60 turns took %d calls, want 1", n)
	}
}

func TestALongSessionIsExtractedInChunks(t *testing.T) {
	s := llmtest.New(t)
	in := long(90, 600)
	got, err := newFormer(t, s).Extract(t.Context(), in)
	if err != nil || len(got) != 90 {
		t.Fatalf("%d facts, %v", len(got), err)
	}
	if n := s.Count(model.RoleFacts); n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
	for i, c := range got {
		if !slices.Equal(c.Sources, []string{in.Turns[i].ID}) {
			t.Errorf("fact %d comes from %v", i, c.Sources)
		}
	}
	for _, c := range s.Calls(model.RoleFacts) {
		if data := string(c.Data()); strings.Count(data, `"time":"Monday 2024-05-06`) != strings.Count(data, `"id"`) {
			t.Error("a turn is shown without its time")
		}
	}
}

func TestAChunkThatFailsFailsTheSession(t *testing.T) {
	s := llmtest.New(t)
	s.Script(model.RoleFacts, llmtest.Refusal())
	if got, err := newFormer(t, s).Extract(t.Context(), long(90, 600)); err == nil || got != nil {
		t.Errorf("got %d facts, %v", len(got), err)
	}
}
