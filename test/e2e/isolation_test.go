package e2e_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/test/harness"
)

// resident is a user of a tenant with a city that no other user's memory may contain.
type resident struct{ tenant, user, city string }

func (r resident) talk() []dataset.Session {
	life := harness.Lives(0)
	life.City, life.NextCity = r.city, r.city+"-on-Sea"
	return harness.Conversation(r.user, life)
}

// residents have the same user, session and turn ids in both tenants, and nearly the same conversations.
var residents = [...]resident{
	{tenantNorth, "pat", "Aldermoor"}, {tenantNorth, "sam", "Brackwater"},
	{tenantSouth, "pat", "Cinderford"}, {tenantSouth, "sam", "Dunholme"},
}

// settleResidents publishes all four conversations, interleaved turn by turn.
func settleResidents(t *testing.T) {
	t.Helper()
	for i := range residents[0].talk() {
		var lists [][]contract.SessionEvent
		for _, r := range residents {
			lists = append(lists, harness.Events(r.tenant, "", r.talk()[i]))
		}
		for j := range lists[0] {
			for _, events := range lists {
				shared.PublishMessages(t, harness.Messages(t, events[j])...)
			}
		}
	}
	for _, r := range residents {
		shared.AwaitFormed(t, r.tenant, r.talk()...)
	}
}

func TestNoDoorShowsAnotherUsersMemory(t *testing.T) {
	settleResidents(t)
	for _, r := range residents {
		t.Run(r.tenant+" "+r.user, func(t *testing.T) {
			own := shape(shared.Snapshot(t, r.tenant, r.user))
			if len(own) < 6 {
				t.Fatalf("%d entries", len(own))
			}
			shown := readDoors(t, r)
			if !strings.Contains(shown, r.city) {
				t.Errorf("the methods do not show %s, the user's own city", r.city)
			}
			for _, other := range residents {
				if other.city != r.city && strings.Contains(shown, other.city) {
					t.Errorf("%s of %s/%s is shown", other.city, other.tenant, other.user)
				}
			}
		})
	}
	for _, r := range residents {
		for _, other := range residents {
			if other != r {
				t.Run(r.tenant+" "+r.user+" with ids of "+other.tenant+" "+other.user, func(t *testing.T) {
					foreignIDs(t, r, other)
				})
			}
		}
	}
}

