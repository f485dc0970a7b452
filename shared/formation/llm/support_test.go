package llm_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/llm/llmtest"
	"github.com/mneme-memory/mneme/shared/memory"
)

var (
	scope = memory.Scope{Tenant: "acme", User: "ana"}
	day   = time.Date(2024, 5, 6, 9, 30, 0, 0, time.UTC)
)

func turns(texts ...string) []memory.Turn {
	out := make([]memory.Turn, len(texts))
	for i, text := range texts {
		out[i] = memory.Turn{
			ID: "turn-" + string(rune('a'+i)), SessionID: "s1", Speaker: "Ana", Role: memory.RoleUser, Text: text, Time: day.Add(time.Duration(i) * time.Minute),
		}
	}
	return out
}

func session(texts ...string) formation.Session {
	return formation.Session{Scope: scope, ID: "s1", Turns: turns(texts...)}
}

func newFilter(t *testing.T, s *llmtest.Server) *llm.Filter {
	t.Helper()
	f, err := llm.NewFilter(s.Client(t), llm.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func newFormer(t *testing.T, s *llmtest.Server) *llm.Former {
	t.Helper()
	f, err := llm.NewFormer(s.Client(t), llm.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// stored is an entry of the bank.
func stored(id, content string) memory.Memory {
	return memory.Memory{
		ID: id, Kind: memory.KindFact, Content: content, Status: memory.StatusActive, Version: 1, Sources: []string{"old"},
		SessionID: "s0", ValidFrom: day.AddDate(0, -1, 0), RecordedAt: day.AddDate(0, -1, 0), Topic: "home", Slot: "ana/home", Keywords: []string{"city"},
		EventTime: memory.EventTime{Time: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), Precision: memory.PrecisionYear},
	}
}

// bundle has one candidate a content, from the turn of the same position, all related to the memories.
func bundle(contents []string, memories ...memory.Memory) formation.Bundle {
	b := formation.Bundle{Session: session(contents...)}
	for i, c := range contents {
		b.Related = append(b.Related, formation.Related{
			Candidate: formation.Candidate{Kind: memory.KindFact, Content: c, Sources: []string{b.Session.Turns[i].ID}, Vector: []float32{1}},
			Memories:  memories,
		})
	}
	return b
}

func text(t *testing.T, v any) llmtest.Step {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return llmtest.Text(string(out))
}

type object = map[string]any

// op is a manager's operation.
func op(candidate, kind, content string, targets ...string) object {
	return object{"candidate": candidate, "relation": "refines", "op": kind, "content": content, "targets": targets}
}

func ops(list ...object) object { return object{"operations": list} }
