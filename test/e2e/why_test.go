package e2e_test

import (
	"context"
	"strings"
	"testing"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/test/harness"
)

// why requests the diagnosis of turns.
func why(t *testing.T, tenant, user, query string, turnIDs ...string) *mnemev1.WhyResponse {
	t.Helper()
	res, err := shared.Client(tenant).Why(t.Context(), request(&mnemev1.WhyRequest{
		Recall: &mnemev1.RecallRequest{UserId: user, Query: query}, ExpectTurnIds: turnIDs,
	}))
	if err != nil {
		t.Fatalf("why: %v", err)
	}
	return res.Msg
}

// awaitDropped waits until the decision on a dropped turn is readable.
func awaitDropped(t *testing.T, tenant, user, turnID string) *mnemev1.Finding {
	t.Helper()
	var last *mnemev1.Finding
	harness.Await(t, "the decision on "+turnID+" is kept", func(context.Context) (bool, error) {
		last = why(t, tenant, user, "What was said?", turnID).GetFindings()[0]
		return last.GetStage() == mnemev1.Stage_STAGE_DROPPED_BY_FILTER, nil
	})
	return last
}

func TestItIsToldWhyATurnIsNotRemembered(t *testing.T) {
	const user = "wanda"
	life := harness.Lives(4)
	formed(t, user, life)
	small := awaitDropped(t, tenantRead, user, "s1:1") // a greeting
	if r := small.GetReason(); !strings.Contains(r, "scored the turn 0.") ||
		!strings.Contains(r, "below its threshold of 0.") ||
		len(small.GetMemoryIds()) != 0 {
		t.Errorf("of a greeting: %v", small)
	}
	before := len(shared.Records(t, "mneme.feedback"))
	got := why(t, tenantRead, user, "What is the name of "+life.Name+"'s dog?", "s2:2", "s1:1", "never said")
	if got.GetStage() != mnemev1.Stage_STAGE_NOT_INGESTED || len(got.GetFindings()) != 3 {
		t.Fatalf("got %v of %v", got.GetStage(), got.GetFindings())
	}
	dog := got.GetFindings()[0]
	if dog.GetStage() != mnemev1.Stage_STAGE_ANSWERED || dog.GetRetrieved() == 0 || dog.GetRanked() == 0 ||
		len(dog.GetMemoryIds()) == 0 {
		t.Errorf("of the dog: %v, the answer is %q", dog, got.GetAnswer().GetAnswer())
	}
	if !strings.Contains(got.GetAnswer().GetAnswer(), life.Pet) || len(got.GetCandidates()) == 0 {
		t.Errorf("answered %q from %d candidates", got.GetAnswer().GetAnswer(), len(got.GetCandidates()))
	}
	old := why(t, tenantRead, user, "What is "+life.Name+"'s favourite drink now?", "s2:3").GetFindings()[0]
	if old.GetStage() != mnemev1.Stage_STAGE_LOST_IN_UPDATE {
		t.Errorf("of the drink that was given up: %v", old)
	}
	if after := len(shared.Records(t, "mneme.feedback")); after != before {
		t.Errorf("%d records of feedback came of being asked why", after-before)
	}
	if other := why(t, tenantErase, user, "What was said?",
		"s1:1").GetFindings()[0]; other.GetStage() != mnemev1.Stage_STAGE_NOT_INGESTED {
		t.Errorf("another tenant is told %v", other)
	}
}

// Decisions on dropped turns contain the user's ids. An erasure removes them, and new turns create new ones.
func TestAnErasureTakesTheDecisionsOnDroppedTurns(t *testing.T) {
	const user, other = "xenia", "yuri"
	for _, u := range []string{user, other} {
		talk := harness.Conversation(u, secretLife("Zennor"))
		shared.Publish(t, tenantErase, talk...)
		shared.AwaitFormed(t, tenantErase, talk...)
		awaitDropped(t, tenantErase, u, "s1:1")
		if n := shared.Scan(t, tenantErase, u)["dropped turns"]; n == 0 {
			t.Fatal("the scan does not find the decisions")
		}
	}
	shared.Erase(t, tenantErase, user)
	if n := shared.Scan(t, tenantErase, user)["dropped turns"]; n != 0 {
		t.Errorf("%d decisions are left when the erasure is done", n)
	}
	if got := why(t, tenantErase, user, "What was said?", "s1:1").GetStage(); got != mnemev1.Stage_STAGE_NOT_INGESTED {
		t.Errorf("after the erasure the turn is %v", got)
	}
	awaitDropped(t, tenantErase, other, "s1:1")
	again := harness.Conversation(user, secretLife("Sablewick"))
	shared.Publish(t, tenantErase, again...)
	awaitDropped(t, tenantErase, user, "s1:1")
}
