package rest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/deadletters"
	"github.com/mneme-memory/mneme/shared/access"
)

// APIKey is an API key without its secret.
type APIKey struct {
	ID         string     `json:"id" doc:"The public beginning of the key."`
	Name       string     `json:"name,omitempty"`
	User       string     `json:"user,omitempty" doc:"The only end user of the key; absent for all users."`
	Scopes     []string   `json:"scopes" nullable:"false" doc:"Some of ingest, recall, read, erase and admin."`
	CreatedAt  *time.Time `json:"created_at,omitempty"`
	ExpiresAt  *time.Time `json:"expires_at,omitempty" doc:"Time of expiry; absent for a key without expiry."`
	LastUsedAt *time.Time `json:"last_used_at,omitempty" doc:"Time of the last use; absent before the first use."`
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

type keyListBody struct {
	Keys []APIKey `json:"keys" nullable:"false" doc:"Oldest first."`
}

type createKey struct {
	Keyed
	Body struct {
		Name      keyName    `json:"name,omitempty" doc:"A label for people. At most 128 bytes."`
		User      userID     `json:"user,omitempty" doc:"The only end user of the key, for example for a key in a browser. Default: all users. At most 256 bytes."`
		Scopes    []string   `json:"scopes,omitempty" enum:"ingest,recall,read,erase,admin" minItems:"1" maxItems:"5" uniqueItems:"true" nullable:"false" doc:"The scopes of the key, some of your key's scopes. Default: ingest, recall, read and, for a key of all users, erase. A key for one user cannot have admin."`
		ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"Time of expiry, in the future. Default: no expiry."`
	}
}

type createdKeyBody struct {
	Key    APIKey `json:"key"`
	Secret string `json:"api_key,omitempty" doc:"The key itself. Mneme returns it once and does not store it. The answer to a repeated request lacks it."`
}

type revokeKey struct {
	ID keyID `path:"key"`
}

type nothing struct{}

// DeadLetter is a record that can never be processed as it is.
type DeadLetter struct {
	ID      string     `json:"id"`
	Reason  string     `json:"reason" doc:"The error."`
	Field   string     `json:"field,omitempty" doc:"The wrong field."`
	Handler string     `json:"handler,omitempty" doc:"The consumer that failed to process it."`
	Topic   string     `json:"topic,omitempty" doc:"The topic of origin, to which a replay returns it."`
	User    string     `json:"user,omitempty" doc:"The end user of the record, if it is readable."`
	Time    *time.Time `json:"time,omitempty"`
	TurnID  string     `json:"turn_id,omitempty" doc:"The turn of the record; absent for a session's end, and for an unreadable record."`
}

func deadLetterOf(l deadletters.Letter) DeadLetter {
	return DeadLetter{
		ID: l.ID, Reason: l.Reason, Field: l.Field, Handler: l.Handler, Topic: l.Topic, User: l.User, Time: known(l.Time),
		TurnID: l.TurnID,
	}
}

type listLetters struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Maximum number of dead letters."`
	Cursor cursor `query:"cursor"`
}

type letterPageBody struct {
	Letters []DeadLetter `json:"dead_letters" nullable:"false" doc:"Newest first."`
	Next    string       `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
}

type replayLetter struct {
	ID letterID `path:"letter"`
}

type replayedBody struct {
	ID string `json:"id"`
}

type getUsage struct {
	Day string `query:"day" format:"date" doc:"The day, in UTC. Default: today."`
}

type usageOfDayBody struct {
	Day    string           `json:"day" format:"date"`
	Counts map[string]int64 `json:"counts" doc:"Counts of requests, turns, recalls, answers, and tokens of models. Today's counts also have memories, the stored memories without former versions and deleted ones, and items, the verbatim items including the items of sessions. Both may be absent during an outage."`
}

func (a *API) manage() {
	register(a, operation{
		id: "list-keys", route: "GET /keys", tag: tagTenant, scope: access.Admin, summary: "List API keys",
		description: "Lists the API keys that the tenant made at run time, oldest first.",
	}, a.listKeys)
	register(a, operation{
		id: "create-key", route: "POST /keys", tag: tagTenant, scope: access.Admin, keyed: true,
		status: http.StatusCreated, secrets: []string{"api_key"}, summary: "Make an API key",
		description: "Makes an API key of the tenant. Only the first answer has the key itself. A repeated request " +
			"with the same Idempotency-Key gets `key` without `api_key`. If you lost the first answer, revoke the key by " +
			"its id, and make another one.",
	}, a.createKey)
	register(a, operation{
		id: "revoke-key", route: "DELETE /keys/{key}", tag: tagTenant, scope: access.Admin, status: http.StatusNoContent,
		errors: []int{http.StatusNotFound}, summary: "Revoke an API key",
		description: fmt.Sprintf("Revokes an API key for good. All replicas refuse it within %.0f seconds.",
			access.RevokedWithin.Seconds()),
	}, a.revokeKey)
	register(a, operation{
		id: "list-dead-letters", route: "GET /dead-letters", tag: tagTenant, scope: access.Admin,
		summary: "List dead letters", description: "Lists records of the tenant that Mneme cannot process, newest first.",
	}, a.listLetters)
	register(a, operation{
		id: "replay-dead-letter", route: "POST /dead-letters/{letter}/replay", tag: tagTenant, scope: access.Admin,
		status: http.StatusAccepted, errors: []int{http.StatusNotFound, http.StatusConflict},
		summary:     "Replay a dead letter",
		description: "Processes the record again. Steps that are done already have no further effect.",
	}, a.replayLetter)
	register(a, operation{
		id: "get-usage", route: "GET /usage", tag: tagTenant, scope: access.Admin, summary: "Get usage",
		description: "Returns the counts of a tenant for a day.",
	}, a.getUsage)
}

func (a *API) listKeys(ctx context.Context, _ *nothing) (*answer[keyListBody], error) {
	all, err := a.Keys.List(ctx)
	return respond(all, err, func(all []access.Key) keyListBody { return keyListBody{each(all, keyOf)} })
}

func (a *API) createKey(ctx context.Context, in *createKey) (*answer[createdKeyBody], error) {
	k := access.Key{
		Name: string(in.Body.Name), User: string(in.Body.User),
		Scopes: each(in.Body.Scopes, func(s string) access.Scope { return access.Scope(s) }),
	}
	if in.Body.ExpiresAt != nil {
		k.ExpiresAt = *in.Body.ExpiresAt
	}
	k, text, err := a.Keys.Create(ctx, k)
	return respond(k, err, func(k access.Key) createdKeyBody { return createdKeyBody{keyOf(k), text} })
}

func (a *API) revokeKey(ctx context.Context, in *revokeKey) (*nothing, error) {
	return nil, a.Keys.Revoke(ctx, string(in.ID))
}

func (a *API) listLetters(ctx context.Context, in *listLetters) (*answer[letterPageBody], error) {
	all := listOf(ctx, "dead letters")
	place, err := all.place(in.Cursor)
	if err != nil {
		return nil, err
	}
	letters, next, err := a.DeadLetters.List(ctx, in.Limit, string(place))
	return respond(letters, err, func(letters []deadletters.Letter) letterPageBody {
		return letterPageBody{each(letters, deadLetterOf), all.cursor([]byte(next))}
	})
}

func (a *API) replayLetter(ctx context.Context, in *replayLetter) (*answer[replayedBody], error) {
	return respond(string(in.ID), a.DeadLetters.Replay(ctx, string(in.ID)), replayedOf)
}

func replayedOf(id string) replayedBody { return replayedBody{id} }

func (a *API) getUsage(ctx context.Context, in *getUsage) (*answer[usageOfDayBody], error) {
	day := cmp.Or(in.Day, a.Now().UTC().Format(time.DateOnly))
	counts, err := a.Usage.Usage(ctx, day)
	return respond(counts, err, func(counts map[string]int64) usageOfDayBody { return usageOfDayBody{day, counts} })
}
