package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/test/harness"
)

var said = time.Date(2025, time.May, 5, 12, 0, 0, 0, time.UTC)

// refused is a record that can never be processed.
type refused struct {
	name string
	// field and reason are the expected contents of the dead letter. The reason also names the field.
	field, reason string
	// change breaks a valid event; if it is nil, raw is the record.
	change func(e *mnemev1.SessionEvent)
	// patch breaks the encoded event.
	patch func(value []byte) []byte
	raw   []byte
}

// marker is a text in valid events. It has the length of its replacement in patches.
const marker = "MARKER"

func replaced(with string) func([]byte) []byte {
	return func(value []byte) []byte { return []byte(strings.Replace(string(value), marker, with, 1)) }
}

func refusals() []refused {
	return []refused{
		{name: "random bytes", reason: "SessionEvent", raw: []byte("\xff\xfe not protobuf")},
		{name: "no bytes", reason: "SessionEvent", raw: []byte{}},
		{
			name:   "another version",
			reason: "schema_version",
			field:  "schema_version",
			change: func(e *mnemev1.SessionEvent) { e.SchemaVersion = 2 },
		},
		{name: "no event", reason: "event", field: "event", change: func(e *mnemev1.SessionEvent) { e.Event = nil }},
		{name: "no event id", reason: "event_id", field: "event_id", change: func(e *mnemev1.SessionEvent) {
			e.EventId = ""
		}},
		{name: "no session id", reason: "session_id", field: "session_id", change: func(e *mnemev1.SessionEvent) {
			e.SessionId = ""
		}},
		{name: "no user id", reason: "user_id", field: "user_id", change: func(e *mnemev1.SessionEvent) { e.UserId = "" }},
		{name: "no tenant id", reason: "tenant_id", field: "tenant_id", change: func(e *mnemev1.SessionEvent) {
			e.TenantId = ""
		}},
		{name: "another user's key", reason: "key", field: "key", change: func(e *mnemev1.SessionEvent) {
			e.UserId = "somebody else"
		}},
		{
			name:   "no turn id",
			reason: "turn.turn_id",
			field:  "turn.turn_id",
			change: func(e *mnemev1.SessionEvent) { e.GetTurn().TurnId = "" },
		},
		{
			name:   "no speaker",
			reason: "turn.speaker",
			field:  "turn.speaker",
			change: func(e *mnemev1.SessionEvent) { e.GetTurn().Speaker = "" },
		},
		{name: "no role", reason: "turn.role", field: "turn.role", change: func(e *mnemev1.SessionEvent) {
			e.GetTurn().Role = 0
		}},
		{name: "empty text", reason: "turn.text", field: "turn.text", change: func(e *mnemev1.SessionEvent) {
			e.GetTurn().Text = ""
		}},
		{name: "blank text", reason: "turn.text", field: "turn.text", change: func(e *mnemev1.SessionEvent) {
			e.GetTurn().Text = " \n\t"
		}},
		{
			name:   "a text of a mebibyte",
			reason: "turn.text",
			field:  "turn.text",
			change: func(e *mnemev1.SessionEvent) { e.GetTurn().Text = strings.Repeat("words ", 1<<20/6+1) },
		},
		{name: "a text with NUL", reason: "turn.text", field: "turn.text", patch: replaced("MAR\x00ER")},
		{name: "a text that is not UTF-8", reason: "turn.text", field: "turn.text", patch: replaced("MAR\xc3\x28R")},
		{name: "no time", reason: "turn.time", field: "turn.time", change: func(e *mnemev1.SessionEvent) {
			e.GetTurn().Time = nil
		}},
		{name: "the year 1", reason: "turn.time", field: "turn.time", change: func(e *mnemev1.SessionEvent) {
			e.GetTurn().Time = timestamppb.New(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC))
		}},
		{name: "the year 9999", reason: "turn.time", field: "turn.time", change: func(e *mnemev1.SessionEvent) {
			e.GetTurn().Time = timestamppb.New(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC))
		}},
	}
}

