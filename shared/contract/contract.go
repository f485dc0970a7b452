// Package contract decodes, checks and encodes the events of proto/mneme/v1, and converts
// them from and to the domain. It is the one place where a record of the bus becomes
// trusted: whatever passes here satisfies the limits that the contracts state.
package contract

import (
	"regexp"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// SchemaVersion is the version of the contracts this build reads and writes.
const SchemaVersion = 1

// Topics of the bus, and who writes them.
const (
	TopicSessionEvents = "mneme.session-events" // assistants
	TopicSalientTurns  = "mneme.salient-turns"  // saliency-filter
	TopicMemoryChanges = "mneme.memory-changes" // booster
	TopicFeedback      = "mneme.feedback"       // utilizer
	TopicDeadLetters   = "mneme.dead-letters"   // every consumer
)

// Envelope is what every event carries.
type Envelope struct {
	// EventID is unique within the tenant and stable over resends.
	EventID string
	// Scope is whose event it is.
	Scope memory.Scope
	// SessionID is the conversation; empty in events that have none.
	SessionID string
}

// Key is the record key of the event.
func (e Envelope) Key() []byte { return []byte(e.Scope.Key()) }

// unmarshal decodes a record and turns the codec's complaint into one that names the field.
func unmarshal(value []byte, into proto.Message, what string) error {
	if len(value) == 0 {
		return fault.Terminal("", "is empty, want a %s", what)
	}
	err := proto.Unmarshal(value, into)
	if err == nil {
		return nil
	}
	if m := invalidUTF8.FindStringSubmatch(err.Error()); m != nil {
		return fault.Terminal(fieldPath(m[1]), "is not valid UTF-8")
	}
	return fault.Terminal("", "is not a %s in protobuf encoding", what)
}

var invalidUTF8 = regexp.MustCompile(`field mneme\.v1\.([A-Za-z_.]+) contains invalid UTF-8`)

// fieldPath turns "Turn.text" into "turn.text" and "SessionEvent.user_id" into "user_id".
func fieldPath(name string) string {
	message, field, ok := strings.Cut(name, ".")
	if !ok {
		return name
	}
	switch message {
	case "Turn":
		return "turn." + field
	default:
		return field
	}
}

func checkVersion(v uint32) error {
	if v != SchemaVersion {
		return fault.Terminal("schema_version", "is %d, want %d", v, SchemaVersion)
	}
	return nil
}

// checkEnvelope checks the identifiers, and that the record's key is the one that keeps the
// user's events in order.
func checkEnvelope(e Envelope, key []byte) error {
	if err := memory.ValidText("event_id", e.EventID, memory.MaxIDBytes); err != nil {
		return err
	}
	if err := memory.ValidTenant(e.Scope.Tenant); err != nil {
		return err
	}
	if err := memory.ValidUser(e.Scope.User); err != nil {
		return err
	}
	if string(key) != e.Scope.Key() {
		return fault.Terminal("key", "is not tenant_id/user_id of the event, so its order cannot be kept")
	}
	return nil
}

func checkSession(id string) error {
	return memory.ValidText("session_id", id, memory.MaxIDBytes)
}

// timeOf checks a required timestamp.
func timeOf(field string, ts *timestamppb.Timestamp, now time.Time) (time.Time, error) {
	if ts == nil {
		return time.Time{}, fault.Terminal(field, "is missing, want a time")
	}
	if err := ts.CheckValid(); err != nil {
		return time.Time{}, fault.Terminal(field, "is not a valid time: %v", err)
	}
	t := ts.AsTime()
	return t, memory.ValidTime(field, t, now)
}

func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
