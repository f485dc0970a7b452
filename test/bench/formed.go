package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

const (
	// turnsPerSession is the length of a short conversation.
	turnsPerSession = 8
	// bankPoll is the pause between two checks of the bank for a formed session. Each check takes resources from the
	// measured system.
	bankPoll = 4 * time.Millisecond
)

// formed measures the time from the publication of a session's end until recall can see its memories. The baseline is
// a bare workflow with four empty activities. Both workflows already run when the clock starts, as in a conversation.
func formed(ctx context.Context, b *bench) (Row, error) {
	baseline, err := startBareFlow(b.temporal)
	if err != nil {
		return Row{}, err
	}
	defer baseline.stop()
	p := b.scaled(plan{rounds: 5, each: 12, warm: 3})
	row, err := latencies(ctx, p, b.profiled("formed", b.closeAndFind),
		func(ctx context.Context, _ int) (time.Duration, error) {
			id := "bench/" + uuid.NewString()
			if err := baseline.signal(ctx, id, false); err != nil {
				return 0, err
			}
			if err := baseline.awake(ctx, id); err != nil {
				return 0, err
			}
			began := time.Now()
			err := baseline.run(ctx, id)
			return time.Since(began), err
		})
	row.What, row.BaselineWhat = "session closed -> found by search", "bare workflow, 4 empty activities"
	row.judge(atMost(3))
	return row, err
}

// closeAndFind ends a session whose turns the workflow has, and waits for its memories.
func (b *bench) closeAndFind(ctx context.Context, _ int) (time.Duration, error) {
	session := "s-" + uuid.NewString()
	scope := b.scope("user-" + session)
	turns := b.turns(session, turnsPerSession)
	msgs, err := events(scope, turns)
	if err != nil {
		return 0, err
	}
	if err := b.busClient.Publisher.Publish(ctx, msgs...); err != nil {
		return 0, err
	}
	last := turns[len(turns)-1]
	if err := b.signalled(ctx, scope, last.ID); err != nil {
		return 0, err
	}
	end, err := closing(scope, session)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := b.busClient.Publisher.Publish(ctx, end); err != nil {
		return 0, err
	}
	if err := b.awaitClosed(ctx, scope, session); err != nil {
		return 0, err
	}
	if err := b.find(ctx, scope, last.Text); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

// signalled waits until the user's workflow has a turn.
func (b *bench) signalled(ctx context.Context, scope memory.Scope, turnID string) error {
	seen := func(ctx context.Context) (bool, error) { return b.inWindow(ctx, scope, turnID) }
	if err := until(ctx, bankPoll, "the turns in W", seen); err != nil {
		return err
	}
	return until(ctx, 5*time.Millisecond, "the turns in the workflow", func(ctx context.Context) (bool, error) {
		v, err := b.temporal.QueryWorkflow(ctx, consolidation.WorkflowID(scope), "", consolidation.QueryState)
		if err != nil {
			return false, nil // W has the turn first: the workflow may not have started yet
		}
		var state consolidation.State
		if err := v.Get(&state); err != nil || len(state.Open) == 0 {
			return false, err
		}
		turns := state.Open[0].Turns
		return len(turns) > 0 && turns[len(turns)-1].ID == turnID, nil
	})
}

func (b *bench) awaitClosed(ctx context.Context, scope memory.Scope, session string) error {
	return until(ctx, bankPoll, "the session to be formed", func(ctx context.Context) (bool, error) {
		r, ok, err := b.bank.Session(ctx, scope, session)
		return ok && r.Closed, err
	})
}

// find returns an error if a recall's search finds no memory.
func (b *bench) find(ctx context.Context, scope memory.Scope, text string) error {
	vectors, err := b.embedder.Embed(ctx, []string{text})
	if err != nil {
		return err
	}
	hits, err := b.bank.Search(ctx, scope, bank.Query{Text: text, Vector: vectors[0], Alpha: 0.5})
	if err != nil {
		return err
	}
	if len(hits) == 0 {
		return errors.New("the session is formed but none of its memories is found")
	}
	return nil
}

// sessions measures the rate of consolidated sessions of different users per second, all published at once. The
// baseline is the same number of bare workflows.
func sessions(ctx context.Context, b *bench) (Row, error) {
	baseline, err := startBareFlow(b.temporal)
	if err != nil {
		return Row{}, err
	}
	defer baseline.stop()
	n := 60
	if b.quick {
		n = 20
	}
	p := b.scaled(plan{rounds: 5, each: 1, warm: 1})
	row, err := rates(ctx, p, n, "sessions/s", b.profiled("sessions",
		func(ctx context.Context, i int) (time.Duration, error) {
			return b.formAll(ctx, n)
		}), func(ctx context.Context, _ int) (time.Duration, error) {
		began := time.Now()
		var g errgroup.Group
		g.SetLimit(b.Bus.Workers)
		for range n {
			g.Go(func() error { return baseline.run(ctx, "bench/"+uuid.NewString()) })
		}
		err := g.Wait()
		return time.Since(began), err
	})
	row.What, row.BaselineWhat = fmt.Sprintf("sessions of %d turns formed", turnsPerSession),
		"bare workflows, 4 empty activities"
	row.judge(atLeast(1.0 / 3))
	return row, err
}

// formAll publishes whole sessions of n users and waits until all are formed.
func (b *bench) formAll(ctx context.Context, n int) (time.Duration, error) {
	ids := make([]string, n)
	var msgs []bus.Message
	for i := range ids {
		ids[i] = "s-" + uuid.NewString()
		scope := b.scope("user-" + ids[i])
		m, err := events(scope, b.turns(ids[i], turnsPerSession))
		if err != nil {
			return 0, err
		}
		end, err := closing(scope, ids[i])
		if err != nil {
			return 0, err
		}
		msgs = append(append(msgs, m...), end)
	}
	began := time.Now()
	if err := b.busClient.Publisher.Publish(ctx, msgs...); err != nil {
		return 0, err
	}
	for _, id := range ids { // in turn: the last one found was formed last, or earlier
		if err := b.awaitClosedAmongMany(ctx, b.scope("user-"+id), id); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// awaitClosedAmongMany checks seldom, because many sessions take long and checks slow them.
func (b *bench) awaitClosedAmongMany(ctx context.Context, scope memory.Scope, session string) error {
	return until(ctx, 20*time.Millisecond, "the session to be formed", func(ctx context.Context) (bool, error) {
		r, ok, err := b.bank.Session(ctx, scope, session)
		return ok && r.Closed, err
	})
}
