package consolidation_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// Temporal's limits of an id.
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
