package embedded_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/memory"
)

var (
	scope    = memory.Scope{Tenant: "acme", User: "ana"}
	thursday = time.Date(2023, 5, 25, 13, 0, 0, 0, time.UTC)
	former   = embedded.NewFormer(embedded.IdentityOf("salimory"))
)

// turns makes a session's turns of lines "Speaker: text", a minute apart.
func turns(lines ...string) []memory.Turn {
	out := make([]memory.Turn, len(lines))
	for i, l := range lines {
		speaker, text, _ := strings.Cut(l, ": ")
		out[i] = memory.Turn{
			ID: fmt.Sprintf("t%d", i+1), SessionID: "s1", Speaker: speaker, Role: memory.RoleUser, Text: text,
			Time: thursday.Add(time.Duration(i) * time.Minute),
		}
	}
	return out
}

func session(lines ...string) formation.Session {
	return formation.Session{Scope: scope, ID: "s1", Turns: turns(lines...)}
}

func extract(t *testing.T, in formation.Session) []formation.Candidate {
	t.Helper()
	out, err := former.Extract(context.Background(), in)
	if err != nil {
		t.Fatalf("extract: %v", err)
	}
	return out
}

// contents of candidates, joined for comparison.
func contents(candidates []formation.Candidate) string {
	var out []string
	for _, c := range candidates {
		out = append(out, c.Content)
	}
	return strings.Join(out, " | ")
}
