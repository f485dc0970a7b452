package utilizer_test

import (
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

// talking writes an entry of talk with its turn, and returns the entry's id.
func talking(t *testing.T, r *fixture) string {
	t.Helper()
	const text = "Ana hums near the zeppelin."
	vectors, err := builtin.New().Embed(t.Context(), []string{text})
	if err != nil {
		t.Fatal(err)
	}
	m := memory.Memory{
		ID: memory.DeriveID(ana, []string{"hum"}, 0), Kind: memory.KindEpisodic, Tier: memory.TierTalk, Content: text,
		Status:  memory.StatusActive,
		Version: 1, RecordedAt: now, ValidFrom: now, Sources: []string{"hum"}, SessionID: "s1", Vector: vectors[0],
	}
	turn := memory.Turn{ID: "hum", SessionID: "s1", Speaker: "Ana", Role: memory.RoleUser, Text: text, Time: now}
	if err := r.Bank.Write(t.Context(), ana, memory.Write{Put: []memory.Memory{m},
		Turns: []memory.Turn{turn}}); err != nil {
		t.Fatal(err)
	}
	return m.ID
}

func TestListsAndCountsLeaveTalkOutByDefault(t *testing.T) {
	r := newFixture(t)
	c := r.as(acmeKey)
	count := func() int64 {
		got, err := c.CountMemories(t.Context(), ask(&mnemev1.CountMemoriesRequest{}))
		if err != nil {
			t.Fatal(err)
		}
		return got.Msg.GetMemories()
	}
	before := count()
	id := talking(t, r)
	if got := count(); got != before {
		t.Errorf("got %d memories after talk, want %d", got, before)
	}
	for choice, want := range map[string]struct {
		talk  bool
		total uint64
	}{"memory": {false, uint64(len(facts))}, "talk": {true, 1}, "all": {true, uint64(len(facts)) + 1}} {
		lists := [][]mnemev1.Tier{contract.TiersOf(choice)}
		if choice == contract.TierChoices()[0] {
			lists = append(lists, nil)
		}
		for _, tiers := range lists {
			got, err := c.ListMemories(t.Context(), ask(&mnemev1.ListMemoriesRequest{UserId: "ana", Tiers: tiers,
				WithTotal: true}))
			if err != nil || got.Msg.GetTotal() != want.total || len(got.Msg.GetMemories()) != int(want.total) {
				t.Fatalf("%s: got %v, %v, want %d entries", choice, got, err, want.total)
			}
			at := slices.IndexFunc(got.Msg.GetMemories(), func(m *mnemev1.Memory) bool { return m.GetId() == id })
			if (at >= 0) != want.talk || at >= 0 && contract.TierName(got.Msg.GetMemories()[at]) != "talk" {
				t.Errorf("%s: talk is entry %d, want it listed: %t", choice, at, want.talk)
			}
		}
	}
	bad := &mnemev1.ListMemoriesRequest{UserId: "ana", Tiers: []mnemev1.Tier{mnemev1.Tier_TIER_UNSPECIFIED}}
	if _, err := c.ListMemories(t.Context(), ask(bad)); connect.CodeOf(err) != connect.CodeInvalidArgument ||
		!strings.Contains(err.Error(), "tiers") {
		t.Errorf("an unknown tier: got %v, want an error about tiers", err)
	}
}

func TestTalkIsRecalledAndExplainedAsTalk(t *testing.T) {
	r := newFixture(t)
	id := talking(t, r)
	query := &mnemev1.RecallRequest{UserId: "ana", Query: "Who hums near the zeppelin?"}
	got, err := r.as(acmeKey).Recall(t.Context(), ask(query))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(got.Msg.GetCited(), func(c *mnemev1.CitedMemory) bool {
		return c.GetMemory().GetId() == id && c.GetMemory().GetTier() == mnemev1.Tier_TIER_TALK
	}) {
		t.Errorf("got %v, want talk with its tier", got.Msg.GetCited())
	}
	turns, err := r.as(acmeKey).GetTurns(t.Context(),
		ask(&mnemev1.GetTurnsRequest{UserId: "ana", TurnIds: []string{"hum"}}))
	if err != nil {
		t.Fatal(err)
	}
	turn := turns.Msg.GetTurns()[0]
	if turn.GetState() != mnemev1.TurnState_TURN_STATE_KEPT || len(turn.GetMemoryIds()) != 0 ||
		!slices.Equal(turn.GetTalkIds(), []string{id}) {
		t.Errorf("got %v, want a kept turn with talk alone", turn)
	}
	why, err := r.why(t, acmeKey, &mnemev1.WhyRequest{
		Recall:        &mnemev1.RecallRequest{UserId: "ana", Query: "Where does Ana live?", Memories: 1},
		ExpectTurnIds: []string{"hum"},
	})
	if err != nil || len(why.GetFindings()) != 1 {
		t.Fatalf("got %v, %v", why, err)
	}
	if f := why.GetFindings()[0]; !strings.HasSuffix(f.GetReason(), "; it is kept as talk, and no memory was made of it") {
		t.Errorf("got %s: %q, want the reason to name talk", f.GetStage(), f.GetReason())
	}
}
