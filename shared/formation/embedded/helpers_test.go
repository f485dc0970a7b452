package embedded_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
)

var (
	scope    = memory.Scope{Tenant: "acme", User: "ana"}
	thursday = time.Date(2023, 5, 25, 13, 0, 0, 0, time.UTC)
	// former quotes without a reader, so that no test of the quotations rests on the trained model.
	former = embedded.NewFormerWith(embedded.IdentityOf("salimory"), nil, 1, 1)
)

// session has a turn for each line "Speaker: text", a minute apart. A speaker called Assistant is one.
func session(lines ...string) formation.Session {
	in := formation.Session{Scope: scope, ID: "s1"}
	for i, l := range lines {
		speaker, said, _ := strings.Cut(l, ": ")
		role := memory.RoleUser
		if speaker == "Assistant" {
			role = memory.RoleAssistant
		}
		in.Turns = append(in.Turns, memory.Turn{
			ID: fmt.Sprintf("t%d", i+1), SessionID: "s1", Speaker: speaker, Role: role, Text: said,
			Time: thursday.Add(time.Duration(i) * time.Minute),
		})
	}
	return in
}

func extract(t *testing.T, in formation.Session) []formation.Candidate {
	t.Helper()
	out, err := former.Extract(t.Context(), in)
	if err != nil {
		t.Fatalf("extract: %v", err)
	}
	formation.Number(out)
	return out
}

// contents of candidates, in order.
func contents(candidates []formation.Candidate) []string {
	var out []string
	for _, c := range candidates {
		out = append(out, c.Content)
	}
	return out
}

// judge is a Judge that returns the test's relation for the words of the stored statement.
type judge map[string]relation.Relation

func (j judge) Judge(_ relation.Statement, stored []relation.Statement) []relation.Relation {
	out := make([]relation.Relation, len(stored))
	for i, s := range stored {
		out[i] = relation.Relation{relation.Unrelated: 1}
		if r, ok := j[s.Text]; ok {
			out[i] = r
		}
	}
	return out
}

func (j judge) Between(later, stored relation.Statement) relation.Relation {
	return j.Judge(later, []relation.Statement{stored})[0]
}

// Gone are the parts that are changed as statements of their own; where none is, it is not sure.
func (j judge) Gone(_ relation.Statement, parts []string) []float64 {
	out := make([]float64, len(parts))
	known := false
	for i, p := range parts {
		out[i] = j[p].Change()
		known = known || out[i] > 0
	}
	for i := range out {
		if !known {
			out[i] = 0.5
		}
	}
	return out
}

// stored is an entry that Ana's words made.
func stored(id, content string) memory.Memory {
	return memory.Memory{
		ID: id, Kind: memory.KindFact, Content: content, Speaker: "Ana", Sources: []string{"s0:" + id}, SessionID: "s0",
		ValidFrom: thursday.AddDate(0, -1, 0), Status: memory.StatusActive, Version: 1,
	}
}

// decide runs a former with a judge on a session and the stored entries.
func decide(t *testing.T, j embedded.Judge, in formation.Session, known ...memory.Memory) []memory.Operation {
	t.Helper()
	b := formation.Bundle{Session: in}
	for _, c := range extract(t, in) {
		b.Related = append(b.Related, formation.Related{Candidate: c, Memories: known})
	}
	v, err := embedded.NewFormerWith(embedded.IdentityOf("salimory"), j, 0.6, 0.3).Decide(t.Context(), b)
	if err != nil {
		t.Fatalf("decide: %v", err)
	}
	return v.Operations
}
