package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mneme-memory/mneme/services/gateway/webhook"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/changeevent"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Webhooks manages the webhooks of the caller's tenant; *webhook.Webhooks does. It holds the caller against
// access.Admin, and against access.Read where one is made or changed.
type Webhooks interface {
	// Create makes one, and returns it with its secret.
	Create(ctx context.Context, e webhook.Endpoint) (webhook.Endpoint, error)
	// List returns all, the oldest first.
	List(ctx context.Context) ([]webhook.Endpoint, error)
	// Get returns one.
	Get(ctx context.Context, id string) (webhook.Endpoint, error)
	// Update changes one.
	Update(ctx context.Context, id string, c webhook.Change) (webhook.Endpoint, error)
	// Delete removes one.
	Delete(ctx context.Context, id string) error
	// Rotate gives one another secret, and returns it with that.
	Rotate(ctx context.Context, id string) (webhook.Endpoint, error)
	// Dead returns up to limit of its dead letters, the newest first, and where to go on.
	Dead(ctx context.Context, id string, limit int, cursor string) ([]webhook.Dead, string, error)
	// Replay has a dead letter delivered again.
	Replay(ctx context.Context, id, eventID string) error
}

type (
	webhookID   string
	webhookName string
	webhookURL  string
	eventID     string
)

// maxWebhookURL bounds a URL, in bytes.
const maxWebhookURL = 2 << 10

// Schema implements huma.SchemaProvider, as do the others.
func (webhookID) Schema(huma.Registry) *huma.Schema { return uuidOf("The webhook.") }
func (webhookName) Schema(huma.Registry) *huma.Schema {
	return text(access.MaxNameBytes, "A name, for people.")
}
func (webhookURL) Schema(huma.Registry) *huma.Schema {
	return text(maxWebhookURL, "Where to tell: https, a public address, without user, password and fragment.")
}
func (eventID) Schema(huma.Registry) *huma.Schema { return text(memory.MaxIDBytes, "The event.") }

// Webhook is an endpoint that receives the tenant's changes.
type Webhook struct {
	ID        string    `json:"id"`
	Name      string    `json:"name,omitempty"`
	URL       string    `json:"url"`
	Types     []string  `json:"event_types" nullable:"false" doc:"The types of sent events; an empty list means all."`
	User      string    `json:"user,omitempty" doc:"The only end user of the sent events; absent for all users."`
	Active    bool      `json:"active" doc:"false if Mneme sends nothing, because you switched the webhook off or it answered 410."`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Secret    string    `json:"secret,omitempty" doc:"The secret of the signatures, after Standard Webhooks. Mneme returns it once, in the answer that creates it. The answer to a repeated request lacks it."`

	LastSuccess  *time.Time `json:"last_success_at,omitempty" doc:"Time of the last attempt with an answer of 2xx."`
	LastFailure  *time.Time `json:"last_failure_at,omitempty" doc:"Time of the last failed attempt."`
	LastError    string     `json:"last_error,omitempty" doc:"The reason of that failure: the status of the answer, or the error without an answer."`
	FailingSince *time.Time `json:"failing_since,omitempty" doc:"Time of the first failure in a row; absent if the last attempt succeeded."`
	Failures     int        `json:"consecutive_failures" doc:"Failed attempts since then."`
	Pending      int        `json:"pending" doc:"Events that wait for a first or a further attempt."`
}

func webhookOf(e webhook.Endpoint) Webhook {
	return Webhook{
		ID: e.ID, Name: e.Name, URL: e.URL, Types: texts(e.Types), User: e.User, Active: e.Active, CreatedAt: e.CreatedAt,
		UpdatedAt: e.UpdatedAt,
		Secret:    e.Secret, LastSuccess: known(e.Health.LastSuccess), LastFailure: known(e.Health.LastFailure),
		LastError:    e.Health.LastError,
		FailingSince: known(e.Health.FailingSince), Failures: e.Health.Failures, Pending: e.Health.Pending,
	}
}

type webhookListBody struct {
	Webhooks []Webhook `json:"webhooks" nullable:"false" doc:"Oldest first."`
}

