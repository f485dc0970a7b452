package webhook

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/changeevent"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/webhooks"
)

// Change is a change of an endpoint. A nil field stays unchanged. An empty list of types means all types.
type Change struct {
	Name, URL *string
	Types     *[]changeevent.Type
	Active    *bool
}

// Dead is a dead letter of an endpoint: a delivery after the last of its attempts.
type Dead = webhooks.Delivery

// caller is the tenant that calls, with access.Admin and all other scopes that are wanted.
func caller(ctx context.Context, others ...access.Scope) (tenant string, err error) {
	for _, s := range append(others, access.Admin) {
		if err := backend.Check(ctx, s, ""); err != nil {
			return "", err
		}
	}
	p, _ := access.FromContext(ctx) // checked
	return p.Tenant.ID, nil
}

// Create makes an endpoint by its Name, URL, Types and User. It returns the endpoint with its secret, which is
// shown this once and after a rotation. Create and all methods below need access.Admin. Create also needs
// access.Read, because webhooks send the same events as streams. problem.From turns the errors into answers.
func (h *Webhooks) Create(ctx context.Context, e Endpoint) (Endpoint, error) {
	tenant, err := caller(ctx, access.Read)
	if err != nil {
		return Endpoint{}, err
	}
	if e.User != "" {
		if err := memory.ValidNewUser(e.User); err != nil {
			return Endpoint{}, err
		}
	}
	if err := check(e); err != nil {
		return Endpoint{}, err
	}
	if err := checkURL(e.URL, h.o.Private); err != nil {
		return Endpoint{}, err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	e = Endpoint{
		ID: uuid.NewString(), Name: e.Name, URL: e.URL, Types: e.Types, User: e.User, Active: true, CreatedAt: now,
		UpdatedAt: now, Secret: newSecret(),
	}
	return e, h.store.Create(ctx, tenant, e)
}

// List returns the endpoints, the oldest first, without their secrets.
func (h *Webhooks) List(ctx context.Context) ([]Endpoint, error) {
	tenant, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	all, err := h.store.Endpoints(ctx, tenant)
	if err != nil {
		return nil, err
	}
	out := slices.SortedFunc(maps.Values(all), func(a, b Endpoint) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	each := make([]*Endpoint, len(out))
	for i := range out {
		out[i] = shown(out[i])
		each[i] = &out[i]
	}
	return out, h.store.ReadHealth(ctx, tenant, each...)
}

// Get returns an endpoint without its secret.
func (h *Webhooks) Get(ctx context.Context, id string) (Endpoint, error) {
	tenant, err := caller(ctx)
	if err != nil {
		return Endpoint{}, err
	}
	all, err := h.store.Endpoints(ctx, tenant)
	if err != nil {
		return Endpoint{}, err
	}
	e, ok := all[id]
	if !ok {
		return Endpoint{}, webhooks.ErrNotFound
	}
	err = h.store.ReadHealth(ctx, tenant, &e)
	return shown(e), err
}

// Update changes an endpoint, and returns it without its secret. It needs access.Read, too.
func (h *Webhooks) Update(ctx context.Context, id string, c Change) (Endpoint, error) {
	tenant, err := caller(ctx, access.Read)
	if err != nil {
		return Endpoint{}, err
	}
	if c.URL != nil { // one that stays may have been made when more was allowed: it can still be switched off
		if err := checkURL(*c.URL, h.o.Private); err != nil {
			return Endpoint{}, err
		}
	}
	e, err := h.change(ctx, tenant, id, func(e *Endpoint) error {
		set(&e.Name, c.Name)
		set(&e.URL, c.URL)
		set(&e.Types, c.Types)
		set(&e.Active, c.Active)
		return check(*e)
	})
	return shown(e), err
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// Rotate gives an endpoint another secret, and returns it with that. The one before is signed with, too, for 24 hours.
func (h *Webhooks) Rotate(ctx context.Context, id string) (Endpoint, error) {
	tenant, err := caller(ctx)
	if err != nil {
		return Endpoint{}, err
	}
	e, err := h.change(ctx, tenant, id, func(e *Endpoint) error {
		e.Previous, e.PreviousUntil, e.Secret = e.Secret, time.Now().UTC().Add(rotation), newSecret()
		return nil
	})
	e.Previous, e.PreviousUntil = "", time.Time{}
	return e, err
}

// change changes an endpoint that may be changed by others at the same time.
func (h *Webhooks) change(ctx context.Context, tenant, id string, change func(*Endpoint) error) (Endpoint, error) {
	return h.store.Change(ctx, tenant, id, func(e *Endpoint) error {
		e.UpdatedAt = time.Now().UTC().Truncate(time.Millisecond)
		return change(e)
	})
}

// deactivate stops the messages to an endpoint.
func (h *Webhooks) deactivate(ctx context.Context, tenant string, to Endpoint) {
	_, err := h.change(ctx, tenant, to.ID, func(e *Endpoint) error {
		e.Active = e.Active && e.URL != to.URL // one that was moved in between is another
		return nil
	})
	if err != nil {
		h.o.Log.ErrorContext(ctx, "cannot switch off a webhook that answered 410", "endpoint", to.ID, "error", err)
	}
}

// Delete removes an endpoint with all that waits for it.
func (h *Webhooks) Delete(ctx context.Context, id string) error {
	tenant, err := caller(ctx)
	if err != nil {
		return err
	}
	return h.store.Delete(ctx, tenant, id)
}

// Dead returns up to limit dead letters of an endpoint, the newest first, and the next cursor. An empty cursor is
// the beginning, an empty next the end.
func (h *Webhooks) Dead(ctx context.Context, id string, limit int, cursor string) (out []Dead, next string, err error) {
	tenant, err := caller(ctx)
	if err != nil {
		return nil, "", err
	}
	if _, err := h.Get(ctx, id); err != nil {
		return nil, "", err
	}
	from := 0
	if cursor != "" {
		if from, err = strconv.Atoi(cursor); err != nil || from < 1 || from > webhooks.MaxDead {
			return nil, "", problem.Invalid("cursor", "is not from an earlier answer")
		}
	}
	out, more, err := h.store.DeadLetters(ctx, tenant, id, from, limit)
	if more {
		next = strconv.Itoa(from + limit)
	}
	return out, next, err
}

// Replay has a dead letter delivered again, with as many attempts as a new one.
func (h *Webhooks) Replay(ctx context.Context, id, eventID string) error {
	tenant, err := caller(ctx)
	if err != nil {
		return err
	}
	if _, err := h.Get(ctx, id); err != nil {
		return err
	}
	return h.store.Replay(ctx, tenant, id, eventID)
}
