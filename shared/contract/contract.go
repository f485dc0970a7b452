// Package contract decodes, checks and encodes the events of proto/mneme/v1, and converts them from and to the
// domain. It is the only place that turns a record of the bus into trusted data. A decoded event satisfies the
// limits in the contracts.
package contract

import (
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// SchemaVersion is the version of the contracts this build reads and writes.
const SchemaVersion = 1

// Topics of the bus, and their writers.
const (
	TopicSessionEvents = "mneme.session-events" // assistants
	TopicSalientTurns  = "mneme.salient-turns"  // saliency-filter
	TopicMemoryChanges = "mneme.memory-changes" // booster
	TopicFeedback      = "mneme.feedback"       // utilizer
	TopicDeadLetters   = "mneme.dead-letters"   // every consumer
)

// GroupReplay is the consumer group of every worker on the dead letters. Its offset separates replayed letters from
// waiting ones. Its members do not work on the same partition at a time.
const GroupReplay = "mneme-replay"

// Envelope has the fields of every event.
type Envelope struct {
	// EventID is unique within the tenant and stable over resends.
	EventID string
	// Scope is the tenant and the user of the event.
	Scope memory.Scope
	// SessionID is the conversation. It is empty in events without one.
	SessionID string
}

// Key is the record key of the event.
func (e Envelope) Key() []byte { return []byte(e.Scope.Key()) }

// unmarshal decodes a record and turns the codec's error into one that names the field.
func unmarshal(value []byte, into proto.Message, what string) error {
	if len(value) == 0 {
		return fault.Terminal("", "is empty, want a %s", what)
	}
	if err := proto.Unmarshal(value, into); err == nil {
		return nil
	}
	if field := invalidText(into.ProtoReflect().Descriptor(), value, ""); field != "" {
		return fault.Terminal(field, "is not valid UTF-8")
	}
	return fault.Terminal("", "is not a %s in protobuf encoding", what)
}

// invalidText returns the path of the first text field of an encoded message that is not UTF-8, or "". The codec's
// error does not name the field.
func invalidText(d protoreflect.MessageDescriptor, raw []byte, prefix string) string {
	for len(raw) > 0 {
		num, typ, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return ""
		}
		raw = raw[n:]
		size := protowire.ConsumeFieldValue(num, typ, raw)
		if size < 0 {
			return ""
		}
		field := d.Fields().ByNumber(num)
		if field != nil && typ == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(raw)
			path := prefix + string(field.Name())
			switch {
			case field.Kind() == protoreflect.StringKind && !utf8.Valid(value):
				return path
			case field.Kind() == protoreflect.MessageKind:
				if inner := invalidText(field.Message(), value, path+"."); inner != "" {
					return inner
				}
			}
		}
		raw = raw[size:]
	}
	return ""
}

func checkVersion(v uint32) error {
	if v != SchemaVersion {
		return fault.Terminal("schema_version", "is %d, want %d", v, SchemaVersion)
	}
	return nil
}

// checkEnvelope checks the identifiers, and the key of the record. The key keeps the events of a user in order.
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

// checkNewIDs checks the ids of a user and a session that may be new.
func checkNewIDs(e Envelope) error {
	if err := memory.ValidNewUser(e.Scope.User); err != nil {
		return err
	}
	return memory.ValidNewID("session_id", e.SessionID, memory.MaxIDBytes)
}

// checkSession checks the id of the session. An erasure has no session.
func checkSession(id string, erased *mnemev1.UserErased) error {
	if erased != nil {
		if id != "" {
			return fault.Terminal("session_id", "is set, want none in an event about the whole user")
		}
		return nil
	}
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

// Field numbers of tenant_id and user_id, the same in every event.
const (
	fieldTenant protowire.Number = 3
	fieldUser   protowire.Number = 4
)

// OwnerOf returns the owner that an encoded event names. It also reads records that another check refuses, as far
// as possible. The zero scope means no owner.
func OwnerOf(value []byte) memory.Scope {
	var s memory.Scope
	for len(value) > 0 {
		num, typ, n := protowire.ConsumeTag(value)
		if n < 0 {
			return s
		}
		value = value[n:]
		size := protowire.ConsumeFieldValue(num, typ, value)
		if size < 0 {
			return s
		}
		if typ == protowire.BytesType {
			content, _ := protowire.ConsumeBytes(value)
			switch num {
			case fieldTenant:
				s.Tenant = string(content)
			case fieldUser:
				s.User = string(content)
			}
		}
		value = value[size:]
	}
	return s
}