// record builds the broken record of a user, with the user's key.
func (r refused) record(t *testing.T, user string) (key, value []byte) {
	t.Helper()
	key = []byte(tenantDead + "/" + user)
	if r.raw != nil {
		return key, r.raw
	}
	e := &mnemev1.SessionEvent{
		SchemaVersion: contract.SchemaVersion, EventId: "bad event", TenantId: tenantDead, UserId: user,
		SessionId: "bad session",
		Event: &mnemev1.SessionEvent_Turn{Turn: &mnemev1.Turn{
			TurnId: "bad turn", Speaker: "Lena", Role: mnemev1.Role_ROLE_USER, Text: "I live in " + marker + ".",
			Time: timestamppb.New(said),
		}},
	}
	if r.change != nil {
		r.change(e)
	}
	value, err := proto.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if r.patch != nil {
		value = r.patch(value)
	}
	return key, value
}

func goodTalk(user string) dataset.Session {
	return harness.Talk(user, "good session", "Lena", said, "I live in Goodwick.", "My dog's name is Comet.")
}

// A record that can never be processed becomes a dead letter with the reason. It does not delay later records of its
// partition.
func TestARefusedRecordBecomesALetterAndHoldsUpNothing(t *testing.T) {
	all := refusals()
	users := map[string]refused{}
	for i, r := range all {
		user := fmt.Sprintf("refused %02d", i)
		users[user] = r
		key, value := r.record(t, user)
		shared.PublishRaw(t, contract.TopicSessionEvents, key, value)
		shared.Publish(t, tenantDead, goodTalk(user))
	}
	byKey := map[string][]*mnemev1.DeadLetter{}
	harness.Await(t, "there is a dead letter for each", func(context.Context) (bool, error) {
		byKey = map[string][]*mnemev1.DeadLetter{}
		for _, l := range shared.DeadLetters(t, tenantDead+"/refused ") {
			byKey[string(l.GetKey())] = append(byKey[string(l.GetKey())], l)
		}
		return len(byKey) >= len(all), nil
	})
	for user, r := range users {
		t.Run(r.name, func(t *testing.T) {
			key, value := r.record(t, user)
			deadLetters := byKey[string(key)]
			if len(deadLetters) != 1 {
				t.Fatalf("%d dead letters, want 1", len(deadLetters))
			}
			l := deadLetters[0]
			if !strings.Contains(l.GetReason(), r.reason) || l.GetField() != r.field {
				t.Errorf("field %q, reason %q; want %q and a reason that names %q", l.GetField(), l.GetReason(), r.field, r.reason)
			}
			if strings.Contains(l.GetReason(), "I live in") {
				t.Errorf("the reason quotes the text: %q", l.GetReason())
			}
			if string(l.GetValue()) != string(value) || l.GetTopic() != contract.TopicSessionEvents ||
				l.GetHandler() != harness.Filter {
				t.Errorf(
					"a dead letter of %s from %s with %d bytes, want the record of %s as it was",
					l.GetHandler(),
					l.GetTopic(),
					len(l.GetValue()),
					contract.TopicSessionEvents,
				)
			}
			shared.AwaitFormed(t, tenantDead, goodTalk(user))
			if got := contents(shared.Snapshot(t, tenantDead, user), mnemev1.Status_STATUS_ACTIVE); len(got) != 2 {
				t.Errorf("the bank holds %q, want the two facts of the good session", got)
			}
		})
	}
}

// The services behind the filter check records from the bus as strictly as the filter does.
func TestARefusedSalientRecordBecomesALetterToo(t *testing.T) {
	const user = "salient"
	shared.PublishRaw(t, contract.TopicSalientTurns, []byte(tenantDead+"/"+user), []byte("\xff\xfe"))
	shared.Publish(t, tenantDead, goodTalk(user))
	l := shared.AwaitDeadLetter(t, tenantDead+"/"+user, "SalientEvent")
	if l.GetHandler() != harness.Booster || l.GetTopic() != contract.TopicSalientTurns {
		t.Errorf("a dead letter of %s from %s", l.GetHandler(), l.GetTopic())
	}
	shared.AwaitFormed(t, tenantDead, goodTalk(user))
}