// readDoors returns all answers of the reading RPCs about a user, with the credential of the user's tenant.
func readDoors(t *testing.T, r resident) string {
	t.Helper()
	ctx, c := t.Context(), shared.Client(r.tenant)
	var all strings.Builder
	say := func(m proto.Message, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		text, err := proto.MarshalOptions{}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	query := &mnemev1.RecallRequest{UserId: r.user, Query: "Where does Mirela live?", Memories: 20}
	recalled, err := c.Recall(ctx, request(query))
	say(recalled.Msg, err)
	answered, err := c.Answer(ctx, request(&mnemev1.AnswerRequest{Recall: query}))
	say(answered.Msg, err)
	window, err := c.GetWorkingMemory(ctx, request(&mnemev1.GetWorkingMemoryRequest{UserId: r.user}))
	say(window.Msg, err)
	for _, m := range shared.Memories(t, r.tenant, r.user) {
		say(m, nil)
		got, err := c.GetMemory(ctx, request(&mnemev1.GetMemoryRequest{UserId: r.user, MemoryId: m.GetId()}))
		say(got.Msg, err)
		history, err := c.GetMemoryHistory(ctx, request(&mnemev1.GetMemoryHistoryRequest{UserId: r.user,
			MemoryId: m.GetId()}))
		say(history.Msg, err)
	}
	return all.String()
}

// foreignIDs requests another user's memory ids as a user of the caller's own tenant. The services must treat them as
// unknown.
func foreignIDs(t *testing.T, r, other resident) {
	ctx, c := t.Context(), shared.Client(r.tenant)
	for _, m := range shared.Memories(t, other.tenant, other.user) {
		id := m.GetId()
		_, get := c.GetMemory(ctx, request(&mnemev1.GetMemoryRequest{UserId: r.user, MemoryId: id}))
		_, history := c.GetMemoryHistory(ctx, request(&mnemev1.GetMemoryHistoryRequest{UserId: r.user, MemoryId: id}))
		_, remove := c.DeleteMemory(ctx, request(&mnemev1.DeleteMemoryRequest{UserId: r.user, MemoryId: id}))
		_, release := c.ReleaseMemory(ctx, request(&mnemev1.ReleaseMemoryRequest{UserId: r.user, MemoryId: id}))
		_, update := c.UpdateMemory(ctx,
			request(&mnemev1.UpdateMemoryRequest{UserId: r.user, MemoryId: id, Turn: toldTurn("mine", "I live here.")}))
		for method, err := range map[string]error{
			"GetMemory": get, "GetMemoryHistory": history, "DeleteMemory": remove, "ReleaseMemory": release,
			"UpdateMemory": update,
		} {
			if connect.CodeOf(err) != connect.CodeNotFound {
				t.Fatalf("%s of a foreign id: %v, want not_found", method, err)
			}
		}
	}
	for _, m := range shared.Memories(t, other.tenant, other.user) {
		if m.GetStatus() == mnemev1.Status_STATUS_RETRACTED {
			t.Fatal("a foreign call has retracted a memory")
		}
	}
}

func TestASessionOfTheOtherTenantIsPending(t *testing.T) {
	talk := harness.Talk("only-north", "north-1", "Lena", residents[0].talk()[0].Turns[0].Time, "I live in Aldermoor.")
	shared.Publish(t, tenantNorth, talk)
	shared.AwaitFormed(t, tenantNorth, talk)
	res, err := shared.Client(tenantSouth).
		GetSession(t.Context(), request(&mnemev1.GetSessionRequest{UserId: talk.User, SessionId: talk.ID}))
	if err != nil || res.Msg.GetState() != mnemev1.FormationState_FORMATION_STATE_PENDING || res.Msg.GetTurns() != 0 ||
		res.Msg.GetFormedAt() != nil {
		t.Fatalf("%v, %v: want pending, as if it did not exist", res.Msg, err)
	}
}

func TestEveryDoorAsksForAKey(t *testing.T) {
	id := "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
	for name, key := range map[string]string{"no key": "", "a wrong key": "mneme_wrong", "a tenant's id": tenantNorth} {
		t.Run(name, func(t *testing.T) {
			ctx, c := t.Context(), shared.ClientWithKey(key)
			calls := map[string]func() error{
				"Recall": func() error {
					_, err := c.Recall(ctx, request(&mnemev1.RecallRequest{UserId: "pat", Query: "x"}))
					return err
				},
				"Answer": func() error {
					_, err := c.Answer(ctx, request(&mnemev1.AnswerRequest{Recall: &mnemev1.RecallRequest{UserId: "pat", Query: "x"}}))
					return err
				},
				"ReportCitations": func() error {
					_, err := c.ReportCitations(
						ctx,
						request(&mnemev1.ReportCitationsRequest{UserId: "pat", RecallId: id, ShownIds: []string{id}}),
					)
					return err
				},
				"ListMemories": func() error {
					_, err := c.ListMemories(ctx, request(&mnemev1.ListMemoriesRequest{UserId: "pat"}))
					return err
				},
				"GetMemory": func() error {
					_, err := c.GetMemory(ctx, request(&mnemev1.GetMemoryRequest{UserId: "pat", MemoryId: id}))
					return err
				},
				"GetMemoryHistory": func() error {
					_, err := c.GetMemoryHistory(ctx, request(&mnemev1.GetMemoryHistoryRequest{UserId: "pat", MemoryId: id}))
					return err
				},
				"DeleteMemory": func() error {
					_, err := c.DeleteMemory(ctx, request(&mnemev1.DeleteMemoryRequest{UserId: "pat", MemoryId: id}))
					return err
				},
				"ReleaseMemory": func() error {
					_, err := c.ReleaseMemory(ctx, request(&mnemev1.ReleaseMemoryRequest{UserId: "pat", MemoryId: id}))
					return err
				},
				"AddMemory": func() error {
					_, err := c.AddMemory(ctx, request(&mnemev1.AddMemoryRequest{UserId: "pat", SessionId: "s1",
						Turn: toldTurn("mine", "I am here.")}))
					return err
				},
				"UpdateMemory": func() error {
					_, err := c.UpdateMemory(ctx, request(&mnemev1.UpdateMemoryRequest{UserId: "pat", MemoryId: id,
						Turn: toldTurn("mine", "I am here.")}))
					return err
				},
				"GetWorkingMemory": func() error {
					_, err := c.GetWorkingMemory(ctx, request(&mnemev1.GetWorkingMemoryRequest{UserId: "pat"}))
					return err
				},
				"GetSession": func() error {
					_, err := c.GetSession(ctx, request(&mnemev1.GetSessionRequest{UserId: "pat", SessionId: "s1"}))
					return err
				},
			}
			for method, call := range calls {
				if err := call(); connect.CodeOf(err) != connect.CodeUnauthenticated {
					t.Errorf("%s: %v, want unauthenticated", method, err)
				}
			}
		})
	}
}

// The body of a call has no field for the tenant, and a header with a tenant has no effect.
func TestACallCannotChooseItsTenant(t *testing.T) {
	talk := harness.Talk("chosen", "c1", "Lena", residents[0].talk()[0].Turns[0].Time, "I live in Everdale.")
	shared.Publish(t, tenantNorth, talk)
	shared.AwaitFormed(t, tenantNorth, talk)
	for _, body := range []proto.Message{
		&mnemev1.RecallRequest{}, &mnemev1.AnswerRequest{}, &mnemev1.ReportCitationsRequest{},
		&mnemev1.ListMemoriesRequest{}, &mnemev1.GetMemoryRequest{},
		&mnemev1.GetMemoryHistoryRequest{}, &mnemev1.DeleteMemoryRequest{}, &mnemev1.ReleaseMemoryRequest{},
		&mnemev1.AddMemoryRequest{}, &mnemev1.UpdateMemoryRequest{},
		&mnemev1.GetWorkingMemoryRequest{}, &mnemev1.GetSessionRequest{},
	} {
		fields := body.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			if strings.Contains(string(fields.Get(i).Name()), "tenant") {
				t.Errorf("%T has the field %s", body, fields.Get(i).Name())
			}
		}
	}
	req := request(&mnemev1.ListMemoriesRequest{UserId: "chosen"})
	for _, header := range []string{"X-Tenant-Id", "Tenant-Id", "Tenant"} {
		req.Header().Set(header, tenantNorth)
	}
	res, err := shared.Client(tenantSouth).ListMemories(t.Context(), req)
	if err != nil || len(res.Msg.GetMemories()) != 0 {
		t.Fatalf("%d memories, error %v; want none", len(res.Msg.GetMemories()), err)
	}
	req.Header().Set("Mneme-Tenant", tenantNorth)
	if _, err := shared.Client(tenantSouth).ListMemories(t.Context(),
		req); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Fatalf("a key of another tenant than is named: %v", err)
	}
	// A tenant id hidden in the user id stays part of the user id.
	if got := shared.Memories(t, tenantSouth, "../"+tenantNorth+"/chosen"); len(got) != 0 {
		t.Fatalf("%d memories through a path in the user id", len(got))
	}
}