type createWebhook struct {
	Keyed
	Body struct {
		Name  webhookName `json:"name,omitempty" doc:"A label for people. At most 128 bytes."`
		URL   webhookURL  `json:"url" doc:"The URL of the receiver: https, a public address, without user, password and fragment. At most 2048 bytes."`
		Types []string    `json:"event_types,omitempty" enum:"memory.added,memory.updated,memory.merged,memory.deleted,memory.released,user.erased,core.changed" minItems:"1" maxItems:"7" uniqueItems:"true" nullable:"false" doc:"The types of events to send. Default: all."`
		User  userID      `json:"user,omitempty" doc:"The only end user of the sent events. Default: all users. At most 256 bytes."`
	}
}

type webhookRequest struct {
	ID webhookID `path:"webhook"`
}

type updateWebhook struct {
	ID   webhookID `path:"webhook"`
	Body struct {
		Name   webhookName `json:"name,omitempty" doc:"A label for people. At most 128 bytes."`
		URL    webhookURL  `json:"url,omitempty" doc:"The URL of the receiver: https, a public address, without user, password and fragment. At most 2048 bytes."`
		Types  []string    `json:"event_types,omitempty" enum:"memory.added,memory.updated,memory.merged,memory.deleted,memory.released,user.erased,core.changed" maxItems:"7" uniqueItems:"true" nullable:"false" doc:"The types of events to send; an empty list for all."`
		Active *bool       `json:"active,omitempty" doc:"Whether to send events."`
	}
}

type rotateSecret struct {
	Keyed
	ID webhookID `path:"webhook"`
}

type listUndelivered struct {
	ID     webhookID `path:"webhook"`
	Limit  int       `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Maximum number of dead letters."`
	Cursor cursor    `query:"cursor"`
}

// Undelivered is an event that a webhook did not receive.
type Undelivered struct {
	EventID  string    `json:"event_id"`
	Type     string    `json:"type"`
	Time     time.Time `json:"time" doc:"Time of the event."`
	DiedAt   time.Time `json:"died_at" doc:"Time of the last failed attempt."`
	Attempts int       `json:"attempts"`
	Status   int       `json:"status,omitempty" doc:"Status of the last answer; absent without an answer."`
	Reason   string    `json:"reason"`
}

func undeliveredOf(d webhook.Dead) Undelivered {
	return Undelivered{
		EventID: d.Event, Type: string(d.Type), Time: d.Time, DiedAt: d.DiedAt, Attempts: d.Attempts, Status: d.Status,
		Reason: d.Reason,
	}
}

