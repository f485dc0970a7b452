package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/services/gateway/door"
	"github.com/mneme-memory/mneme/services/gateway/event"
	"github.com/mneme-memory/mneme/services/gateway/upstream"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
)

// changes is how often a change is tried while others change the same endpoint.
const changes = 8

// Change is what is to be another of an endpoint; what is nil stays. Types of no entries are all.
type Change struct {
	Name, URL *string
	Types     *[]event.Type
	Active    *bool
}

// Dead is a dead letter of an endpoint.
type Dead struct {
	// EventID names it.
	EventID string
	Type    event.Type
	// Time is when the change happened, DiedAt when it was given up on after so many Attempts.
	Time, DiedAt time.Time
	Attempts     int
	// Status is that of the last answer, 0 where there was none; Reason says it in words.
	Status int
	Reason string
}

// caller is the tenant that calls, with access.Admin and all other scopes that are wanted.
func caller(ctx context.Context, others ...access.Scope) (tenant string, err error) {
	for _, s := range append(others, access.Admin) {
		if err := upstream.Check(ctx, s, ""); err != nil {
			return "", err
		}
	}
	p, _ := access.FromContext(ctx) // checked
	return p.Tenant.ID, nil
}

func notFound(what string) error {
	return connect.NewError(connect.CodeNotFound, errors.New("there is no such "+what))
}

// endpoints are those of a tenant by id.
func (h *Webhooks) endpoints(ctx context.Context, tenant string) (map[string]Endpoint, error) {
	raw := map[string]string{}
	err := h.in(ctx, "read endpoints", func(ctx context.Context) (err error) {
		raw, err = h.redis.HGetAll(ctx, h.key(tenant, "endpoints")).Result()
		return err
	})
	out := make(map[string]Endpoint, len(raw))
	for id, text := range raw {
		var e Endpoint
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return nil, fmt.Errorf("webhooks: read endpoint %s: %w", id, err)
		}
		out[id] = e
	}
	return out, err
}

// Create makes an endpoint by its Name, URL, Types and User, and returns it with its secret, which is shown this once and when it is
// rotated. It needs access.Admin, as all that follow, and access.Read, since what is told is what streams tell. Errors are what
// door.ProblemOf tells clients.
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
	if err := e.check(); err != nil {
		return Endpoint{}, err
	}
	if err := checkURL(e.URL, h.o.Private); err != nil {
		return Endpoint{}, err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	e = Endpoint{
		ID: uuid.NewString(), Name: e.Name, URL: e.URL, Types: e.Types, User: e.User, Active: true, CreatedAt: now, UpdatedAt: now,
		Secret: newSecret(),
	}
	body, err := json.Marshal(e)
	if err != nil {
		return Endpoint{}, err
	}
	made := 0
	err = h.in(ctx, "make an endpoint", func(ctx context.Context) (err error) {
		if err := h.redis.SAdd(ctx, h.tenantsKey(), tenant).Err(); err != nil {
			return err
		}
		made, err = h.scripts.create.Run(ctx, h.redis, []string{h.key(tenant, "endpoints")}, e.ID, body, MaxEndpoints).Int()
		return err
	})
	if err == nil && made == 0 {
		err = door.Problem{
			Status: http.StatusConflict, Code: door.CodeManyWebhooks,
			Detail: fmt.Sprintf("the tenant has %d webhooks, the most there may be", MaxEndpoints),
		}
	}
	return e, h.told(ctx, err)
}

// List returns the endpoints, the oldest first, without their secrets.
func (h *Webhooks) List(ctx context.Context) ([]Endpoint, error) {
	tenant, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	all, err := h.endpoints(ctx, tenant)
	out := slices.SortedFunc(maps.Values(all), func(a, b Endpoint) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	shown := make([]*Endpoint, len(out))
	for i := range out {
		out[i] = out[i].shown()
		shown[i] = &out[i]
	}
	if err == nil {
		err = h.withHealth(ctx, tenant, shown...)
	}
	return out, h.told(ctx, err)
}

// Get returns an endpoint without its secret.
func (h *Webhooks) Get(ctx context.Context, id string) (Endpoint, error) {
	tenant, err := caller(ctx)
	if err != nil {
		return Endpoint{}, err
	}
	all, err := h.endpoints(ctx, tenant)
	e, ok := all[id]
	if err == nil && !ok {
		err = notFound("webhook")
	}
	if err == nil {
		err = h.withHealth(ctx, tenant, &e)
	}
	return e.shown(), h.told(ctx, err)
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
		return e.check()
	})
	return e.shown(), h.told(ctx, err)
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
	return e, h.told(ctx, err)
}

