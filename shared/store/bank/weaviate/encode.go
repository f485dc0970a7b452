package weaviate

import (
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/weaviate/weaviate/entities/models"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// properties are an object's, as Weaviate takes them in JSON. What is empty is left out.
type properties map[string]any

// owned begins the properties of anything that belongs to a user.
func owned(scope memory.Scope) properties {
	return properties{propUser: hashID(scope.User), propUserID: scope.User}
}

// newObject is what a collection holds of a user under an id of the domain. Its vector is in no index and means nothing, but differs each
// time: where the server was killed while it wrote an object, rows of the index may be missing, and of a repeated write it adds only those
// of what has changed, unless the vector has.
func newObject(collection string, scope memory.Scope, id string, p properties) *models.Object {
	return &models.Object{
		Class: collection, Tenant: scope.Tenant, ID: strfmt.UUID(objectID(hashID(scope.User), id)), Properties: map[string]any(p),
		Vector: models.C11yVector{rand.Float32()}, //nolint:gosec // no secret
	}
}

func (p properties) text(name, value string) {
	if value != "" {
		p[name] = value
	}
}

func (p properties) list(name string, values []string) {
	if len(values) > 0 {
		p[name] = values
	}
}

func (p properties) time(name string, t time.Time) {
	if !t.IsZero() {
		p[name] = t.UTC().Format(time.RFC3339Nano)
	}
}

// entryProperties are those of a new entry.
func entryProperties(scope memory.Scope, m memory.Memory) (properties, error) {
	whole, err := encodeEntry(m)
	if err != nil {
		return nil, err
	}
	p := owned(scope)
	p.text(propEntryID, m.ID)
	p.text(propTerms, bank.IndexText(m))
	p.text(propEntry, whole)
	p.time(propRecordedAt, m.RecordedAt)
	p.list(propPredecessors, m.Predecessors)
	p.list(propSources, hashIDs(m.Sources))
	p.list(propTokens, tokensOf(scope.User, m))
	p.text(propStatus, string(m.Status))
	p.time(propValidTo, m.ValidTo)
	return p, nil
}

// encodeEntry returns in JSON what of an entry never changes and is no vector.
func encodeEntry(m memory.Memory) (string, error) {
	m.Vector, m.Status, m.ValidTo = nil, "", time.Time{}
	m.EventTime.Time, m.RecordedAt, m.ValidFrom = m.EventTime.Time.UTC(), m.RecordedAt.UTC(), m.ValidFrom.UTC()
	raw, err := json.Marshal(m)
	if err != nil {
		return "", fault.Terminal("write.put", "%s: %w", m.ID, err)
	}
	return string(raw), nil
}

func closingProperties(c memory.Closing) properties {
	p := properties{}
	p.text(propStatus, string(c.Status))
	p.time(propValidTo, c.ValidTo)
	p.text(propClosedBy, c.OperationID)
	return p
}

func releaseProperties(r memory.Release) properties {
	p := properties{}
	p.text(propStatus, string(r.Status))
	p.text(propReleasedBy, r.OperationID)
	return p
}

func turnProperties(scope memory.Scope, t memory.Turn) properties {
	p := owned(scope)
	p.text("turnId", t.ID)
	p.text("sessionId", t.SessionID)
	p.text("speaker", t.Speaker)
	p.text("role", string(t.Role))
	p.text("text", t.Text)
	p.text("caption", t.Caption)
	p.time("time", t.Time)
	if t.Saliency != (memory.SaliencyDecision{}) {
		p.text("saliency", encoded(t.Saliency))
	}
	if a := encoded(t.Attributes); a != "{}" {
		p.text(propAttributes, a)
	}
	return p
}

// encoded returns a part of a turn in JSON: it is read with its turn alone, and never searched. What is no number cannot be written so,
// and a decision that has one is left out rather than the turn refused.
func encoded(part any) string {
	raw, err := json.Marshal(part)
	if err != nil {
		return ""
	}
	return string(raw)
}

func sessionProperties(scope memory.Scope, r memory.SessionRecord) properties {
	p := owned(scope)
	p.text("sessionId", r.SessionID)
	p.time("formedAt", r.FormedAt)
	p["turns"], p["operations"], p["closed"] = r.Turns, r.Operations, r.Closed
	return p
}
