// Package event is what is told outside of a change of memory, by streams and by webhooks alike: ids, and no texts.
package event

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

// typeOf is the type of what an operation announces; empty for one that announces nothing.
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

// Event is a change of memory as it is told outside.
type Event struct {
	Type  Type
	Scope memory.Scope
	// ID is equal for equal changes.
	ID string
	// Time is when the change was made, in UTC.
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

// Of decodes a record of contract.TopicMemoryChanges; ok is false for a change of which nothing is told. A terminal error says that it is
// none.
func Of(key, value []byte) (e Event, ok bool, err error) {
	c, err := contract.DecodeMemoryChange(key, value)
	if err != nil {
		return Event{}, false, err
	}
	e = Event{Type: typeOf(c.Operation), Scope: c.Scope, ID: c.EventID, Time: c.Time.UTC()}
	if e.Type == "" {
		return Event{}, false, nil
	}
	if c.ClosedIDs == nil {
		c.ClosedIDs = []string{}
	}
	e.Data, err = json.Marshal(data{
		ID: c.EventID, Operation: strings.ToLower(string(c.Operation)), MemoryID: c.MemoryID, ClosedIDs: c.ClosedIDs, UserID: c.Scope.User,
		Time: e.Time,
	})
	if err != nil { // a year beyond 9999
		return Event{}, false, fault.Terminal("time", "cannot be told: %w", err)
	}
	return e, true, nil
}
