package mem0

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
)

// The entities of mem0: fields of requests, and the types that entities are listed by.
const (
	userField, agentField, appField, runField = "user_id", "agent_id", "app_id", "run_id"
	userType, agentType, appType, runType     = "user", "agent", "app", "run"
)

// entityFields are the fields that name entities. The field that decides the owner comes first.
var entityFields = []string{userField, agentField, appField, runField}

// any value of a field, where mem0 takes it.
const wildcard = "*"

// owner is the user of Mneme that an entity is.
func owner(kind, id string) string {
	if kind == userType {
		return id
	}
	return kind + ":" + id
}

// entityOf is the entity that a user of Mneme is.
func entityOf(user string) (kind, id string) {
	kind, id, ok := strings.Cut(user, ":")
	if ok && id != "" && slices.Contains([]string{agentType, appType, runType}, kind) {
		return kind, id
	}
	return userType, user
}

// kindOfField is the type of the entities that a field names.
func kindOfField(field string) string { return strings.TrimSuffix(field, "_id") }

// named are the entities that a request names, by field.
type named map[string]string

// namedIn reads the entities of fields; where says in errors which fields these are.
func namedIn(in fields, where string) (named, error) {
	out := named{}
	for _, field := range entityFields {
		value, err := in.text(field)
		if err != nil {
			return nil, placed(strings.TrimSuffix(where, "."), "", err)
		}
		if !in.has(field) {
			continue
		}
		if err := validEntity(where+field, field, value); err != nil {
			return nil, err
		}
		out[field] = value
	}
	return out, nil
}

// validEntity checks the id of an entity; at is the field in errors.
func validEntity(at, field, value string) error {
	if value == wildcard {
		return problem.Invalid(at, "is `*`, want one id: no call applies to all entities")
	}
	most := memory.MaxUserBytes
	switch field {
	case runField:
		most = memory.MaxIDBytes
	case agentField, appField:
		most -= len(kindOfField(field)) + 1
	}
	return memory.ValidText(at, value, most)
}

// owner returns the user that owns the memory. bound is the single user of the caller's key, if it has one. The
// result is empty if the request names no entity.
func (n named) owner(bound string) string {
	if bound != "" && n[userField] == "" {
		return bound
	}
	for _, field := range entityFields {
		if n[field] != "" {
			return owner(kindOfField(field), n[field])
		}
	}
	return ""
}

// addedTo reads the owner of an addition. The request names entities next to the messages, or in filters.
func addedTo(in fields) (named, error) {
	out, err := namedIn(in, "")
	if err != nil {
		return nil, err
	}
	filters, err := in.object("filters")
	if err != nil {
		return nil, err
	}
	if err := out.add(filters, "filters."); err != nil {
		return nil, err
	}
	return out, nil
}

// add adds the entities of filters, also of filters joined by AND.
func (n named) add(filters fields, where string) error {
	more, err := namedIn(filters, where)
	if err != nil {
		return err
	}
	for field, value := range more {
		if n[field] != "" && n[field] != value {
			return problem.Invalid(where+field, "has two different values")
		}
		n[field] = value
	}
	parts, err := filters.list("AND")
	if err != nil {
		return placed(strings.TrimSuffix(where, "."), "", err)
	}
	for _, part := range parts {
		object, ok := part.(map[string]any)
		if !ok {
			return wrongType(where+"AND", "", part, "objects")
		}
		if err := n.add(object, where); err != nil {
			return err
		}
	}
	return nil
}

// bound returns the single user of the caller's key. It is empty for a key of the whole tenant.
func bound(ctx context.Context) string {
	p, _ := access.FromContext(ctx) // the guard has let the request through
	return p.User
}

// entityAt is the entity of a request's path, as a user of Mneme.
func entityAt(r *http.Request) (string, error) {
	kind, id := r.PathValue("entity_type"), r.PathValue("entity_id")
	if !slices.Contains([]string{userType, agentType, appType, runType}, kind) {
		return "", problem.Invalid("entity_type", "is invalid, want user, agent, app or run")
	}
	if err := validEntity("entity_id", kind+"_id", id); err != nil {
		return "", err
	}
	return owner(kind, id), nil
}