// A record of an unknown tenant becomes a dead letter without delaying its partition. Once the tenant is known, a
// replay processes all its records.
func TestAReplayBringsInATenantThatWasUnknown(t *testing.T) {
	const ghost = "ghost"
	talk := harness.Conversation("casper", harness.Lives(4))
	behind := goodTalk(neighbour(ghost + "/casper"))
	shared.Publish(t, ghost, talk...)
	shared.Publish(t, tenantDead, behind)
	turns := 0
	for _, s := range talk {
		turns += len(s.Turns) + 1
	}
	shared.AwaitFormed(t, tenantDead, behind)
	harness.Await(t, "every event is a dead letter", func(context.Context) (bool, error) {
		deadLetters := shared.DeadLetters(t, ghost+"/")
		for _, l := range deadLetters {
			if l.GetField() != "tenant_id" || !strings.Contains(l.GetReason(), "tenant_id") {
				return false, fmt.Errorf("field %q, reason %q", l.GetField(), l.GetReason())
			}
		}
		return len(deadLetters) == turns, nil
	})
	if err := shared.AddTenants(harness.Tenant{ID: ghost}); err != nil {
		t.Fatal(err)
	}
	// A service may not have read the new file yet. Records that it refuses again would then arrive after accepted
	// records. The conversation of another user shows when all services have read the file.
	probe := goodTalk("probe")
	shared.Publish(t, ghost, probe)
	harness.Await(t, "every service knows the tenant", func(context.Context) (bool, error) {
		shared.Replay(t, ghost+"/probe")
		return len(shared.DeadLetters(t, ghost+"/probe")) == 0 && len(shared.Snapshot(t, ghost, "probe")) > 0, nil
	})
	shared.Replay(t, ghost+"/casper")
	if left := shared.DeadLetters(t, ghost+"/"); len(left) != 0 {
		t.Errorf("%d dead letters are left", len(left))
	}
	shared.AwaitFormed(t, ghost, talk...)
	shared.Publish(t, tenantDead, harness.Conversation("casper", harness.Lives(4))...)
	shared.AwaitFormed(t, tenantDead, talk...)
	want, got := shape(shared.Snapshot(t, tenantDead, "casper")), shape(shared.Snapshot(t, ghost, "casper"))
	if diff := harness.Diff(want, got); diff != "" {
		t.Fatalf("the replayed conversation is remembered otherwise:\n%s", diff)
	}
}

// neighbour returns a user of the tenant for refused records. The user's key maps to the same partition as the given
// key.
func neighbour(key string) string {
	partitions := []int{0, 1, 2, 3}
	balancer := kafka.Murmur2Balancer{Consistent: true}
	want := balancer.Balance(kafka.Message{Key: []byte(key)}, partitions...)
	for i := 0; ; i++ {
		user := fmt.Sprintf("neighbour %d", i)
		if balancer.Balance(kafka.Message{Key: []byte(tenantDead + "/" + user)}, partitions...) == want {
			return user
		}
	}
}

// holdsTurn reports whether a dead letter of either topic contains a turn.
func holdsTurn(t *testing.T, l *mnemev1.DeadLetter) bool {
	t.Helper()
	var event mnemev1.SessionEvent
	var salient mnemev1.SalientEvent
	if l.GetTopic() == contract.TopicSessionEvents {
		if err := proto.Unmarshal(l.GetValue(), &event); err != nil {
			t.Fatal(err)
		}
		return event.GetTurn() != nil
	}
	if err := proto.Unmarshal(l.GetValue(), &salient); err != nil {
		t.Fatal(err)
	}
	return salient.GetTurn() != nil
}
