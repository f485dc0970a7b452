package rest

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/mneme-memory/mneme/shared/access"
)

// APIKey is an API key without its secret.
type APIKey struct {
	ID         string     `json:"id" doc:"Public: the beginning of the key."`
	Name       string     `json:"name,omitempty"`
	User       string     `json:"user,omitempty" doc:"The one end user whom it is for; absent for all."`
	Scopes     []string   `json:"scopes" nullable:"false" doc:"Some of ingest, recall, read, erase and admin."`
	CreatedAt  *time.Time `json:"created_at,omitempty"`
	ExpiresAt  *time.Time `json:"expires_at,omitempty" doc:"Absent for a key without an end."`
	LastUsedAt *time.Time `json:"last_used_at,omitempty" doc:"Absent for a key that was not used."`
}

func keyOf(k access.Key) APIKey {
	return APIKey{
		ID: k.ID, Name: k.Name, User: k.User, Scopes: texts(k.Scopes),
		CreatedAt: known(k.CreatedAt), ExpiresAt: known(k.ExpiresAt), LastUsedAt: known(k.LastUsedAt),
	}
}

// known is a time that may not be.
func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

type keyList struct {
	Body struct {
		Keys []APIKey `json:"keys" nullable:"false" doc:"Oldest first."`
	}
}

