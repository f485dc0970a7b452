package e2e_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/test/harness"
)

// The model reads dropped turns as context of their session. They are neither formed nor returned.
func TestDroppedTurnsAreReadWithTheirSession(t *testing.T) {
	const user, speaker = "greta", "Gretchen"
	talk := modelTalk(user, speaker)
	shared.Publish(t, tenantModel, talk...)
	shared.AwaitFormed(t, tenantModel, talk...)
	read := map[string]bool{}
	for _, call := range endpoint.Calls(llm.RoleExtractor) {
		if !strings.Contains(string(call.Raw), speaker) {
			continue
		}
		var data struct {
			Context, Turns []struct{ Text string }
		}
		if err := json.Unmarshal(call.Data(), &data); err != nil {
			t.Fatal(err)
		}
		for _, c := range data.Context {
			read[c.Text] = true
		}
		for _, said := range data.Turns {
			if said.Text == "Hi!" || said.Text == "Bye!" {
				t.Errorf("%q is to be formed", said.Text)
			}
		}
	}
	if !read["Hi!"] || !read["Bye!"] {
		t.Errorf("read as context was %v, want what was dropped of either session", read)
	}
	res, err := shared.Client(tenantModel).GetWorkingMemory(t.Context(),
		request(&mnemev1.GetWorkingMemoryRequest{UserId: user}))
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(res.Msg.GetTurns(), func(t *mnemev1.Turn) bool {
		return t.GetText() == "Hi!" || t.GetText() == "Bye!"
	}) {
		t.Errorf("working memory shows %v", res.Msg.GetTurns())
	}
}

// Strategies without a gate form all turns. SaliMory forms the turns that its gate keeps.
func TestOnlyAGateDropsTurns(t *testing.T) {
	for tenant, want := range map[string]uint32{"salimory-embedded": 1, "rmm-embedded": 3, "memory-r2-embedded": 3} {
		t.Run(tenant, func(t *testing.T) {
			t.Parallel()
			user := "gil of " + tenant
			talk := harness.Talk(user, "g1", "Gil", said, "Hi!", "I live in Porto with my dog Biscuit.", "Ok.")
			shared.Publish(t, tenant, talk)
			shared.AwaitFormed(t, tenant, talk)
			res, err := shared.Client(tenant).GetSession(t.Context(),
				request(&mnemev1.GetSessionRequest{UserId: user, SessionId: "g1"}))
			if err != nil || res.Msg.GetTurns() != want {
				t.Errorf("%d turns were formed, %v, want %d", res.Msg.GetTurns(), err, want)
			}
		})
	}
}

// A statement of short validity is in working memory for a day and never in the bank. A lasting statement of the same
// session stays in both.
func TestOfTheMomentIsHeldAndExpires(t *testing.T) {
	const tenant, user, home, ache, back = "salimory-embedded", "ida", "I live in Porto with my dog Biscuit.",
		"My head hurts today.",
		"My back is stiff this morning."
	now := time.Now().UTC().Truncate(time.Second)
	first := harness.Talk(user, "i1", "Ida", now.Add(-30*time.Hour), home, ache)
	second := harness.Talk(user, "i2", "Ida", now.Add(-time.Hour), back)
	shared.Publish(t, tenant, first, second)
	shared.AwaitFormed(t, tenant, first, second)
	res, err := shared.Client(tenant).GetWorkingMemory(t.Context(),
		request(&mnemev1.GetWorkingMemoryRequest{UserId: user}))
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]bool{}
	for _, turn := range res.Msg.GetTurns() {
		held[turn.GetText()] = true
	}
	if !held[home] || held[ache] || !held[back] {
		t.Errorf("working memory has %v, want the home and what is of today", held)
	}
	for _, m := range shared.Memories(t, tenant, user) {
		if !strings.Contains(m.GetContent(), "Porto") {
			t.Errorf("the bank has %q", m.GetContent())
		}
	}
}
