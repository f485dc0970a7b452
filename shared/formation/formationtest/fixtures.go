// Package formationtest has the shared parts of formers' tests. They are sessions and bundles, the conformance suite
// of formation.Former, and the model errors that every llm policy must withstand.
package formationtest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// Scope is the user of the formed memory.
func Scope() memory.Scope { return memory.Scope{Tenant: "acme", User: "ana"} }

// Day is when sessions take place.
func Day() time.Time { return time.Date(2024, 5, 6, 9, 30, 0, 0, time.UTC) }

// Turns makes a turn of Ana's of each text, a minute apart, with the ids turn-a, turn-b, ...
func Turns(texts ...string) []memory.Turn {
	out := make([]memory.Turn, len(texts))
	for i, text := range texts {
		out[i] = memory.Turn{
			ID: "turn-" + string(rune('a'+i)), SessionID: "s1", Speaker: "Ana", Role: memory.RoleUser, Text: text,
			Time: Day().Add(time.Duration(i) * time.Minute),
		}
	}
	return out
}

// Session is session s1 with Turns.
func Session(texts ...string) formation.Session {
	return formation.Session{Scope: Scope(), ID: "s1", Turns: Turns(texts...)}
}

// Stored is an entry of the bank, said a month before.
func Stored(id, content string) memory.Memory {
	before := Day().AddDate(0, -1, 0)
	return memory.Memory{
		ID: id, Kind: memory.KindFact, Content: content, Status: memory.StatusActive, Version: 1, Sources: []string{"old"},
		SessionID: "s0", ValidFrom: before, RecordedAt: before, Topic: "home", Slot: "ana/home", Keywords: []string{"city"},
		EventTime: memory.EventTime{Time: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), Precision: memory.PrecisionYear},
	}
}

// Bundle has one candidate a content, from the turn of the same position, all related to the memories.
func Bundle(contents []string, memories ...memory.Memory) formation.Bundle {
	b := formation.Bundle{Session: Session(contents...)}
	similarity := make([]float64, len(memories))
	for i := range similarity {
		similarity[i] = 0.9
	}
	for i, c := range contents {
		b.Related = append(b.Related, formation.Related{
			Candidate: formation.Candidate{Kind: memory.KindFact, Content: c, Sources: []string{b.Session.Turns[i].ID},
				Vector: []float32{1}},
			Memories:   memories,
			Similarity: similarity,
		})
	}
	return b
}

// Object is a JSON object of a scripted answer.
type Object = map[string]any

// Answer is the step of a scripted model that answers with v as JSON.
func Answer(t *testing.T, v any) llmtest.Step {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return llmtest.Text(string(out))
}
