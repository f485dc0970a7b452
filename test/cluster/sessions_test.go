//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/test/harness"
)

const (
	speakers = 4
	// formedEach is how many sessions of each speaker are formed before a node dies, and again afterwards.
	formedEach = 2
)

// remembered are a user's memories, a line each, without what derives from the tenant.
func remembered(t *testing.T, sys *harness.System, tenant, user string) []string {
	t.Helper()
	var out []string
	for _, e := range sys.Snapshot(t, tenant, user) {
		out = append(out, fmt.Sprintf("v%d %s %s %q from %v after %d", e.Version, e.Status, e.Kind, e.Content, e.Sources, len(e.Predecessors)))
	}
	slices.Sort(out)
	return out
}

// startSpeakers has speakers say one session after the other, the next when the one before is formed.
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

// sameAsCalm tells a calm tenant, once nothing dies any more, what speakers who have ended told another, and holds the memories of both
// against each other.
func sameAsCalm(t *testing.T, sys *harness.System, tenant, calm string, clients []*client) {
	t.Helper()
	said := make([][]dataset.Session, len(clients))
	for i, c := range clients {
		for n := range c.made {
			said[i] = append(said[i], spoken(i, n))
		}
		sys.AwaitFormed(t, tenant, said[i]...)
		sys.Publish(t, calm, said[i]...)
	}
	for i, all := range said {
		sys.AwaitFormed(t, calm, all...)
		want, got := remembered(t, sys, calm, user(i)), remembered(t, sys, tenant, user(i))
		t.Logf("%s: %d sessions formed, %d memories", user(i), len(all), len(got))
		if !slices.Equal(want, got) {
			t.Errorf("%s has other memories than where nothing died:\n%s\nwant\n%s", user(i), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if letters := sys.DeadLetters(t, tenant+"/"); len(letters) != 0 {
		t.Errorf("%d dead letters, the first because of %q", len(letters), letters[0].GetReason())
	}
}

func user(i int) string { return fmt.Sprint("u", i) }

// spoken is a speaker's n-th session: something new, and something that replaces what the one before said.
func spoken(i, n int) dataset.Session {
	cities := []string{"Ghent", "Turku", "Split", "Graz", "Cork", "Bergen", "Utrecht"}
	pets := []string{"Biscuit", "Maple", "Comet", "Pepper", "Olive"}
	at := time.Date(2020, time.March, 3, 18, 0, 0, 0, time.UTC).AddDate(0, 0, n) // years before the filter takes a time for one to come
	return harness.Talk(user(i), fmt.Sprint("s", n), harness.Lives(i).Name, at,
		"I live in "+cities[(i+n)%len(cities)]+" now.", fmt.Sprintf("I have a dog called %s%d.", pets[(i+n)%len(pets)], n))
}

// form publishes a session and waits until it is formed. What fails meanwhile is waited for: the client's is the time that it all takes.
func form(ctx context.Context, sys *harness.System, tenant string, s dataset.Session) error {
	msgs, err := harness.Encode(harness.Events(tenant, "", s)...)
	if err != nil {
		return err
	}
	// A call counts as made when its client is ended, too: what it publishes has to be there.
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
