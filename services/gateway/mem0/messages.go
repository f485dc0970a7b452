package mem0

import (
	"cmp"
	"fmt"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/chat"
	"github.com/mneme-memory/mneme/services/gateway/ingest"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/memory"
)

// messages reads the messages of an addition.
func (what *addition) messages(in fields, at time.Time) error {
	list, err := in.list("messages")
	if s, ok := in["messages"].(string); ok {
		list, err = []any{map[string]any{"role": "user", "content": s}}, nil
	}
	if err != nil {
		return err
	}
	if len(list) == 0 || len(list) > ingest.MaxTurns {
		return problem.Invalid("messages", fmt.Sprintf("has %d messages, want 1 to %d", len(list), ingest.MaxTurns))
	}
	for i, m := range list {
		t, err := turnOf(m, fmt.Sprintf("messages[%d]", i))
		if err != nil {
			what.left = append(what.left, leftOut{i, problem.From(err)})
			continue
		}
		if reason := chat.NotRemembered(t.Role); reason != "" {
			what.silent = append(what.silent, chat.Unremembered{Message: i, Reason: reason})
			continue
		}
		t.ID, t.SessionID, t.Time, t.Attributes = turnID(what.id, len(what.turns)), what.session, at, what.attributes
		what.turns, what.places = append(what.turns, t), append(what.places, i)
	}
	if len(what.turns) == 0 && len(what.left) > 0 {
		return what.left[0].problem
	}
	return nil
}

// leftOut is a message that is not accepted although others of its request are.
type leftOut struct {
	place   int
	problem problem.Problem
}

// view is the client's view of a message that the API left out.
func (l leftOut) view() map[string]any {
	return map[string]any{"message": l.place, "field": l.problem.Field, "detail": l.problem.Detail, "code": l.problem.Code}
}

// turnOf reads a message. Null counts as an instruction without words.
func turnOf(value any, at string) (t memory.Turn, err error) {
	if value == nil {
		return memory.Turn{Role: "system"}, nil
	}
	object, ok := value.(map[string]any)
	if !ok {
		return t, wrongType(at, "", value, "an object")
	}
	in := fields(object)
	role, err := in.text("role")
	if err != nil {
		return t, placed(at, "", err)
	}
	content := in["content"]
	if part, ok := content.(map[string]any); ok { // mem0 documents a picture so, outside a list
		content = []any{part}
	}
	read, err := chat.Read(chat.Message{
		Role: memory.Role(role), Content: content, Refusal: in["refusal"], ToolCalls: in["tool_calls"],
		FunctionCall: in["function_call"],
	}, at)
	if err != nil {
		return t, err
	}
	t.Role, t.Text, t.Caption = read.Role, read.Text, read.Caption
	switch {
	case chat.NotRemembered(t.Role) != "":
		return t, nil
	case t.Role != memory.RoleUser && t.Role != memory.RoleAssistant:
		return t, problem.Invalid(at+".role", "is invalid, want user, assistant, system, developer, tool or function")
	}
	if err := memory.ValidText(at+".content", t.Text, memory.MaxTurnBytes); err != nil {
		return t, err
	}
	if t.Caption != "" {
		if err := memory.ValidText(at+".content", t.Caption, memory.MaxCaptionBytes); err != nil {
			return t, err
		}
	}
	name, err := in.text("name")
	if err != nil {
		return t, placed(at, "", err)
	}
	t.Speaker = cmp.Or(name, role)
	return t, memory.ValidNewID(at+".name", t.Speaker, memory.MaxIDBytes)
}
