package webhook

import (
	"context"
	"slices"

	"github.com/mneme-memory/mneme/services/gateway/mem0"
	"github.com/mneme-memory/mneme/shared/changeevent"
)

// ForMem0 are the webhooks as mem0's API has them.
func (h *Webhooks) ForMem0() mem0.Webhooks { return forMem0{h} }

type forMem0 struct{ *Webhooks }

// names maps mem0's events to Mneme's events.
var names = map[string][]changeevent.Type{
	mem0.EventMemoryAdd:    {changeevent.MemoryAdded},
	mem0.EventMemoryUpdate: {changeevent.MemoryUpdated, changeevent.MemoryMerged},
	mem0.EventMemoryDelete: {changeevent.MemoryDeleted},
}

func typesOf(events []string) (out []changeevent.Type) {
	for _, e := range events {
		out = append(out, names[e]...)
	}
	return out
}

// mem0Of is an endpoint as mem0 has it. Types that mem0 has no name for are not shown.
func mem0Of(e Endpoint) mem0.Webhook {
	out := mem0.Webhook{
		ID: e.ID, Name: e.Name, URL: e.URL, Active: e.Active, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
		Secret: e.Secret, LastSuccess: e.Health.LastSuccess, LastFailure: e.Health.LastFailure,
		FailingSince: e.Health.FailingSince, LastError: e.Health.LastError, Failures: e.Health.Failures,
		Pending: e.Health.Pending,
	}
	for _, name := range []string{mem0.EventMemoryAdd, mem0.EventMemoryUpdate, mem0.EventMemoryDelete} {
		if len(e.Types) == 0 || slices.ContainsFunc(names[name], func(t changeevent.Type) bool {
			return slices.Contains(e.Types, t)
		}) {
			out.Events = append(out.Events, name)
		}
	}
	return out
}

// List implements mem0.Webhooks.
func (f forMem0) List(ctx context.Context) (out []mem0.Webhook, err error) {
	all, err := f.Webhooks.List(ctx)
	for _, e := range all {
		out = append(out, mem0Of(e))
	}
	return out, err
}

// Create implements mem0.Webhooks.
func (f forMem0) Create(ctx context.Context, w mem0.Webhook) (mem0.Webhook, error) {
	e, err := f.Webhooks.Create(ctx, Endpoint{Name: w.Name, URL: w.URL, Types: typesOf(w.Events)})
	return mem0Of(e), err
}

// Update implements mem0.Webhooks.
func (f forMem0) Update(ctx context.Context, w mem0.Webhook) (mem0.Webhook, error) {
	var c Change
	if w.Name != "" {
		c.Name = &w.Name
	}
	if w.URL != "" {
		c.URL = &w.URL
	}
	if len(w.Events) > 0 {
		c.Types = new(typesOf(w.Events))
	}
	e, err := f.Webhooks.Update(ctx, w.ID, c)
	return mem0Of(e), err
}