// change changes an endpoint that may be changed by others at the same time.
func (h *Webhooks) change(ctx context.Context, tenant, id string, change func(*Endpoint) error) (e Endpoint, err error) {
	key := h.key(tenant, "endpoints")
	for range changes {
		was, replaced := "", 0
		err := h.in(ctx, "read an endpoint", func(ctx context.Context) (err error) {
			was, err = h.redis.HGet(ctx, key, id).Result()
			return err
		})
		if err != nil {
			return Endpoint{}, err
		}
		if was == "" {
			return Endpoint{}, notFound("webhook")
		}
		var e Endpoint
		if err := json.Unmarshal([]byte(was), &e); err != nil {
			return Endpoint{}, fmt.Errorf("webhooks: read endpoint: %w", err)
		}
		if err := h.withHealth(ctx, tenant, &e); err != nil { // before anything is changed: a new secret is shown once
			return Endpoint{}, err
		}
		if err := change(&e); err != nil {
			return Endpoint{}, err
		}
		e.UpdatedAt = time.Now().UTC().Truncate(time.Millisecond)
		body, err := json.Marshal(e)
		if err != nil {
			return Endpoint{}, err
		}
		err = h.in(ctx, "change an endpoint", func(ctx context.Context) (err error) {
			replaced, err = h.scripts.replace.Run(ctx, h.redis, []string{key}, id, was, body).Int()
			return err
		})
		if err != nil || replaced == 1 {
			return e, err
		}
	}
	return Endpoint{}, rpcerror.Because(connect.CodeAborted, rpcerror.ReasonChanged,
		errors.New("the webhook is being changed by others, try again"))
}

// deactivate has an endpoint told nothing any more.
func (h *Webhooks) deactivate(ctx context.Context, tenant string, to Endpoint) {
	_, err := h.change(ctx, tenant, to.ID, func(e *Endpoint) error {
		e.Active = e.Active && e.URL != to.URL // one that was moved in between is another
		return nil
	})
	if err != nil {
		h.o.Log.ErrorContext(ctx, "a webhook that is gone is not switched off", "endpoint", to.ID, "error", err)
	}
}

// Delete removes an endpoint with all that waits for it.
func (h *Webhooks) Delete(ctx context.Context, id string) error {
	tenant, err := caller(ctx)
	if err != nil {
		return err
	}
	var removed int64
	err = h.in(ctx, "delete an endpoint", func(ctx context.Context) (err error) {
		if removed, err = h.redis.HDel(ctx, h.key(tenant, "endpoints"), id).Result(); err != nil || removed == 0 {
			return err
		}
		return h.redis.Del(ctx, h.key(tenant, "dead:"+id), h.key(tenant, "died:"+id), h.healthKey(tenant, id)).Err()
	})
	if err == nil && removed == 0 {
		err = notFound("webhook")
	}
	return h.told(ctx, err) // deliveries that wait are dropped when they are due
}

// Dead returns up to limit dead letters of an endpoint, the newest first, and where to go on; an empty cursor is the beginning, an
// empty next the end.
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
		if from, err = strconv.Atoi(cursor); err != nil || from < 1 || from > MaxDead {
			return nil, "", door.Invalid("cursor", "is none of an answer")
		}
	}
	var names []string
	var bodies []any
	err = h.in(ctx, "list dead letters", func(ctx context.Context) (err error) {
		names, err = h.redis.ZRevRange(ctx, h.key(tenant, "died:"+id), int64(from), int64(from+limit)).Result()
		if err == nil && len(names) > 0 {
			bodies, err = h.redis.HMGet(ctx, h.key(tenant, "dead:"+id), names...).Result()
		}
		return err
	})
	for _, body := range bodies[:min(len(bodies), limit)] {
		text, _ := body.(string)
		if d, err := parse(text); err == nil { // one that was taken away in between is none
			out = append(out, Dead{
				EventID: d.Event, Type: d.Type, Time: d.Time, DiedAt: d.DiedAt, Attempts: d.Attempts, Status: d.Status, Reason: d.Reason,
			})
		}
	}
	if len(names) > limit {
		next = strconv.Itoa(from + limit)
	}
	return out, next, h.told(ctx, err)
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
	name := nameOf(id, eventID)
	err = h.in(ctx, "replay", func(ctx context.Context) error {
		body, err := h.redis.HGet(ctx, h.key(tenant, "dead:"+id), name).Result()
		if errors.Is(err, goredis.Nil) {
			return nil
		}
		if err != nil {
			return err
		}
		eventID = "" // found
		d, err := parse(body)
		if err != nil {
			return err
		}
		d.Attempts, d.Status, d.Reason, d.DiedAt = 0, 0, "", time.Time{}
		if body, err = d.encode(); err != nil {
			return err
		}
		_, err = h.redis.TxPipelined(ctx, func(p goredis.Pipeliner) error {
			p.HSet(ctx, h.key(tenant, "waiting"), name, body)
			p.HIncrBy(ctx, h.healthKey(tenant, id), "pending", 1)
			p.ZAdd(ctx, h.key(tenant, "due"), goredis.Z{Score: 0, Member: name})
			p.HDel(ctx, h.key(tenant, "dead:"+id), name)
			p.ZRem(ctx, h.key(tenant, "died:"+id), name)
			return nil
		})
		return err
	})
	if err == nil && eventID != "" {
		err = notFound("dead letter of the webhook")
	}
	return h.told(ctx, err)
}
