package main

import (
	"context"
	"errors"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/test/histories/recorder"
	"github.com/mneme-memory/mneme/workflows/consolidation"
	"github.com/mneme-memory/mneme/workflows/erasure"
)

// erased is a scenario of an erasure.
type erased struct {
	name string
	// kept is the number of erasures of the store until it is empty. failures is the number of failures before.
	kept, failures int
}

func erasures() []erased {
	return []erased{
		{name: "nothing-to-erase"},
		{name: "until-nothing-is-left", kept: 3},
		{name: "a-store-that-fails", kept: 1, failures: 2},
	}
}

// live runs the erasure and returns its history.
func (e erased) live(ctx context.Context, c client.Client) (*historypb.History, error) {
	w := erasure.Worker(c, &erasure.Activities{Stores: []erasure.Store{&recordedStore{erased: e}}})
	if err := w.Start(); err != nil {
		return nil, err
	}
	defer w.Stop()
	scope := memory.Scope{Tenant: "recorded", User: e.name}
	begun := consolidation.Erased{Scope: scope, RequestID: "x1", RunID: "r1", StartedAt: epoch}
	if err := (erasure.Starter{Client: c}).Begin(ctx, begun); err != nil {
		return nil, err
	}
	id := erasure.WorkflowID(scope, begun.RequestID)
	if err := c.GetWorkflow(ctx, id, "").Get(ctx, nil); err != nil {
		return nil, err
	}
	return recorder.Fetch(ctx, c, id, "")
}

// recordedStore loses one object with every erasure.
type recordedStore struct{ erased }

func (*recordedStore) Name() string { return "recorded objects" }

func (s *recordedStore) Erase(context.Context, erasure.Request) error {
	if s.failures > 0 {
		s.failures--
		return errors.New("recorded failure")
	}
	s.kept = max(s.kept-1, 0)
	return nil
}

func (s *recordedStore) Count(context.Context, erasure.Request) (int, error) { return s.kept, nil }
