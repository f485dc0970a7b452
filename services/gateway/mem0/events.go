package mem0

import (
	"context"
	"net/http"
	"slices"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/ingest"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/mem0state"
)

// States of events.
const (
	statusPending   = "PENDING"
	statusRunning   = "RUNNING"
	statusSucceeded = "SUCCEEDED"
)

// eventsPage is the default number of events on a page.
const eventsPage = 50

// eventView is an event as clients see it.
type eventView struct {
	ID        string   `json:"id"`
	EventID   string   `json:"event_id"`
	EventType string   `json:"event_type"`
	Status    string   `json:"status"`
	UserID    *string  `json:"user_id"`
	RunID     *string  `json:"run_id"`
	Results   []result `json:"results"`
	CreatedAt string   `json:"created_at,omitempty"`
}

// result is a memory that an event made.
type result struct {
	ID     string  `json:"id"`
	Event  string  `json:"event"`
	Memory string  `json:"memory"`
	UserID *string `json:"user_id"`
	Data   data    `json:"data"`
}

type data struct {
	Memory string `json:"memory"`
}

func resultOf(user string, m *mnemev1.Memory) result {
	out := result{ID: m.GetId(), Event: eventOf(m), Memory: m.GetContent(), Data: data{m.GetContent()}}
	if kind, id := entityOf(user); kind == userType {
		out.UserID = &id
	}
	return out
}

func viewOf(e mem0state.Event, status string) eventView {
	out := eventView{ID: e.ID, EventID: e.ID, EventType: eventAdd, Status: status, CreatedAt: stamp(e.At)}
	if kind, id := entityOf(e.User); kind == userType {
		out.UserID = &id
	}
	if e.Session != defaultSession {
		out.RunID = optional(e.Session)
	}
	return out
}

// turnIDs are the ids of the turns of an event.
func turnIDs(e mem0state.Event) []string {
	out := make([]string, e.Turns)
	for i := range out {
		out[i] = turnID(e.ID, i)
	}
	return out
}

// event returns the result of an addition or of an erasure.
func (a *api) event(r *http.Request, _ fields) (any, error) {
	id := memory.CanonicalID(r.PathValue("event_id"))
	if user, erasure, ok := erasureOf(id); ok {
		return a.erasure(r.Context(), id, user, erasure)
	}
	tenant := scopeOf(r.Context(), "").Tenant
	e, known, err := a.State.Event(r.Context(), tenant, id)
	if err != nil {
		return nil, err
	}
	if key := bound(r.Context()); !known || key != "" && key != e.User {
		return nil, problem.NotFound("there is no such event; events stay for a week")
	}
	if e.Turns == 0 { // no message of the addition is remembered
		out := viewOf(e, statusSucceeded)
		out.Results = []result{}
		return out, nil
	}
	res, err := a.Services.Memories.GetTurns(r.Context(),
		connect.NewRequest(&mnemev1.GetTurnsRequest{UserId: e.User, TurnIds: turnIDs(e)}))
	if err != nil {
		return nil, err
	}
	if pending(res.Msg.GetTurns()) {
		return viewOf(e, statusPending), nil
	}
	if err := a.noteDone(r.Context(), e); err != nil {
		return nil, err
	}
	out := viewOf(e, statusSucceeded)
	out.Results, err = a.results(r.Context(), e.User, res.Msg.GetTurns())
	return out, err
}

func pending(turns []*mnemev1.TurnStatus) bool {
	return slices.ContainsFunc(turns, func(t *mnemev1.TurnStatus) bool {
		return t.GetState() == mnemev1.TurnState_TURN_STATE_PENDING
	})
}

// noteDone notes that an event is done, so that it is not looked up any more where events are listed.
func (a *api) noteDone(ctx context.Context, e mem0state.Event) error {
	if e.Done {
		return nil
	}
	return a.State.Done(ctx, scopeOf(ctx, e.User), e.ID)
}

