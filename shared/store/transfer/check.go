package transfer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// maxContentBytes limits an entry's content: at most it is the text of a turn, its caption, and the speaker.
const maxContentBytes = memory.MaxTextBytes + 2*memory.MaxCaptionBytes

// check refuses records that no bank would export. The errors are terminal and name the field.
func (r Record) check(now time.Time) error {
	switch {
	case r.Memory != nil:
		return checkMemory(*r.Memory, now)
	case r.Turn != nil:
		return checkTurn(*r.Turn, now)
	case r.Session != nil:
		return checkSession(*r.Session, now)
	default:
		return checkCore(*r.Core, now)
	}
}

// field is a text of a record with its limit in bytes. It may be empty only if it is optional.
type field struct {
	name, value string
	limit       int
	optional    bool
}

func checkTexts(fields ...field) error {
	for _, f := range fields {
		if f.optional && f.value == "" {
			continue
		}
		if err := memory.ValidText(f.name, f.value, f.limit); err != nil {
			return err
		}
	}
	return nil
}

// checkEach applies a check to every value of a list. The check names the field.
func checkEach(name string, values []string, check func(name, value string) error) error {
	for i, v := range values {
		if err := check(fmt.Sprintf("%s[%d]", name, i), v); err != nil {
			return err
		}
	}
	return nil
}

func validTurnID(name, id string) error { return memory.ValidText(name, id, memory.MaxIDBytes) }

func checkMemory(m memory.Memory, now time.Time) error {
	switch {
	case !slices.Contains(memory.Kinds(), m.Kind):
		return fault.Terminal("memory.kind", "is %q, want one of %q", m.Kind, memory.Kinds())
	case m.Version < 1:
		return fault.Terminal("memory.version", "is %d, want at least 1", m.Version)
	case len(m.Sources) == 0:
		return fault.Terminal("memory.sources", "are missing, want the id of at least one turn")
	}
	if err := memory.ValidID("memory.id", m.ID); err != nil {
		return err
	}
	if err := checkTexts(
		field{"memory.content", m.Content, maxContentBytes, false},
		field{"memory.speaker", m.Speaker, memory.MaxIDBytes, true},
		field{"memory.value", m.Value, memory.MaxValueBytes, true},
		field{"memory.topic", m.Topic, memory.MaxTextBytes, true},
		field{"memory.slot", m.Slot, memory.MaxTextBytes, true},
		field{"memory.event_time.expression", m.EventTime.Expression, memory.MaxTextBytes, true},
		field{"memory.quarantine", m.Quarantine, memory.MaxIDBytes, true},
		field{"memory.session_id", m.SessionID, memory.MaxIDBytes, false},
		field{"memory.strategy", m.Strategy, memory.MaxIDBytes, true},
		field{"memory.policy_version", m.PolicyVersion, memory.MaxIDBytes, true},
		field{"memory.operation_id", m.OperationID, memory.MaxIDBytes, true},
		field{"memory.trace_id", m.TraceID, memory.MaxIDBytes, true},
		field{"memory.span_id", m.SpanID, memory.MaxIDBytes, true},
	); err != nil {
		return err
	}
	keyword := func(name, word string) error { return memory.ValidText(name, word, memory.MaxTextBytes) }
	for _, list := range []struct {
		name   string
		values []string
		check  func(name, value string) error
	}{
		{"memory.sources", m.Sources, validTurnID}, {"memory.predecessors", m.Predecessors, memory.ValidID},
		{"memory.links", m.Links, memory.ValidID}, {"memory.keywords", m.Keywords, keyword},
	} {
		if err := checkEach(list.name, list.values, list.check); err != nil {
			return err
		}
	}
	if err := checkTimes(m, now); err != nil {
		return err
	}
	return underMemory(bank.CheckWrite(memory.Write{Put: []memory.Memory{m}}, len(m.Vector)))
}

