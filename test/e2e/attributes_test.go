package e2e_test

import (
	"slices"
	"testing"
	"time"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/test/harness"
)

// Attributes pass from a turn through all services to its memories. Lists and recalls filter by them.
func TestAttributesGoTheWholeWay(t *testing.T) {
	const user = "attributed"
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	talk := harness.Talk(user, "attributed-1", "Ines", at, "I live in Porto.", "I work as a nurse in a hospital.",
		"I am allergic to peanuts.")
	for i := range talk.Turns {
		talk.Turns[i].Attributes = memory.Attributes{
			Metadata: map[string]any{"project": []string{"x", "y", "y"}[i], "n": float64(i)},
			AgentID:  "a1",
		}
	}
	shared.Publish(t, tenantRead, talk)
	shared.AwaitFormed(t, tenantRead, talk)
	f, err := memory.ParseFilter([]byte(`{"and":[{"field":"metadata.project","equals":"y"},{"not":{"field":"metadata.n","range":{"lt":1}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	c := shared.Client(tenantRead)
	all := shared.Memories(t, tenantRead, user)
	var want, got []string
	for _, m := range all {
		if m.GetAgentId() != "a1" || len(m.GetMetadata().GetFields()) != 2 {
			t.Errorf("a memory carries %v of %q", m.GetMetadata(), m.GetAgentId())
		}
		if m.GetMetadata().AsMap()["project"] == "y" {
			want = append(want, m.GetId())
		}
	}
	listed, err := c.ListMemories(t.Context(), request(&mnemev1.ListMemoriesRequest{UserId: user,
		Filter: contract.FilterToProto(f)}))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range listed.Msg.GetMemories() {
		got = append(got, m.GetId())
	}
	if !slices.Equal(got, want) || len(want) == 0 || len(want) == len(all) {
		t.Errorf("of %d memories, listed %v, want %v", len(all), got, want)
	}
	recalled, err := c.Recall(t.Context(), request(&mnemev1.RecallRequest{
		UserId: user, Query: "Where does Ines live?", Filter: contract.FilterToProto(f),
	}))
	if err != nil || len(recalled.Msg.GetCited()) == 0 {
		t.Fatalf("recalled %v, %v", recalled, err)
	}
	for _, cited := range recalled.Msg.GetCited() {
		if !slices.Contains(want, cited.GetMemory().GetId()) {
			t.Errorf("cites %q", cited.GetMemory().GetContent())
		}
	}
}
