package e2e_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/test/harness"
)

func toldTurn(id, said string) *mnemev1.Turn {
	return &mnemev1.Turn{
		TurnId: id, Speaker: "Nadia", Role: mnemev1.Role_ROLE_USER, Text: said,
		Time: timestamppb.New(time.Now().Truncate(time.Millisecond)),
	}
}

func TestWhatACallerWritesIsRecalledAsItIsAndEdited(t *testing.T) {
	const user, query = "editing", "Where does Nadia live?"
	ctx, c := t.Context(), shared.Client(tenantRead)
	add := &mnemev1.AddMemoryRequest{UserId: user, SessionId: "told", Turn: toldTurn("told:1", "I live in Harrowgate.")}
	added, err := c.AddMemory(ctx, request(add))
	if err != nil {
		t.Fatal(err)
	}
	old := added.Msg.GetMemory()
	if old.GetContent() != "I live in Harrowgate." || old.GetVersion() != 1 || old.GetKind() != mnemev1.Kind_KIND_FACT {
		t.Fatalf("the entry is %v", old)
	}
	shows := func(city string) {
		t.Helper()
		harness.Await(t, "a recall shows "+city+" alone", func(context.Context) (bool, error) {
			profile := recallOf(t, c, user, query).GetProfile()
			return strings.Contains(profile, city) && strings.Contains(profile, "Harrowgate") == (city == "Harrowgate"), nil
		})
	}
	shows("Harrowgate")
	edit := &mnemev1.UpdateMemoryRequest{UserId: user, MemoryId: old.GetId(),
		Turn: toldTurn("told:2", "I live in Silverton.")}
	edited, err := c.UpdateMemory(ctx, request(edit))
	if err != nil {
		t.Fatal(err)
	}
	shows("Silverton")
	announced := changesOf(t, user)
	if len(announced) != 2 || announced[0].GetMemoryId() != old.GetId() ||
		announced[1].GetOperation() != mnemev1.Operation_OPERATION_UPDATE {
		t.Errorf("announced %v, want the addition and the update", announced)
	}
	edit.Turn.Time = timestamppb.Now()
	again, err := c.UpdateMemory(ctx, request(edit))
	if err != nil || !proto.Equal(again.Msg.GetMemory(), edited.Msg.GetMemory()) {
		t.Errorf("again it is %v, %v; want %v", again, err, edited)
	}
	first, err := c.AddMemory(ctx, request(add))
	if err != nil || first.Msg.GetMemory().GetStatus() != mnemev1.Status_STATUS_SUPERSEDED ||
		first.Msg.GetMemory().GetId() != old.GetId() {
		t.Errorf("the addition again is %v, %v; want the entry as it is now", first, err)
	}
	res, err := c.GetMemoryHistory(ctx, request(&mnemev1.GetMemoryHistoryRequest{UserId: user, MemoryId: old.GetId()}))
	if err != nil {
		t.Fatal(err)
	}
	v := res.Msg.GetVersions()
	if len(v) != 2 || v[0].GetContent() != "I live in Harrowgate." ||
		v[0].GetStatus() != mnemev1.Status_STATUS_SUPERSEDED ||
		v[1].GetContent() != "I live in Silverton." || v[1].GetStatus() != mnemev1.Status_STATUS_ACTIVE ||
		v[1].GetVersion() != 2 {
		t.Fatalf("the history is %v", v)
	}
	got, err := c.GetMemory(ctx, request(&mnemev1.GetMemoryRequest{UserId: user, MemoryId: v[1].GetId()}))
	if err != nil || len(got.Msg.GetSources()) != 2 || len(shared.Memories(t, tenantRead, user)) != 2 ||
		len(changesOf(t, user)) != 2 {
		t.Errorf("the new version rests on %v, %v; want both turns, and nothing written or announced twice", got, err)
	}
	turns, err := c.GetTurns(ctx, request(&mnemev1.GetTurnsRequest{UserId: user, TurnIds: []string{"told:2"}}))
	if err != nil || turns.Msg.GetTurns()[0].GetState() != mnemev1.TurnState_TURN_STATE_REMEMBERED {
		t.Errorf("the turn is %v, %v", turns, err)
	}
	edit.Turn = toldTurn("told:3", "I moved.")
	_, err = c.UpdateMemory(ctx, request(edit))
	if connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), "superseded") {
		t.Errorf("an update of history gives %v", err)
	}
}

// A memory that a caller wrote behaves like any other; a later conversation updates it.
func TestAConversationGoesOnFromWhatACallerWrote(t *testing.T) {
	const user = "edited before"
	c := shared.Client(tenantRead)
	told := toldTurn("told:1", "My favourite drink is oolong tea.")
	told.Time = timestamppb.New(time.Now().Add(-24 * time.Hour))
	added, err := c.AddMemory(t.Context(), request(&mnemev1.AddMemoryRequest{UserId: user, SessionId: "told", Turn: told}))
	if err != nil {
		t.Fatal(err)
	}
	talk := harness.Talk(user, "talk", "Nadia", time.Now().Add(-time.Hour),
		"My favourite drink is no longer oolong tea, it is espresso now.")
	shared.Publish(t, tenantRead, talk)
	shared.AwaitFormed(t, tenantRead, talk)
	res, err := c.GetMemory(t.Context(), request(&mnemev1.GetMemoryRequest{UserId: user,
		MemoryId: added.Msg.GetMemory().GetId()}))
	if err != nil || res.Msg.GetMemory().GetStatus() != mnemev1.Status_STATUS_SUPERSEDED {
		t.Errorf("%v, %v; want the entry, superseded", res, err)
	}
}

// changesOf returns the announced changes of a user's entries, in order.
func changesOf(t *testing.T, user string) []*mnemev1.MemoryChange {
	t.Helper()
	var out []*mnemev1.MemoryChange
	for _, m := range shared.Records(t, contract.TopicMemoryChanges) {
		change := &mnemev1.MemoryChange{}
		if err := proto.Unmarshal(m.Value, change); err != nil {
			t.Fatal(err)
		}
		if change.GetUserId() == user {
			out = append(out, change)
		}
	}
	return out
}