// Reports and changes of two tenants with equal user ids have the keys of their own tenant and user.
func TestFeedbackAndChangesAreKeyedByTheirOwnUser(t *testing.T) {
	const user = "keyed/by:its own"
	talk := harness.Conversation(user, harness.Lives(2))
	for _, tenant := range []string{tenantNorth, tenantSouth} {
		shared.Publish(t, tenant, talk...)
		shared.AwaitFormed(t, tenant, talk...)
		recalled := recallOf(t, shared.Client(tenant), user, "Where does Ayla live?")
		if len(recalled.GetCited()) == 0 {
			t.Fatal("nothing is cited")
		}
		shown := []string{recalled.GetCited()[0].GetMemory().GetId()}
		_, err := shared.Client(tenant).ReportCitations(t.Context(), request(&mnemev1.ReportCitationsRequest{
			UserId: user, RecallId: recalled.GetRecallId(), ShownIds: shown, CitedIds: shown,
		}))
		if err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]int{}
	for _, topic := range []string{contract.TopicFeedback, contract.TopicMemoryChanges} {
		for _, m := range shared.Records(t, topic) {
			tenant, of := owner(t, topic, m.Value)
			if string(m.Key) != tenant+"/"+of {
				t.Errorf("%s: key %q of a record of %s/%s", topic, m.Key, tenant, of)
			}
			if of == user {
				seen[topic+" "+tenant]++
			}
		}
	}
	for _, tenant := range []string{tenantNorth, tenantSouth} {
		memories := len(shared.Memories(t, tenant, user))
		if seen[contract.TopicFeedback+" "+tenant] != 1 || seen[contract.TopicMemoryChanges+" "+tenant] < memories {
			t.Errorf("%s: %v, want one report and a change for each of %d entries", tenant, seen, memories)
		}
	}
}

