package weaviate

import (
	"time"

	"github.com/mneme-memory/mneme/shared/bank"
	"github.com/mneme-memory/mneme/shared/memory"
)

// properties are an object's, as Weaviate takes them in JSON. What is empty is left out.
type properties map[string]any

// owned begins the properties of anything that belongs to a user.
func owned(scope memory.Scope) properties {
	return properties{propUser: userKey(scope.User), propUserID: scope.User}
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

func entryProperties(scope memory.Scope, m memory.Memory) properties {
	p := owned(scope)
	p.text(propEntryID, m.ID)
	p.text("kind", string(m.Kind))
	p.text(propContent, m.Content)
	p.text(propTerms, bank.IndexText(m))
	p.text("topic", m.Topic)
	p.list("keywords", m.Keywords)
	p.text("slot", m.Slot)
	p.time("eventTime", m.EventTime.Time)
	p.text("eventPrecision", string(m.EventTime.Precision))
	p.text("eventExpression", m.EventTime.Expression)
	p.time(propRecordedAt, m.RecordedAt)
	p.time("validFrom", m.ValidFrom)
	p.time("validTo", m.ValidTo)
	p.text(propStatus, string(m.Status))
	p["version"] = m.Version
	p.list(propPredecessors, m.Predecessors)
	p.list("sources", m.Sources)
	p.text("sessionId", m.SessionID)
	p.text("strategy", m.Strategy)
	p.text("policyVersion", m.PolicyVersion)
	p.text("operationId", m.OperationID)
	p.text("traceId", m.TraceID)
	p.text("spanId", m.SpanID)
	return p
}

func closingProperties(c memory.Closing) properties {
	p := properties{}
	p.text(propStatus, string(c.Status))
	p.time("validTo", c.ValidTo)
	p.text("closedBy", c.OperationID)
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
	return p
}

func sessionProperties(scope memory.Scope, r memory.SessionRecord) properties {
	p := owned(scope)
	p.text("sessionId", r.SessionID)
	p.time("formedAt", r.FormedAt)
	p["turns"], p["operations"], p["closed"] = r.Turns, r.Operations, r.Closed
	return p
}