type undeliveredPageBody struct {
	Letters []Undelivered `json:"dead_letters" nullable:"false" doc:"Newest first."`
	Next    string        `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
}

type replayUndelivered struct {
	ID    webhookID `path:"webhook"`
	Event eventID   `path:"event"`
}

// webhooks are the operations that manage webhooks.
func (a *API) webhooks() {
	one := "/webhooks/{webhook}"
	add := func(o operation) operation { o.tag, o.scope = tagWebhooks, access.Admin; return o }
	register(a, add(operation{
		id: "list-webhooks", route: "GET /webhooks", summary: "List webhooks",
		description: "Lists the tenant's webhooks.",
	}), a.listWebhooks)
	register(a, add(operation{
		id: "create-webhook", route: "POST /webhooks", also: access.Read, keyed: true, status: http.StatusCreated,
		secrets: []string{"secret"}, summary: "Make a webhook",
		description: "Makes a webhook. Mneme sends changes of memory to its URL by POST, as `{type, timestamp, data}` " +
			"with ids and no texts, signed after Standard Webhooks (`webhook-id`, `webhook-timestamp`, " +
			"`webhook-signature`). It repeats an event without an answer of 2xx for some three days. Events may arrive " +
			"in another order, and more than once with the same `webhook-id`. The answer to a repeated request lacks the " +
			"secret. If you lost the first answer, rotate the secret.",
	}), a.createWebhook)
	register(a, add(operation{
		id: "get-webhook", route: "GET " + one, errors: []int{http.StatusNotFound}, summary: "Get a webhook",
		description: "Returns a webhook, without its secret.",
	}), a.getWebhook)
	register(a, add(operation{
		id: "update-webhook", route: "PATCH " + one, also: access.Read,
		errors: []int{http.StatusNotFound, http.StatusConflict}, summary: "Change a webhook",
		description: "Changes the given fields. The waiting events of a webhook that you switch off become dead " +
			"letters.",
	}), a.updateWebhook)
	register(a, add(operation{
		id: "delete-webhook", route: "DELETE " + one, status: http.StatusNoContent, errors: []int{http.StatusNotFound},
		summary: "Delete a webhook", description: "Deletes a webhook and its waiting events.",
	}), a.deleteWebhook)
	register(a, add(operation{
		id: "rotate-webhook-secret", route: "POST " + one + "/rotate-secret", keyed: true, secrets: []string{"secret"},
		errors: []int{http.StatusNotFound}, summary: "Rotate a webhook's secret",
		description: "Gives a webhook a new secret. For 24 hours, Mneme also signs with the previous one. The answer " +
			"to a repeated request lacks the secret. If you lost the first answer, rotate again with another " +
			"Idempotency-Key.",
	}), a.rotateSecret)
	register(a, add(operation{
		id: "list-webhook-dead-letters", route: "GET " + one + "/dead-letters", errors: []int{http.StatusNotFound},
		summary:     "List undelivered events",
		description: "Lists the events whose delivery failed for good in the last seven days, at most 1,000.",
	}), a.listUndelivered)
	register(a, add(operation{
		id: "replay-webhook-dead-letter", route: "POST " + one + "/dead-letters/{event}/replay",
		status: http.StatusAccepted, errors: []int{http.StatusNotFound}, summary: "Send an event again",
		description: "Sends an undelivered event again.",
	}), a.replayUndelivered)
}

func (a *API) listWebhooks(ctx context.Context, _ *nothing) (*answer[webhookListBody], error) {
	all, err := a.Webhooks.List(ctx)
	return respond(all, err, func(all []webhook.Endpoint) webhookListBody { return webhookListBody{each(all, webhookOf)} })
}

func typesOf(names []string) []changeevent.Type {
	return each(names, func(n string) changeevent.Type { return changeevent.Type(n) })
}

func webhookResult(e webhook.Endpoint, err error) (*answer[Webhook], error) {
	return respond(e, err, webhookOf)
}

func (a *API) createWebhook(ctx context.Context, in *createWebhook) (*answer[Webhook], error) {
	return webhookResult(a.Webhooks.Create(ctx, webhook.Endpoint{
		Name: string(in.Body.Name), URL: string(in.Body.URL), Types: typesOf(in.Body.Types), User: string(in.Body.User),
	}))
}

func (a *API) getWebhook(ctx context.Context, in *webhookRequest) (*answer[Webhook], error) {
	return webhookResult(a.Webhooks.Get(ctx, string(in.ID)))
}

func (a *API) updateWebhook(ctx context.Context, in *updateWebhook) (*answer[Webhook], error) {
	c := webhook.Change{Active: in.Body.Active}
	if in.Body.Name != "" {
		c.Name = new(string(in.Body.Name))
	}
	if in.Body.URL != "" {
		c.URL = new(string(in.Body.URL))
	}
	if in.Body.Types != nil {
		c.Types = new(typesOf(in.Body.Types))
	}
	return webhookResult(a.Webhooks.Update(ctx, string(in.ID), c))
}

func (a *API) deleteWebhook(ctx context.Context, in *webhookRequest) (*nothing, error) {
	return nil, a.Webhooks.Delete(ctx, string(in.ID))
}

func (a *API) rotateSecret(ctx context.Context, in *rotateSecret) (*answer[Webhook], error) {
	return webhookResult(a.Webhooks.Rotate(ctx, string(in.ID)))
}

func (a *API) listUndelivered(ctx context.Context, in *listUndelivered) (*answer[undeliveredPageBody], error) {
	all := listOf(ctx, "dead letters of a webhook", string(in.ID))
	place, err := all.place(in.Cursor)
	if err != nil {
		return nil, err
	}
	dead, next, err := a.Webhooks.Dead(ctx, string(in.ID), in.Limit, string(place))
	return respond(dead, err, func(dead []webhook.Dead) undeliveredPageBody {
		return undeliveredPageBody{each(dead, undeliveredOf), all.cursor([]byte(next))}
	})
}

func (a *API) replayUndelivered(ctx context.Context, in *replayUndelivered) (*answer[replayedBody], error) {
	id := string(in.Event)
	return respond(id, a.Webhooks.Replay(ctx, string(in.ID), id), replayedOf)
}