// results returns the memories formed from turns. It leaves out retracted memories and suspected attacks.
func (a *api) results(ctx context.Context, user string, turns []*mnemev1.TurnStatus) ([]result, error) {
	var ids []string
	for _, t := range turns {
		for _, id := range t.GetMemoryIds() {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	made := make([]*mnemev1.Memory, len(ids))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, id := range ids {
		g.Go(func() error {
			res, err := a.Services.Memories.GetMemory(gctx,
				connect.NewRequest(&mnemev1.GetMemoryRequest{UserId: user, MemoryId: id}))
			switch {
			case connect.CodeOf(err) == connect.CodeNotFound: // erased in the meantime
				return nil
			case err == nil:
				made[i] = res.Msg.GetMemory()
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	out := []result{}
	for _, m := range made {
		switch m.GetStatus() {
		case mnemev1.Status_STATUS_ACTIVE, mnemev1.Status_STATUS_SUPERSEDED:
			out = append(out, resultOf(user, m))
		}
	}
	return out, nil
}

// erasure returns how far an erasure is.
func (a *api) erasure(ctx context.Context, event, user, id string) (any, error) {
	res, err := a.Services.UserData.GetErasure(ctx,
		connect.NewRequest(&mnemev1.GetErasureRequest{UserId: user, ErasureId: id}))
	if err != nil {
		return nil, err
	}
	out := eventView{ID: event, EventID: event, EventType: eventDelete, Status: statusPending}
	switch res.Msg.GetState() {
	case mnemev1.ErasureState_ERASURE_STATE_RUNNING:
		out.Status = statusRunning
	case mnemev1.ErasureState_ERASURE_STATE_DONE:
		out.Status, out.Results = statusSucceeded, []result{}
	}
	return out, nil
}

// events lists additions, the newest first, without their results.
func (a *api) events(r *http.Request, _ fields) (any, error) {
	q, p, err := pageOf(r, eventsPage)
	if err != nil {
		return nil, err
	}
	if kind := q.Get("event_type"); kind != "" && kind != eventAdd {
		return nil, problem.Invalid("event_type", "is not ADD: only additions are events")
	}
	key := bound(r.Context())
	if err := backend.Check(r.Context(), access.Read, key); err != nil {
		return nil, err
	}
	list, count, err := a.State.Events(r.Context(), scopeOf(r.Context(), key), p.offset(), p.size)
	if err != nil {
		return nil, err
	}
	done, err := a.doneOf(r.Context(), list)
	if err != nil {
		return nil, err
	}
	out := make([]eventView, len(list))
	for i, e := range list {
		out[i] = viewOf(e, statusPending)
		if done[e.ID] {
			out[i].Status = statusSucceeded
		}
	}
	return pagedOf(p, count, out), nil
}

// doneOf returns the finished events. It uses the stored note, and otherwise the state of the event's turns. It
// requests the turns of each user together.
func (a *api) doneOf(ctx context.Context, list []mem0state.Event) (map[string]bool, error) {
	done, open := map[string]bool{}, map[string][]mem0state.Event{}
	for _, e := range list {
		if done[e.ID] = e.Done; !e.Done {
			open[e.User] = append(open[e.User], e)
		}
	}
	for user, events := range open {
		for len(events) > 0 {
			n, ids := 0, []string{}
			for n < len(events) && len(ids)+events[n].Turns <= ingest.MaxTurns {
				ids = append(ids, turnIDs(events[n])...)
				n++
			}
			res, err := a.Services.Memories.GetTurns(ctx,
				connect.NewRequest(&mnemev1.GetTurnsRequest{UserId: user, TurnIds: ids}))
			if err != nil {
				return nil, err
			}
			turns := res.Msg.GetTurns()
			for _, e := range events[:n] {
				if len(turns) < e.Turns {
					break
				}
				done[e.ID], turns = !pending(turns[:e.Turns]), turns[e.Turns:]
			}
			events = events[n:]
		}
	}
	return done, nil
}
