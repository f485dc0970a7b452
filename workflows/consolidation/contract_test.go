package consolidation_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// maxWorkflowID is Temporal's limit of an id.
const maxWorkflowID = 1000

func TestWorkflowIDsAreOneForEachUserAndTakenByTemporal(t *testing.T) {
	user := rapid.OneOf(rapid.StringN(1, 64, memory.MaxUserBytes), rapid.StringMatching(`[a%/2F ]{1,4}`))
	rapid.Check(t, func(t *rapid.T) {
		a, b := memory.Scope{Tenant: "acme", User: user.Draw(t, "a")}, memory.Scope{Tenant: "acme", User: user.Draw(t, "b")}
		ids := [2]string{consolidation.WorkflowID(a), consolidation.WorkflowID(b)}
		if (ids[0] == ids[1]) != (a == b) {
			t.Fatalf("%q and %q have the ids %q", a.User, b.User, ids)
		}
		odd := func(r rune) bool { return r < ' ' || r > '~' }
		if strings.ContainsFunc(ids[0], odd) || len(ids[0]) > maxWorkflowID {
			t.Fatalf("%q is no id", ids[0])
		}
	})
}

func TestTheLongestUserIDFitsIntoAWorkflowID(t *testing.T) {
	id := consolidation.WorkflowID(memory.Scope{Tenant: strings.Repeat("t", memory.MaxTenantBytes),
		User: strings.Repeat("\xf0\x9f\xa7\xa0", memory.MaxUserBytes/4)})
	if len(id) > maxWorkflowID {
		t.Fatalf("%d bytes", len(id))
	}
}

func TestAShownIDDoesNotNameTheUser(t *testing.T) {
	ana := memory.Scope{Tenant: "acme", User: "ana/ä@example.org"}
	id, other := consolidation.WorkflowID(ana), consolidation.WorkflowID(memory.Scope{Tenant: "acme", User: "ben"})
	got := consolidation.ShownID(id)
	if !strings.HasPrefix(got, "consolidation/acme/") || strings.Contains(got, "ana") ||
		strings.Contains(got, "example") ||
		got != consolidation.ShownID(id) || got == consolidation.ShownID(other) {
		t.Errorf("%q is shown as %q", id, got)
	}
	for _, same := range []string{"", "Attempt", "training/x", "consolidation/acme"} {
		if got := consolidation.ShownID(same); got != same {
			t.Errorf("%q is shown as %q", same, got)
		}
	}
}

// The SDK names the workflow in every log line.
func TestTheSDKsLogDoesNotNameTheUser(t *testing.T) {
	var out strings.Builder
	made := consolidation.ClientOptions(client.Options{Logger: log.NewStructuredLogger(slog.New(
		slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))}).Logger
	id := consolidation.WorkflowID(memory.Scope{Tenant: "acme", User: "ana@example.org"})
	for _, l := range []log.Logger{made, log.With(made, "WorkflowID", id)} {
		for _, write := range []func(string, ...any){l.Debug, l.Info, l.Warn, l.Error} {
			write("line", "WorkflowID", id, "Attempt", 2, "Error", errors.New("it failed"))
		}
		l.Error("refused", "WorkflowID", id, "Error", fault.Terminal("f", "is wrong"))
	}
	if n := strings.Count(out.String(), "\n"); n != 10 || strings.Contains(out.String(), "ana") ||
		!strings.Contains(out.String(), "Attempt=2") {
		t.Errorf("%d lines:\n%s", n, out.String())
	}
}
