package e2e_test

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/test/harness"
)

// secretLife is a life in a city that no other test mentions.
func secretLife(city string) harness.Life {
	life := harness.Lives(1)
	life.City, life.NextCity = city, city+"bridge"
	return life
}

// tellAll publishes a conversation of a user about a life, and a record that cannot be processed.
func tellAll(t *testing.T, user, city string) {
	t.Helper()
	talk := harness.Conversation(user, secretLife(city))
	shared.Publish(t, tenantErase, talk...)
	shared.PublishRaw(t, contract.TopicSessionEvents, []byte(tenantErase+"/"+user), []byte("\xff\xfe I live in "+city))
	shared.AwaitFormed(t, tenantErase, talk...)
	shared.AwaitDeadLetter(t, tenantErase+"/"+user, "SessionEvent")
}

// deadLettersWith counts the dead-letter records that contain a text, from the beginning of the topic.
func deadLettersWith(t *testing.T, text string) int {
	t.Helper()
	n := 0
	for _, m := range shared.Records(t, contract.TopicDeadLetters) {
		if bytes.Contains(m.Value, []byte(text)) || bytes.Contains(m.Key, []byte(text)) {
			n++
		}
	}
	return n
}

func TestAnErasedUserIsGoneFromEveryStore(t *testing.T) {
	const user, other, city, otherCity = "mara", "nils", "Quillhaven", "Rookmoor"
	tellAll(t, user, city)
	tellAll(t, other, otherCity)
	before := shared.Scan(t, tenantErase, user)
	for _, store := range []string{"memories", "turns", "sessions", "window turns", "dead letters", "workflow histories"} {
		if before[store] == 0 {
			t.Errorf("before the erasure the scan finds no %s: %v", store, before)
		}
	}
	if len(shared.Histories(t, city)) == 0 || deadLettersWith(t, city) == 0 {
		t.Fatal("before the erasure no history and no dead letter holds the text: the search proves nothing")
	}
	neighbour := shared.Snapshot(t, tenantErase, other)

	shared.Erase(t, tenantErase, user)

	harness.Await(
		t,
		"a scan finds nothing",
		func(context.Context) (bool, error) { return len(shared.Scan(t, tenantErase, user)) == 0, nil },
	)
	if got := shared.Histories(t, city); len(got) > 0 {
		t.Errorf("histories of %v still hold the text", got)
	}
	if n := deadLettersWith(t, city); n > 0 {
		t.Errorf("%d dead letters still hold the text", n)
	}
	if got := recallOf(t, shared.Client(tenantErase), user, "Where does Tomas live?"); strings.Contains(got.GetProfile(),
		city) ||
		len(got.GetCited()) > 0 {
		t.Errorf("recall still says %q", got.GetProfile())
	}
	if result := shared.Replay(t, tenantErase+"/"+user); result.Replayed > 0 {
		t.Errorf("a replay put %d records back", result.Replayed)
	}
	checkNeighbour(t, other, otherCity, neighbour)
	checkAnew(t, user)
}

// checkNeighbour checks that another user's data is unchanged: the bank and the dead letter. It also checks that the
// dead letter can be replayed.
func checkNeighbour(t *testing.T, user, city string, before []harness.Entry) {
	t.Helper()
	if diff := harness.Diff(before, shared.Snapshot(t, tenantErase, user)); diff != "" {
		t.Errorf("another user's bank has changed:\n%s", diff)
	}
	if deadLetters := shared.DeadLetters(t, tenantErase+"/"+user); len(deadLetters) != 1 ||
		!strings.Contains(string(deadLetters[0].GetValue()), city) {
		t.Errorf("another user has %d waiting dead letters, want the one as it was", len(deadLetters))
	}
	if got := recallOf(t, shared.Client(tenantErase), user, "Where does Tomas live?"); !strings.Contains(got.GetProfile(),
		city) {
		t.Errorf("another user's recall says %q", got.GetProfile())
	}
}

// checkAnew publishes new turns under the same ids as the erased ones.
func checkAnew(t *testing.T, user string) {
	t.Helper()
	again := harness.Conversation(user, secretLife("Sablewick"))
	shared.Publish(t, tenantErase, again...)
	shared.AwaitFormed(t, tenantErase, again...)
	active := contents(shared.Snapshot(t, tenantErase, user), mnemev1.Status_STATUS_ACTIVE)
	if len(active) < 4 || !strings.Contains(strings.Join(active, "\n"), "Sablewick") {
		t.Errorf("after the erasure the bank holds %q", active)
	}
}

