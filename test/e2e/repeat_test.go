package e2e_test

import (
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/test/harness"
)

// A user's bank depends on the contents of the conversation, not on repeated delivery. Each kind of repetition gives
// the same bank as a single delivery. Ids are derived from the user, so the test compares banks of different users by
// shape.
func TestWhatArrivesAgainIsRememberedOnce(t *testing.T) {
	life := harness.Lives(0)
	want := once(t, "once", life)
	variants := map[string]func(t *testing.T, user string, talk []dataset.Session){
		"each event twice": func(t *testing.T, _ string, talk []dataset.Session) {
			for _, s := range talk {
				for _, m := range harness.Messages(t, harness.Events(tenantRepeat, "", s)...) {
					shared.PublishMessages(t, m, m)
				}
			}
		},
		"the sessions again with the same events": func(t *testing.T, _ string, talk []dataset.Session) {
			for _, s := range talk {
				shared.Publish(t, tenantRepeat, s, s)
			}
		},
		"the sessions again with other events": func(t *testing.T, _ string, talk []dataset.Session) {
			for _, s := range talk {
				shared.Publish(t, tenantRepeat, s)
				shared.PublishMessages(t, harness.Messages(t, harness.Events(tenantRepeat, "again", s)...)...)
			}
		},
		"the sessions again with other events when they are formed": func(t *testing.T, _ string, talk []dataset.Session) {
			shared.Publish(t, tenantRepeat, talk...)
			shared.AwaitFormed(t, tenantRepeat, talk...)
			for _, s := range talk {
				shared.PublishMessages(t, harness.Messages(t, harness.Events(tenantRepeat, "again", s)...)...)
			}
		},
	}
	for name, publish := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			user := "user of " + name
			talk := harness.Conversation(user, life)
			publish(t, user, talk)
			settle(t, tenantRepeat, user, talk)
			if diff := harness.Diff(want, shape(shared.Snapshot(t, tenantRepeat, user))); diff != "" {
				t.Fatal(diff)
			}
			if got, want := counted(t, talk), counted(t, harness.Conversation("once", life)); got != want {
				t.Errorf("the sessions count %v turns and operations, want %v", got, want)
			}
		})
	}
}

func TestEightPublishersOfOneSessionAtOnce(t *testing.T) {
	life := harness.Lives(1)
	want := once(t, "one publisher", life)
	const user = "eight publishers"
	talk := harness.Conversation(user, life)
	for _, s := range talk {
		var g errgroup.Group
		for _, salt := range []string{"", "", "", "", "e", "f", "g", "h"} {
			msgs := harness.Messages(t, harness.Events(tenantRepeat, salt, s)...)
			g.Go(func() error {
				for _, m := range msgs {
					if err := shared.TryPublish(t.Context(), m); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, tenantRepeat, user, talk)
	if diff := harness.Diff(want, shape(shared.Snapshot(t, tenantRepeat, user))); diff != "" {
		t.Fatal(diff)
	}
}

// counted sums the salient turns and the operations in the sessions' records.
func counted(t *testing.T, talk []dataset.Session) (sum [2]uint32) {
	t.Helper()
	for _, s := range talk {
		res, err := shared.Client(tenantRepeat).
			GetSession(t.Context(), request(&mnemev1.GetSessionRequest{UserId: s.User, SessionId: s.ID}))
		if err != nil {
			t.Fatal(err)
		}
		sum[0], sum[1] = sum[0]+res.Msg.GetTurns(), sum[1]+res.Msg.GetOperations()
	}
	return sum
}

// once returns the shape of a bank after a single delivery.
func once(t *testing.T, user string, life harness.Life) []harness.Entry {
	t.Helper()
	talk := harness.Conversation(user, life)
	shared.Publish(t, tenantRepeat, talk...)
	shared.AwaitFormed(t, tenantRepeat, talk...)
	got := shape(shared.Snapshot(t, tenantRepeat, user))
	if len(got) < 6 {
		t.Fatalf("%d entries of a conversation with six facts", len(got))
	}
	return got
}
