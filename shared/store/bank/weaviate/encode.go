package weaviate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/weaviate/weaviate/entities/models"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"github.com/weaviate/weaviate/usecases/byteops"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// properties are the properties of an object in Weaviate's JSON form. Empty values are omitted.
type properties map[string]any

// owned returns the common properties of a user's objects.
func owned(scope memory.Scope) properties {
	return properties{propUser: hashID(scope.User), propUserID: scope.User}
}

// newObject returns a user's object for a collection, by an id of the domain. Its vector is in no index and has no
// meaning, but it differs each time. If the server was killed during a write, index rows may be missing. A repeated
// write adds only the rows of changed properties, unless the vector has changed.
func newObject(collection string, scope memory.Scope, id string, p properties) *models.Object {
	return &models.Object{
		Class: collection, Tenant: scope.Tenant, ID: strfmt.UUID(objectID(hashID(scope.User), id)),
		Properties: map[string]any(p),
		Vector:     models.C11yVector{rand.Float32()}, //nolint:gosec // no secret
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

// entryProperties returns the properties of a new entry.
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
	p.text(propTier, string(m.Tier))
	if m.Tier == memory.TierTalk { // its retention needs the time
		p.time(propValidFrom, m.ValidFrom)
	}
	p.time(propValidTo, m.ValidTo)
	return p, nil
}

// encodeEntry returns the immutable fields of an entry in JSON, without the vector.
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

// encoded returns a part of a turn in JSON. The part is read only with its turn, and never searched. JSON has no form
// for NaN, so encoded omits a decision with such a value instead of refusing the turn.
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

// object reads the properties of a result. err keeps the first unreadable time.
type object struct {
	fields map[string]*pb.Value
	err    error
}

func open(r *pb.SearchResult) *object {
	return &object{fields: r.GetProperties().GetNonRefProps().GetFields()}
}

func (o *object) text(name string) string { return o.fields[name].GetTextValue() }

func (o *object) int(name string) int {
	if v, isInt := o.fields[name].GetKind().(*pb.Value_IntValue); isInt {
		return int(v.IntValue)
	}
	return int(o.number(name))
}

func (o *object) number(name string) float64 { return o.fields[name].GetNumberValue() }

func (o *object) flag(name string) bool { return o.fields[name].GetBoolValue() }

// time reads a time in UTC. It returns the zero time for a missing value.
func (o *object) time(name string) time.Time {
	value := cmp.Or(o.fields[name].GetDateValue(), o.text(name))
	if value == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, value)
	if err != nil && o.err == nil {
		o.err = fmt.Errorf("decode property %s: %w", name, err)
	}
	return t.UTC()
}

// decodeEntry reads an entry from the properties of entryFields.
func decodeEntry(r *pb.SearchResult) (memory.Memory, error) {
	o := open(r)
	var m memory.Memory
	if err := json.Unmarshal([]byte(o.text(propEntry)), &m); err != nil {
		return memory.Memory{}, fmt.Errorf("decode property %s: %w", propEntry, err)
	}
	m.Status, m.ValidTo = memory.Status(o.text(propStatus)), o.time(propValidTo)
	if raw := r.GetMetadata().GetVectorBytes(); len(raw) > 0 {
		m.Vector = byteops.Float32FromByteVector(raw)
	}
	return m, o.err
}

func decodeTurn(r *pb.SearchResult) (memory.Turn, error) {
	o := open(r)
	t := memory.Turn{
		ID: o.text("turnId"), SessionID: o.text("sessionId"), Speaker: o.text("speaker"), Role: memory.Role(o.text("role")),
		Text: o.text("text"), Caption: o.text("caption"), Time: o.time("time"),
	}
	if raw := o.text("saliency"); raw != "" && o.err == nil {
		if err := json.Unmarshal([]byte(raw), &t.Saliency); err != nil {
			o.err = fmt.Errorf("decode saliency of turn %s: %w", t.ID, err)
		}
	}
	if raw := o.text(propAttributes); raw != "" && o.err == nil {
		if err := json.Unmarshal([]byte(raw), &t.Attributes); err != nil {
			o.err = fmt.Errorf("decode attributes of turn %s: %w", t.ID, err)
		}
	}
	return t, o.err
}

func decodeSession(r *pb.SearchResult) (memory.SessionRecord, error) {
	o := open(r)
	record := memory.SessionRecord{
		SessionID: o.text("sessionId"), FormedAt: o.time("formedAt"), Turns: o.int("turns"), Operations: o.int("operations"),
		Closed: o.flag("closed"),
	}
	return record, o.err
}

// decodeAll decodes all results or none.
func decodeAll[T any](results []*pb.SearchResult, decode func(*pb.SearchResult) (T, error)) ([]T, error) {
	out := make([]T, 0, len(results))
	for _, r := range results {
		v, err := decode(r)
		if err != nil {
			return nil, fmt.Errorf("object %s: %w", r.GetMetadata().GetId(), err)
		}
		out = append(out, v)
	}
	return out, nil
}
