package mem0

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/door"
	"github.com/mneme-memory/mneme/services/gateway/upstream"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Webhook is an endpoint that receives memory changes of the caller's tenant.
type Webhook struct {
	ID, Name, URL string
	// Events are some of EventMemoryAdd, EventMemoryUpdate and EventMemoryDelete.
	Events               []string
	Active               bool
	CreatedAt, UpdatedAt time.Time
	// Secret is the key that signs messages. It is empty in answers that do not show it.
	Secret string
	// LastSuccess is the time of the last 2xx answer. LastFailure is the time of the last other result.
	// FailingSince is the start of the current failures. Each is zero if there was no such time. LastError is the
	// reason of the last failure.
	LastSuccess, LastFailure, FailingSince time.Time
	LastError                              string
	// Failures are attempts that failed since FailingSince, Pending events that wait for an attempt.
	Failures, Pending int
}

// Events that webhooks receive.
const (
	EventMemoryAdd    = "memory_add"
	EventMemoryUpdate = "memory_update"
	EventMemoryDelete = "memory_delete"
	// eventCategorize is one of mem0's that nothing here is.
	eventCategorize = "memory_categorize"
)

// Webhooks manages the webhooks of the caller's tenant. The caller has access.Admin already. Create and Update also
// require access.Read. door.ProblemOf turns the errors into answers. For an id that the tenant does not have, the
// error is not found.
type Webhooks interface {
	// List returns all, oldest first.
	List(ctx context.Context) ([]Webhook, error)
	// Create makes a webhook by its name, URL and events. It returns the webhook with its defaults.
	Create(ctx context.Context, w Webhook) (Webhook, error)
	// Update changes name, URL and events of the one with the id, those that are not empty, and returns it.
	Update(ctx context.Context, w Webhook) (Webhook, error)
	// Delete removes one.
	Delete(ctx context.Context, id string) error
}

// noWebhooks says why there are none.
const noWebhooks = "webhooks are not served here"

// Limits of webhooks, in bytes.
const (
	maxWebhookName = 256
	maxWebhookURL  = 2 << 10
)

// webhookView is a webhook as clients see it.
type webhookView struct {
	ID        string   `json:"webhook_id"`
	Name      string   `json:"name"`
	URL       string   `json:"url"`
	Project   string   `json:"project"`
	Events    []string `json:"event_types"`
	Active    bool     `json:"is_active"`
	CreatedAt string   `json:"created_at"`
	UpdatedAt string   `json:"updated_at"`
	Secret    string   `json:"secret,omitempty"`
	Message   string   `json:"message,omitempty"`
	// mem0 does not have these fields.
	LastSuccess  string `json:"last_success_at,omitempty"`
	LastFailure  string `json:"last_failure_at,omitempty"`
	LastError    string `json:"last_error,omitempty"`
	FailingSince string `json:"failing_since,omitempty"`
	Failures     int    `json:"consecutive_failures"`
	Pending      int    `json:"pending"`
}

func webhookViewOf(r *http.Request, w Webhook) webhookView {
	return webhookView{
		ID: w.ID, Name: w.Name, URL: w.URL, Project: caller(r).Tenant.ID, Events: orEmpty(w.Events), Active: w.Active,
		CreatedAt: stamp(w.CreatedAt), UpdatedAt: stamp(w.UpdatedAt), Secret: w.Secret, LastSuccess: stampIf(w.LastSuccess),
		LastFailure: stampIf(w.LastFailure), LastError: w.LastError, FailingSince: stampIf(w.FailingSince),
		Failures: w.Failures, Pending: w.Pending,
	}
}

// stampIf is the stamp of a time that may be zero: then it is empty.
func stampIf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return stamp(t)
}

// manages returns an error where webhooks are not the caller's to manage.
func (a *api) manages(r *http.Request) error {
	if err := ownProject(r, "project_id"); err != nil {
		return err
	}
	if a.Webhooks == nil {
		return door.Unsupported(noWebhooks)
	}
	return upstream.Check(r.Context(), access.Admin, "")
}