// checkTimes does not limit the times at which a fact began or ceased to hold. They may be long before 1970, or in
// the future.
func checkTimes(m memory.Memory, now time.Time) error {
	if err := memory.ValidTime("memory.recorded_at", m.RecordedAt, now); err != nil {
		return err
	}
	if err := memory.ValidTime("memory.valid_from", m.ValidFrom, now); err != nil {
		return err
	}
	known := []memory.Precision{memory.PrecisionDay, memory.PrecisionMonth, memory.PrecisionYear}
	switch e := m.EventTime; {
	case m.Status == memory.StatusActive && !m.ValidTo.IsZero():
		return fault.Terminal("memory.valid_to", "is set, want none while the memory is active")
	case e.Time.IsZero() && (e.Precision != "" || !e.End.IsZero()):
		return fault.Terminal("memory.event_time.time", "is not set, but its precision or its end is")
	case !e.Time.IsZero() && !slices.Contains(known, e.Precision):
		return fault.Terminal("memory.event_time.precision", "is %q, want one of %q", e.Precision, known)
	}
	return nil
}

// underMemory converts a field name of a write ("write.put.vector") to the field of the entry.
func underMemory(err error) error {
	if err == nil {
		return nil
	}
	name := fault.Field(err)
	return fault.Terminal("memory."+name[strings.LastIndexByte(name, '.')+1:], "%w", cause(err))
}

func checkTurn(t memory.Turn, now time.Time) error {
	if err := checkTexts(
		field{"turn.id", t.ID, memory.MaxIDBytes, false}, field{"turn.session_id", t.SessionID, memory.MaxIDBytes, false},
		field{"turn.speaker", t.Speaker, memory.MaxIDBytes, false}, field{"turn.text", t.Text, memory.MaxTextBytes, false},
		field{"turn.caption", t.Caption, memory.MaxCaptionBytes, true},
		field{"turn.saliency.policy_version", t.Saliency.PolicyVersion, memory.MaxIDBytes, true},
	); err != nil {
		return err
	}
	switch mode := t.Saliency.Mode; {
	case t.Role != memory.RoleUser && t.Role != memory.RoleAssistant:
		return fault.Terminal("turn.role", "is %q, want user or assistant", t.Role)
	case mode != "" && !slices.Contains(memory.SaliencyModes(), mode):
		return fault.Terminal("turn.saliency.mode", "is %q, want one of %q", mode, memory.SaliencyModes())
	}
	if err := t.Attributes.Validate("turn."); err != nil {
		return err
	}
	return memory.ValidTime("turn.time", t.Time, now)
}

func checkSession(s memory.SessionRecord, now time.Time) error {
	switch {
	case s.Turns < 0:
		return fault.Terminal("session.turns", "is %d, want at least 0", s.Turns)
	case s.Operations < 0:
		return fault.Terminal("session.operations", "is %d, want at least 0", s.Operations)
	}
	if err := memory.ValidText("session.session_id", s.SessionID, memory.MaxIDBytes); err != nil {
		return err
	}
	return memory.ValidTime("session.formed_at", s.FormedAt, now)
}

func checkCore(c memory.Core, now time.Time) error {
	if !c.Valid() {
		return fault.Terminal("core", "has version %d and %d characters, want at least 1 and at most %d, and lines with "+
			"their evidence",
			c.Version, c.Length(), memory.CoreCapacity)
	}
	if err := checkTexts(
		field{"core.content", c.Content, 4 * memory.CoreCapacity, true},
		field{"core.session_id", c.SessionID, memory.MaxIDBytes, true},
		field{"core.operation_id", c.OperationID, memory.MaxIDBytes, true},
		field{"core.policy_version", c.PolicyVersion, memory.MaxIDBytes, true},
	); err != nil {
		return err
	}
	if err := checkEach("core.sources", c.Sources, validTurnID); err != nil {
		return err
	}
	for i, l := range c.Lines {
		if err := checkEach(fmt.Sprintf("core.lines[%d].memories", i), l.Memories, memory.ValidID); err != nil {
			return err
		}
	}
	if c.UpdatedAt.IsZero() {
		return nil
	}
	return memory.ValidTime("core.updated_at", c.UpdatedAt, now)
}
