package mem0

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/services/gateway/webhook"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/changeevent"
	"github.com/mneme-memory/mneme/shared/memory"
)

// eventType is a type of mem0's events, with Mneme's types of the same changes.
type eventType struct {
	name  string
	types []changeevent.Type
}

// eventTypes are the types of events that webhooks receive.
var eventTypes = []eventType{
	{"memory_add", []changeevent.Type{changeevent.MemoryAdded}},
	{"memory_update", []changeevent.Type{changeevent.MemoryUpdated, changeevent.MemoryMerged}},
	{"memory_delete", []changeevent.Type{changeevent.MemoryDeleted}},
}

// eventCategorize is an event type of mem0 that never occurs here.
const eventCategorize = "memory_categorize"

// Webhooks manages the webhooks of the caller's tenant. *webhook.Webhooks implements it. It checks that the caller has
// access.Admin, and access.Read for a new or changed webhook. problem.From turns the errors into answers.
// For an id that the tenant does not have, the error is not found.
type Webhooks interface {
	// List returns all, oldest first.
	List(ctx context.Context) ([]webhook.Endpoint, error)
	// Create makes a webhook by its name, URL and types. It returns the webhook with its defaults.
	Create(ctx context.Context, e webhook.Endpoint) (webhook.Endpoint, error)
	// Update changes one, and returns it. Absent fields stay.
	Update(ctx context.Context, id string, c webhook.Change) (webhook.Endpoint, error)
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

func webhookViewOf(r *http.Request, w webhook.Endpoint) webhookView {
	h := w.Health
	return webhookView{
		ID: w.ID, Name: w.Name, URL: w.URL, Project: caller(r).Tenant.ID, Events: eventsOf(w), Active: w.Active,
		CreatedAt: stamp(w.CreatedAt), UpdatedAt: stamp(w.UpdatedAt), Secret: w.Secret, LastSuccess: stampIf(h.LastSuccess),
		LastFailure: stampIf(h.LastFailure), LastError: h.LastError, FailingSince: stampIf(h.FailingSince),
		Failures: h.Failures, Pending: h.Pending,
	}
}

// eventsOf are the events of a webhook by mem0's names. Types that mem0 has no name for are not shown.
func eventsOf(w webhook.Endpoint) []string {
	out := []string{}
	for _, e := range eventTypes {
		wanted := func(t changeevent.Type) bool { return slices.Contains(w.Types, t) }
		if len(w.Types) == 0 || slices.ContainsFunc(e.types, wanted) {
			out = append(out, e.name)
		}
	}
	return out
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
		return problem.Unsupported(noWebhooks)
	}
	return backend.Check(r.Context(), access.Admin, "")
}

// ownProject returns an error where a parameter of the path is there and not the caller's tenant.
func ownProject(r *http.Request, name string) error {
	if id := r.PathValue(name); id != "" && id != caller(r).Tenant.ID {
		return problem.NotFound("the API key is of no such organisation or project")
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
func webhookOf(in fields) (w webhook.Endpoint, err error) {
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
	events, err := in.texts("event_types")
	if err != nil {
		return w, err
	}
	for _, e := range events {
		at := slices.IndexFunc(eventTypes, func(t eventType) bool { return t.name == e })
		switch {
		case e == eventCategorize:
			return w, problem.UnsupportedField("event_types",
				"has memory_categorize, which never occurs: Mneme sets categories when it adds the memory")
		case at < 0:
			return w, problem.Invalid("event_types",
				"has an event type other than memory_add, memory_update, memory_delete")
		}
		w.Types = append(w.Types, eventTypes[at].types...)
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
	if len(w.Types) == 0 {
		return nil, problem.Invalid("event_types", "is missing or empty")
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
	var c webhook.Change
	if w.Name != "" {
		c.Name = &w.Name
	}
	if w.URL != "" {
		c.URL = &w.URL
	}
	if len(w.Types) > 0 {
		c.Types = &w.Types
	}
	changed, err := a.Webhooks.Update(r.Context(), memory.CanonicalID(r.PathValue("webhook_id")), c)
	if err != nil {
		return nil, err
	}
	out := webhookViewOf(r, changed)
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