// ownProject returns an error where a parameter of the path is there and not the caller's tenant.
func ownProject(r *http.Request, name string) error {
	if id := r.PathValue(name); id != "" && id != caller(r).Tenant.ID {
		return notFound("the API key is of no such organisation or project")
	}
	return nil
}

func (a *api) listWebhooks(r *http.Request, _ fields) (any, error) {
	if err := a.manages(r); err != nil {
		return nil, err
	}
	all, err := a.Webhooks.List(r.Context())
	if err != nil {
		return nil, err
	}
	out := make([]webhookView, len(all))
	for i, w := range all {
		out[i] = webhookViewOf(r, w)
	}
	return out, nil
}

// webhookOf reads the wanted webhook from a request.
func webhookOf(in fields) (w Webhook, err error) {
	if w.Name, err = in.text("name"); err != nil {
		return w, err
	}
	if w.URL, err = in.text("url"); err != nil {
		return w, err
	}
	if len(w.Name) > maxWebhookName {
		return w, memory.ValidText("name", w.Name, maxWebhookName)
	}
	if len(w.URL) > maxWebhookURL {
		return w, memory.ValidText("url", w.URL, maxWebhookURL)
	}
	if w.Events, err = in.texts("event_types"); err != nil {
		return w, err
	}
	known := []string{EventMemoryAdd, EventMemoryUpdate, EventMemoryDelete}
	for _, e := range w.Events {
		switch {
		case e == eventCategorize:
			return w, door.Problem{
				Status: http.StatusNotImplemented, Code: door.CodeUnsupported, Field: "event_types",
				Detail: "has memory_categorize, which never occurs: Mneme sets categories when it adds the memory",
			}
		case !slices.Contains(known, e):
			return w, door.Invalid("event_types", "has an event type other than "+strings.Join(known, ", "))
		}
	}
	return w, nil
}

func (a *api) createWebhook(r *http.Request, in fields) (any, error) {
	if err := a.manages(r); err != nil {
		return nil, err
	}
	w, err := webhookOf(in)
	if err != nil {
		return nil, err
	}
	if err := memory.ValidText("url", w.URL, maxWebhookURL); err != nil {
		return nil, err
	}
	if len(w.Events) == 0 {
		return nil, door.Invalid("event_types", "is missing or empty")
	}
	if w, err = a.Webhooks.Create(r.Context(), w); err != nil {
		return nil, err
	}
	return reply{http.StatusCreated, webhookViewOf(r, w)}, nil
}

func (a *api) updateWebhook(r *http.Request, in fields) (any, error) {
	if err := a.manages(r); err != nil {
		return nil, err
	}
	w, err := webhookOf(in)
	if err != nil {
		return nil, err
	}
	w.ID = memory.CanonicalID(r.PathValue("webhook_id"))
	if w, err = a.Webhooks.Update(r.Context(), w); err != nil {
		return nil, err
	}
	out := webhookViewOf(r, w)
	out.Message = "Webhook updated successfully"
	return out, nil
}

func (a *api) deleteWebhook(r *http.Request, _ fields) (any, error) {
	if err := a.manages(r); err != nil {
		return nil, err
	}
	if err := a.Webhooks.Delete(r.Context(), memory.CanonicalID(r.PathValue("webhook_id"))); err != nil {
		return nil, err
	}
	return map[string]string{"message": "Webhook deleted successfully"}, nil
}

// project describes the tenant as a project of mem0, without instructions.
func (a *api) project(r *http.Request, _ fields) (any, error) {
	for _, name := range []string{"org_id", "project_id"} {
		if err := ownProject(r, name); err != nil {
			return nil, err
		}
	}
	q, err := queryOf(r)
	if err != nil {
		return nil, err
	}
	id := caller(r).Tenant.ID
	all := map[string]any{
		"id": id, "project_id": id, "org_id": id, "name": id,
		"custom_instructions": nil, "agent_custom_instructions": nil, "custom_categories": nil,
	}
	if wanted := q["fields"]; len(wanted) > 0 {
		maps.DeleteFunc(all, func(name string, _ any) bool { return !slices.Contains(wanted, name) })
	}
	return all, nil
}
