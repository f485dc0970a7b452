// Package changeevent describes changes of memory for readers outside, in streams and in webhooks. An event has ids and
// no texts.
package changeevent

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Type is the kind of an event.
type Type string

// The types.
const (
	MemoryAdded    Type = "memory.added"
	MemoryUpdated  Type = "memory.updated"
	MemoryMerged   Type = "memory.merged"
	MemoryDeleted  Type = "memory.deleted"
	MemoryReleased Type = "memory.released"
	UserErased     Type = "user.erased"
	CoreChanged    Type = "core.changed"
)

// Types returns all types.
func Types() []Type {
	return []Type{MemoryAdded, MemoryUpdated, MemoryMerged, MemoryDeleted, MemoryReleased, UserErased, CoreChanged}
}

// typeOf returns the type of the event for an operation. It is empty for an operation without an event.
func typeOf(op memory.OpKind) Type {
	switch op {
	case memory.OpAdd:
		return MemoryAdded
	case memory.OpUpdate:
		return MemoryUpdated
	case memory.OpMerge:
		return MemoryMerged
	case memory.OpDelete:
		return MemoryDeleted
	case memory.OpRelease:
		return MemoryReleased
	case memory.OpErase:
		return UserErased
	case memory.OpAppend, memory.OpReplace, memory.OpRewrite:
		return CoreChanged
	}
	return ""
}

// Event is a change of memory in the form for readers outside.
type Event struct {
	Type  Type
	Scope memory.Scope
	// ID is equal for equal changes.
	ID string
	// Time is the time of the change, in UTC.
	Time time.Time
	// Data is JSON: id, operation, memory_id, closed_ids, user_id and time.
	Data json.RawMessage
}

// data is the form of Event.Data.
type data struct {
	ID        string    `json:"id"`
	Operation string    `json:"operation"`
	MemoryID  string    `json:"memory_id,omitempty"`
	ClosedIDs []string  `json:"closed_ids"`
	UserID    string    `json:"user_id"`
	Time      time.Time `json:"time"`
}

// Of decodes a record of contract.TopicMemoryChanges. The result ok is false for a change without an event,
// such as a change of talk alone. Of returns a terminal error for a record that is not a change.
func Of(key, value []byte) (e Event, ok bool, err error) {
	c, err := contract.DecodeMemoryChange(key, value)
	if err != nil {
		return Event{}, false, err
	}
	e = Event{Type: typeOf(c.Operation), Scope: c.Scope, ID: c.EventID, Time: c.Time.UTC()}
	if e.Type == "" || c.Tier == memory.TierTalk {
		return Event{}, false, nil
	}
	if c.ClosedIDs == nil {
		c.ClosedIDs = []string{}
	}
	e.Data, err = json.Marshal(data{
		ID: c.EventID, Operation: strings.ToLower(string(c.Operation)), MemoryID: c.MemoryID,
		ClosedIDs: c.ClosedIDs, UserID: c.Scope.User, Time: e.Time,
	})
	if err != nil { // a year beyond 9999
		return Event{}, false, fault.Terminal("time", "cannot be encoded: %w", err)
	}
	return e, true, nil
}