// An erasure request is one of the user's events. It removes earlier events of the topic and keeps later ones. This
// also holds if all events are published at once, or published again.
func TestAnErasureTakesItsPlaceAmongWhatIsSaid(t *testing.T) {
	const user = "olga"
	scope := memory.Scope{Tenant: tenantErase, User: user}
	old := harness.Talk(user, "old", "Olga", said, "I live in Tarnbeck.", "My dog's name is Comet.")
	next := harness.Talk(user, "next", "Olga", said.AddDate(0, 1, 0), "I live in Umberton.")
	erase := contract.SessionEvent{Envelope: contract.Envelope{EventID: "erase olga", Scope: scope}, ErasedAt: time.Now()}
	msgs := slices.Concat(harness.Messages(t, harness.Events(tenantErase, "", old)...), harness.Messages(t, erase),
		harness.Messages(t, harness.Events(tenantErase, "", next)...))
	for range 2 {
		shared.PublishMessages(t, slices.Clone(msgs)...)
	}
	shared.AwaitErased(t, tenantErase, user, erase.EventID)
	shared.AwaitFormed(t, tenantErase, next)
	harness.Await(t, "the bank holds what was said after the request", func(context.Context) (bool, error) {
		got := contents(shared.Snapshot(t, tenantErase, user), mnemev1.Status_STATUS_ACTIVE)
		return len(got) == 1 && strings.Contains(got[0], "Umberton"), nil
	})
	shared.AwaitErased(t, tenantErase, user, erase.EventID)
	if got := shared.Histories(t, "Tarnbeck"); len(got) > 0 {
		t.Errorf("histories of %v hold what was erased", got)
	}
	got := slices.Sorted(maps.Keys(shared.Scan(t, tenantErase, user)))
	if want := []string{"memories", "sessions", "turns", "window turns"}; len(got) < 4 ||
		!slices.Equal(without(got, "workflow histories"), want) {
		t.Errorf("the scan finds %v, want %v and the run since", got, want)
	}
	window, err := shared.Client(tenantErase).GetWorkingMemory(t.Context(),
		request(&mnemev1.GetWorkingMemoryRequest{UserId: user}))
	if err != nil || len(window.Msg.GetTurns()) != 1 || !strings.Contains(window.Msg.GetTurns()[0].GetText(), "Umberton") {
		t.Errorf("the window shows %v, %v", window, err)
	}
}

func without(in []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(in), func(s string) bool { return s == name })
}

func TestAnExportComesBackAfterAnErasure(t *testing.T) {
	const user = "pavel"
	talk := harness.Conversation(user, secretLife("Vellmark"))
	shared.Publish(t, tenantErase, talk...)
	shared.AwaitFormed(t, tenantErase, talk...)
	before, exported := shared.Snapshot(t, tenantErase, user), shared.Export(t, tenantErase, user)
	err := shared.Import(t.Context(), tenantErase, user, bytes.NewReader(exported))
	if connect.CodeOf(err) != connect.CodeFailedPrecondition {
		t.Errorf("an import into a bank that is not empty gave %v", err)
	}
	shared.Erase(t, tenantErase, user)
	harness.Await(t, "the import is taken", func(ctx context.Context) (bool, error) {
		err := shared.Import(ctx, tenantErase, user, bytes.NewReader(exported))
		if connect.CodeOf(err) == connect.CodeFailedPrecondition {
			return false, nil // the writer has not ended yet
		}
		return err == nil, err
	})
	if diff := harness.Diff(before, shared.Snapshot(t, tenantErase, user)); diff != "" {
		t.Errorf("the imported bank differs:\n%s", diff)
	}
	if again := shared.Export(t, tenantErase, user); !bytes.Equal(exported, again) {
		t.Errorf("the second export of %d bytes differs from the first of %d", len(again), len(exported))
	}
	if got := recallOf(t, shared.Client(tenantErase), user, "Where does Tomas live?"); !strings.Contains(got.GetProfile(),
		"Vellmark") {
		t.Errorf("recall from the imported bank says %q", got.GetProfile())
	}
	// Imported sessions count as consolidated, so the same conversation adds no memory.
	shared.Publish(t, tenantErase, talk...)
	more := harness.Talk(user, "more", "Tomas", said.AddDate(1, 0, 0), "My sister's name is Ilse.")
	shared.Publish(t, tenantErase, more)
	shared.AwaitFormed(t, tenantErase, more)
	if got := shared.Snapshot(t, tenantErase, user); len(got) != len(before)+1 {
		t.Errorf("%d entries after the conversation came again and one thing was new, before %d", len(got), len(before))
	}
}

// The scan returns only data of the credential's tenant.
func TestAScanShowsNothingOfAnotherTenant(t *testing.T) {
	const user = "quentin"
	talk := harness.Conversation(user, secretLife("Wexcombe"))
	shared.Publish(t, tenantErase, talk...)
	shared.AwaitFormed(t, tenantErase, talk...)
	if got := shared.Scan(t, tenantRead, user); len(got) > 0 {
		t.Errorf("another tenant's scan finds %v", got)
	}
	if got := shared.Export(t, tenantRead, user); bytes.Count(got, []byte("\n")) != 1 {
		t.Errorf("another tenant exports %d bytes", len(got))
	}
	shared.Erase(t, tenantRead, user)
	if got := shared.Scan(t, tenantErase, user); got["memories"] == 0 {
		t.Errorf("another tenant's erasure left %v", got)
	}
}
