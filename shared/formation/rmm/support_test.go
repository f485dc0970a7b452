package rmm_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/rmm"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type object = formationtest.Object

var (
	scope = formationtest.Scope()
	day   = formationtest.Day()
	text  = formationtest.Answer
)

func newFormer(t *testing.T, s *llmtest.Server) *rmm.LLM {
	t.Helper()
	f, err := rmm.NewLLM(s.Client(t), llm.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// line is a turn of a speaker.
type line struct{ speaker, text string }

// talk is a session of two people, a minute a turn, days after the first day.
func talk(id string, days int, lines ...line) formation.Session {
	s := formation.Session{Scope: scope, ID: id}
	for i, l := range lines {
		s.Turns = append(s.Turns, memory.Turn{
			ID: id + ":" + string(rune('a'+i)), SessionID: id, Speaker: l.speaker, Role: memory.RoleUser, Text: l.text,
			Time: day.AddDate(0, 0, days).Add(time.Duration(i) * time.Minute),
		})
	}
	return s
}

// stored is an entry of the strategy's in the bank.
func stored(id, owner, content string) memory.Memory {
	m := formationtest.Stored(id, content)
	m.Slot, m.Keywords, m.EventTime, m.Strategy = "", []string{owner}, memory.EventTime{}, rmm.Name
	m.Value = owner + " (2024-04-06): raw words of " + id
	return m
}

// bundle holds topics of Ana's against memories.
func bundle(contents []string, memories ...memory.Memory) formation.Bundle {
	b := formationtest.Bundle(contents, memories...)
	for i := range b.Related {
		b.Related[i].Candidate.Keywords = []string{"ana"}
	}
	return b
}

func op(candidate, kind, target, summary string) object {
	return object{"candidate": candidate, "op": kind, "target": target, "summary": summary}
}

func ops(list ...object) object { return object{"operations": list} }