type createKey struct {
	Keyed
	Body struct {
		Name      keyName    `json:"name,omitempty" doc:"For people. At most 128 bytes."`
		User      userID     `json:"user,omitempty" doc:"The one end user whom the key is for, as for a key in a user's browser; without it for all. At most 256 bytes."`
		Scopes    []string   `json:"scopes,omitempty" enum:"ingest,recall,read,erase,admin" minItems:"1" maxItems:"5" uniqueItems:"true" nullable:"false" doc:"What the key may do, nothing that yours may not; without it ingest, recall, read and, unless it is for one user, erase. A key for one user cannot have admin."`
		ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"When it ends, in the future; without it never."`
	}
}

type createdKey struct {
	Body struct {
		Key    APIKey `json:"key"`
		Secret string `json:"api_key,omitempty" doc:"The key itself, which is shown once and not kept: absent from the answer to a repeated request."`
	}
}

type revokeKey struct {
	ID keyID `path:"key"`
}

type nothing struct{}

// DeadLetter is a record that can never be processed as it is.
type DeadLetter struct {
	ID      string     `json:"id"`
	Reason  string     `json:"reason" doc:"What is wrong."`
	Field   string     `json:"field,omitempty" doc:"The field at fault."`
	Handler string     `json:"handler,omitempty" doc:"Who gave up on it."`
	Topic   string     `json:"topic,omitempty" doc:"Where it came from, and where a replay goes."`
	User    string     `json:"user,omitempty" doc:"The end user whom it is about, as far as that can be read."`
	Time    *time.Time `json:"time,omitempty"`
	TurnID  string     `json:"turn_id,omitempty" doc:"The turn that it is about; absent for a session's end, and where that cannot be read."`
}

func deadLetterOf(l Letter) DeadLetter {
	return DeadLetter{
		ID: l.ID, Reason: l.Reason, Field: l.Field, Handler: l.Handler, Topic: l.Topic, User: l.User, Time: known(l.Time), TurnID: l.TurnID,
	}
}

type listLetters struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Dead letters at most."`
	Cursor cursor `query:"cursor"`
}

type letterPage struct {
	Body struct {
		Letters []DeadLetter `json:"dead_letters" nullable:"false" doc:"Newest first."`
		Next    string       `json:"next_cursor,omitempty" doc:"Where to go on; absent on the last page."`
	}
}

type replayLetter struct {
	ID letterID `path:"letter"`
}

type replayed struct {
	Body struct {
		ID string `json:"id"`
	}
}

type getUsage struct {
	Day string `query:"day" format:"date" doc:"The day, in UTC; without it today."`
}

type usageOfDay struct {
	Body struct {
		Day    string           `json:"day" format:"date"`
		Counts map[string]int64 `json:"counts" doc:"requests, turns, recalls, answers and tokens of models; of today also memories, which is how many are stored, without former versions and what was deleted, and items, which is how many are kept word for word, those of sessions included, where that can be told."`
	}
}

func (a *API) manage() {
	register(a, operation{
		id: "list-keys", method: http.MethodGet, path: "/keys", tag: tagTenant, scope: access.Admin, status: http.StatusOK,
		summary: "List API keys", description: "Lists the tenant's API keys that were made at run time, oldest first.",
	}, a.listKeys)
	register(a, operation{
		id: "create-key", method: http.MethodPost, path: "/keys", tag: tagTenant, scope: access.Admin, keyed: true, status: http.StatusCreated,
		secrets: []string{"api_key"}, summary: "Make an API key",
		description: "Makes an API key of the tenant. The key itself is in the first answer only: a request that is repeated with its " +
			"Idempotency-Key is answered with `key` and without `api_key`. Where that answer was lost, revoke the key by its id, and " +
			"make another one.",
	}, a.createKey)
	register(a, operation{
		id: "revoke-key", method: http.MethodDelete, path: "/keys/{key}", tag: tagTenant, scope: access.Admin, status: http.StatusNoContent,
		errors: []int{http.StatusNotFound}, summary: "Revoke an API key",
		description: fmt.Sprintf("Removes an API key for good. It is refused everywhere within %.0f seconds.", access.RevokedWithin.Seconds()),
	}, a.revokeKey)
	register(a, operation{
		id: "list-dead-letters", method: http.MethodGet, path: "/dead-letters", tag: tagTenant, scope: access.Admin, status: http.StatusOK,
		summary: "List dead letters", description: "Lists records of the tenant that can never be processed as they are, newest first.",
	}, a.listLetters)
	register(a, operation{
		id: "replay-dead-letter", method: http.MethodPost, path: "/dead-letters/{letter}/replay", tag: tagTenant, scope: access.Admin,
		status: http.StatusAccepted, errors: []int{http.StatusNotFound, http.StatusConflict}, summary: "Replay a dead letter",
		description: "Sends the record on its way again. What it did already has no effect.",
	}, a.replayLetter)
	register(a, operation{
		id: "get-usage", method: http.MethodGet, path: "/usage", tag: tagTenant, scope: access.Admin, status: http.StatusOK,
		summary: "Get usage", description: "Counts what the tenant did and used on a day.",
	}, a.getUsage)
}

func (a *API) listKeys(ctx context.Context, _ *nothing) (*keyList, error) {
	all, err := a.Keys.List(ctx)
	if err != nil {
		return nil, err
	}
	out := &keyList{}
	out.Body.Keys = each(all, keyOf)
	return out, nil
}

func (a *API) createKey(ctx context.Context, in *createKey) (*createdKey, error) {
	k := access.Key{
		Name: string(in.Body.Name), User: string(in.Body.User),
		Scopes: each(in.Body.Scopes, func(s string) access.Scope { return access.Scope(s) }),
	}
	if in.Body.ExpiresAt != nil {
		k.ExpiresAt = *in.Body.ExpiresAt
	}
	k, text, err := a.Keys.Create(ctx, k)
	if err != nil {
		return nil, err
	}
	out := &createdKey{}
	out.Body.Key, out.Body.Secret = keyOf(k), text
	return out, nil
}

func (a *API) revokeKey(ctx context.Context, in *revokeKey) (*nothing, error) {
	return nil, a.Keys.Revoke(ctx, string(in.ID))
}

func (a *API) listLetters(ctx context.Context, in *listLetters) (*letterPage, error) {
	all := listOf(ctx, "dead letters")
	place, err := all.place(in.Cursor)
	if err != nil {
		return nil, err
	}
	letters, next, err := a.DeadLetters.List(ctx, in.Limit, string(place))
	if err != nil {
		return nil, err
	}
	out := &letterPage{}
	out.Body.Letters, out.Body.Next = each(letters, deadLetterOf), all.cursor([]byte(next))
	return out, nil
}

func (a *API) replayLetter(ctx context.Context, in *replayLetter) (*replayed, error) {
	if err := a.DeadLetters.Replay(ctx, string(in.ID)); err != nil {
		return nil, err
	}
	out := &replayed{}
	out.Body.ID = string(in.ID)
	return out, nil
}

func (a *API) getUsage(ctx context.Context, in *getUsage) (*usageOfDay, error) {
	day := in.Day
	if day == "" {
		day = a.Now().UTC().Format(time.DateOnly)
	}
	counts, err := a.Usage.Usage(ctx, day)
	if err != nil {
		return nil, err
	}
	out := &usageOfDay{}
	out.Body.Day, out.Body.Counts = day, counts
	return out, nil
}
