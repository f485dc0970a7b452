package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/test/harness"
)

// shape replaces ids, which depend on tenant and user, by the contents that they refer to.
func shape(entries []harness.Entry) []harness.Entry {
	names := map[string]string{}
	for _, e := range entries {
		names[e.ID] = fmt.Sprintf("%q from %v", e.Content, e.Sources)
	}
	out := slices.Clone(entries)
	for i := range out {
		out[i].ID = ""
		out[i].Predecessors = slices.Clone(out[i].Predecessors)
		for j, id := range out[i].Predecessors {
			out[i].Predecessors[j] = names[id]
		}
		slices.Sort(out[i].Predecessors)
	}
	return out
}

// contents returns the texts of a bank in a given state.
func contents(entries []harness.Entry, status mnemev1.Status) []string {
	var out []string
	for _, e := range entries {
		if e.Status == status.String() {
			out = append(out, e.Content)
		}
	}
	slices.Sort(out)
	return out
}

// settle waits until all published sessions of a user are consolidated. A user has one writer, so the last published
// session is formed after all others.
func settle(t *testing.T, tenant, user string, talk []dataset.Session) {
	t.Helper()
	last := harness.Talk(user, "the end", "Nobody", talk[0].Turns[0].Time.Add(24*time.Hour), "Hi!")
	shared.Publish(t, tenant, last)
	shared.AwaitFormed(t, tenant, append(slices.Clone(talk), last)...)
}

func request[T any](msg *T) *connect.Request[T] { return connect.NewRequest(msg) }

// recallOf requests a profile; the call must succeed.
func recallOf(t *testing.T, c harness.Client, user, query string) *mnemev1.RecallResponse {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	res, err := c.Recall(ctx, request(&mnemev1.RecallRequest{UserId: user, Query: query}))
	if err != nil {
		t.Fatalf("recall: %v", err)
	}
	return res.Msg
}
