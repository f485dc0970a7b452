//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/test/harness"
)

const (
	speakers = 4
	// formedEach is the number of formed sessions of each speaker before a node dies, and again afterwards.
	formedEach = 2
)

// startSpeakers starts speakers. Each publishes one session, waits until it is formed, and continues.
func startSpeakers(t *testing.T, sys *harness.System, tenant string) []*client {
	t.Helper()
	clients := make([]*client, speakers)
	for i := range clients {
		clients[i] = startClient(t, "session of "+user(i), func(ctx context.Context, n int) error {
			return form(ctx, sys, tenant, spoken(i, n))
		})
	}
	return clients
}

// said returns the published sessions of speakers that have ended.
func said(clients []*client) (out []dataset.Session) {
	for i, c := range clients {
		for n := range c.made {
			out = append(out, spoken(i, n))
		}
	}
	return out
}

// sameAsCalm publishes the same sessions to a calm tenant, once no node dies and no replica is replaced any more. It
// compares the results of both tenants.
func sameAsCalm(t *testing.T, sys *harness.System, tenant, calm string, sessions []dataset.Session) {
	t.Helper()
	awaitFormed(t, sys.Client(tenant), sessions)
	began := time.Now()
	sys.Publish(t, calm, sessions...)
	awaitFormed(t, sys.Client(calm), sessions)
	took := time.Since(began)
	want := harness.AwaitSame(t, func(ctx context.Context) (want, got harness.State, err error) {
		if want, err = harness.ReadState(ctx, calm, sys.Client(calm), sessions); err == nil {
			got, err = harness.ReadState(ctx, tenant, sys.Client(tenant), sessions)
		}
		return want, got, err
	})
	for _, part := range []string{"STATUS_ACTIVE", "STATUS_SUPERSEDED", " v2 ", " recent "} {
		if !want.Has(part) {
			t.Errorf("the undisturbed tenant has nothing with %q", part)
		}
	}
	for _, letter := range sys.DeadLetters(t, tenant+"/") {
		t.Errorf("a dead letter: %s", letter.GetReason())
	}
	t.Logf("%d sessions came to %d lines of state; published at once and undisturbed they were formed in %v",
		len(sessions), len(want),
		took.Round(time.Second))
}

// patience is the limit until everything is formed. Consumer groups wait for killed replicas, and then Temporal does.
const patience = 4 * time.Minute

// awaitFormed waits for the sessions one after the other, because each check costs a workflow's worker some work.
func awaitFormed(t *testing.T, client harness.Client, sessions []dataset.Session) {
	t.Helper()
	began, tick := time.Now(), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	for _, s := range sessions {
		for formed := harness.Formed(client, []dataset.Session{s}); formed(t.Context()) == 0; {
			if <-tick.C; time.Since(began) > patience {
				t.Fatalf("session %s of %s is not formed after %v", s.ID, s.User, patience)
			}
		}
	}
	t.Logf("all sessions are formed, waited for %v", time.Since(began).Round(time.Second))
}

func user(i int) string { return fmt.Sprint("u", i) }

// spoken returns a speaker's n-th session, with a new statement and a replacement of the previous session's
// statement.
func spoken(i, n int) dataset.Session {
	cities := []string{"Ghent", "Turku", "Split", "Graz", "Cork", "Bergen", "Utrecht"}
	pets := []string{"Biscuit", "Maple", "Comet", "Pepper", "Olive"}
	at := time.Date(2020, time.March, 3, 18, 0, 0, 0, time.UTC).AddDate(0, 0, n) // never a future time
	return harness.Talk(user(i), fmt.Sprint("s", n), harness.Lives(i).Name, at,
		"I live in "+cities[(i+n)%len(cities)]+" now.", fmt.Sprintf("I have a dog called %s%d.", pets[(i+n)%len(pets)], n))
}

// form publishes a session and waits until it is formed. It retries failures, so the client measures the whole
// duration.
func form(ctx context.Context, sys *harness.System, tenant string, s dataset.Session) error {
	msgs, err := harness.Encode(harness.Events(tenant, "", s)...)
	if err != nil {
		return err
	}
	// A call is counted even after its client has ended, so its data must be published.
	publishing, cancel := context.WithTimeout(context.WithoutCancel(ctx), callEnds)
	defer cancel()
	if err := sys.TryPublish(publishing, msgs...); err != nil {
		return err
	}
	c := sys.Client(tenant)
	tick := time.NewTicker(everyCall)
	defer tick.Stop()
	for {
		got, err := c.GetSession(ctx, connect.NewRequest(&mnemev1.GetSessionRequest{UserId: s.User, SessionId: s.ID}))
		if err == nil && got.Msg.GetState() == mnemev1.FormationState_FORMATION_STATE_FORMED {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("session %s of %s is not formed: %w", s.ID, s.User, ctx.Err())
		case <-tick.C:
		}
	}
}