func owner(t *testing.T, topic string, value []byte) (tenant, user string) {
	t.Helper()
	var record interface {
		proto.Message
		GetTenantId() string
		GetUserId() string
	} = &mnemev1.Feedback{}
	if topic == contract.TopicMemoryChanges {
		record = &mnemev1.MemoryChange{}
	}
	if err := proto.Unmarshal(value, record); err != nil {
		t.Fatalf("record of %s: %v", topic, err)
	}
	return record.GetTenantId(), record.GetUserId()
}

func TestAnyUserIDHasItsOwnBank(t *testing.T) {
	users := []string{
		`o'neil "the" \ user`, "a/b", "a", "*", "?", "{a}", "[1]", "%2e%2e", "../a", "a|b", " a ", "A", "\U0001F9E0 ünïcødé",
		"مستخدم",
		strings.Repeat("x", 255) + "y", strings.Repeat("x", 255) + "z", "null", "a' OR '1'='1",
	}
	for i, user := range users {
		shared.Publish(t, tenantNorth, idTalk(user, i))
	}
	for i, user := range users {
		talk := idTalk(user, i)
		shared.AwaitFormed(t, tenantNorth, talk)
		got := contents(shared.Snapshot(t, tenantNorth, user), mnemev1.Status_STATUS_ACTIVE)
		if len(got) != 1 || !strings.Contains(got[0], city(i)) {
			t.Errorf("the bank of %q holds %q, want what was said about %s", user, got, city(i))
		}
		var recalled *mnemev1.RecallResponse
		// a busy machine may answer without the window
		harness.Await(t, "the recall of "+user+" is whole", func(context.Context) (bool, error) {
			recalled = recallOf(t, shared.Client(tenantNorth), user, "Where does Lena live?")
			return len(recalled.GetDegraded()) == 0, nil
		})
		if !strings.Contains(recalled.GetProfile(), city(i)) {
			t.Errorf("the profile of %q is %q", user, recalled.GetProfile())
		}
	}
}

// city returns a name that is not part of another city's name.
func city(i int) string {
	syllables := []string{"ba", "ke", "lo", "mi", "nu"}
	return strings.ToUpper(string(rune('B'+i%20))) + syllables[i%5] + syllables[(i/5)%5] + "ville"
}

func idTalk(user string, i int) dataset.Session {
	return harness.Talk(user, "same session", "Lena", residents[0].talk()[0].Turns[0].Time, "I live in "+city(i)+".")
}

func TestUserIDsThatNobodyCanHave(t *testing.T) {
	for name, user := range map[string]string{
		"empty": "", "blank": " \t", "too long": strings.Repeat("x", 257), "not UTF-8": "a\xff", "with NUL": "a\x00b",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := shared.Client(tenantNorth).ListMemories(t.Context(), request(&mnemev1.ListMemoriesRequest{UserId: user}))
			var refused *connect.Error
			if err == nil ||
				(errors.As(err, &refused) && !slices.Contains([]connect.Code{connect.CodeInvalidArgument, connect.CodeInternal},
					refused.Code())) {
				t.Fatalf("%v, want a refusal", err)
			}
		})
	}
}
