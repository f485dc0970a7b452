package training_test

import (
	"testing"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestMeasureKindRanksTheEvidence(t *testing.T) {
	at := time.Date(2025, 3, 1, 9, 0, 0, 0, time.UTC)
	s := dataset.Subject{Scope: memory.Scope{Tenant: "t", User: "u"}, Sessions: []dataset.Session{{ID: "s"}}}
	for i, said := range []string{"I play the harp in an orchestra.", "I sold my red canoe.", "We painted the kitchen."} {
		s.Sessions[0].Turns = append(s.Sessions[0].Turns, memory.Turn{
			ID: string(rune('a' + i)), SessionID: "s", Speaker: "Ida", Role: memory.RoleUser, Text: said,
			Time: at.Add(time.Duration(i) * time.Minute),
		})
	}
	s.Questions = []dataset.Question{
		{Text: "What do I play?", Evidence: []string{"a"}}, {Text: "Suggest a buyer for the canoe.", Evidence: []string{"b"}},
	}
	r, err := training.MeasureKind(t.Context(), []dataset.Subject{s})
	if err != nil {
		t.Fatal(err)
	}
	if r.Prior.Questions != 2 || r.Prior.Recall5 != 1 || r.UserTurns.Recall5 != 1 || r.AllTurns.Recall20 != 1 ||
		r.ByRegime["questions"].Questions != 1 || r.ByRegime["requests"].Questions != 1 {
		t.Errorf("got %+v", r)
	}
}
