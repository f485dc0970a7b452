package mem0

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

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
	silent := 0
	for i, m := range list {
		t, said, err := turnOf(m, fmt.Sprintf("messages[%d]", i))
		var refused notAccepted
		switch {
		case errors.As(err, &refused):
			what.left = append(what.left, leftOut{i, refused.Problem})
			continue
		case err != nil:
			return err
		case !said:
			silent++
			continue
		}
		t.ID, t.SessionID, t.Time, t.Attributes = turnID(what.id, len(what.turns)), what.session, at, what.attributes
		what.turns, what.places = append(what.turns, t), append(what.places, i)
	}
	if len(what.turns) == 0 && len(what.left) > 0 {
		return what.left[0].problem
	}
	if len(what.turns) == 0 {
		return problem.Invalid("messages", "has no message of a user or an assistant")
	}
	if silent > 0 {
		what.remarks = append(what.remarks, fmt.Sprintf("%d messages of the system or of tools are left out.", silent))
	}
	return nil
}

// leftOut is a message that is not accepted although others of its request are.
type leftOut struct {
	place   int
	problem problem.Problem
}

// shortened is a message with a text that the gateway shortened by some bytes.
type shortened struct {
	Message int `json:"message"`
	By      int `json:"shortened_by"`
}

// view is the client's view of a message that the API left out.
func (l leftOut) view() map[string]any {
	return map[string]any{"message": l.place, "field": l.problem.Field, "detail": l.problem.Detail, "code": l.problem.Code}
}

// notAccepted is the error of a message with values that the API does not accept. The API leaves such a message
// out. Other errors refuse the request.
type notAccepted struct{ problem.Problem }

// Unwrap returns the problem.
func (n notAccepted) Unwrap() error { return n.Problem }

// accepted turns an error about a value of a message into notAccepted.
func accepted(err error) error {
	if err == nil {
		return nil
	}
	return notAccepted{problem.From(err)}
}

// turnOf reads a message. said is false for a message without a speaker, such as a system message.
func turnOf(value any, at string) (t memory.Turn, said bool, err error) {
	if value == nil {
		return t, false, nil
	}
	object, ok := value.(map[string]any)
	if !ok {
		return t, false, wrongType(at, "", value, "an object")
	}
	in := fields(object)
	role, err := in.text("role")
	if err != nil {
		return t, false, placed(at, "", err)
	}
	switch role {
	case "user", "assistant":
	case "system", "developer", "tool", "function":
		return t, false, nil
	default:
		return t, false, accepted(problem.Invalid(at+".role", "is invalid, want user, assistant, system or tool"))
	}
	t.Role = memory.Role(role)
	if t.Text, err = contentOf(in["content"], at+".content"); err != nil {
		return t, false, err
	}
	if t.Text == "" && in.has("tool_calls") {
		return t, false, nil
	}
	if err := memory.ValidText(at+".content", t.Text, memory.MaxTurnBytes); err != nil {
		return t, false, accepted(err)
	}
	if t.Speaker, err = in.text("name"); err != nil {
		return t, false, placed(at, "", err)
	}
	if t.Speaker == "" {
		t.Speaker = role
	}
	return t, true, accepted(memory.ValidNewID(at+".name", t.Speaker, memory.MaxIDBytes))
}

// contentOf is the text of a message: as it is, or in parts.
func contentOf(value any, at string) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case map[string]any:
		return partOf(v, at)
	case []any:
		var texts []string
		for i, part := range v {
			object, ok := part.(map[string]any)
			if !ok {
				return "", wrongType(fmt.Sprintf("%s[%d]", at, i), "", part, "an object")
			}
			text, err := partOf(object, fmt.Sprintf("%s[%d]", at, i))
			if err != nil {
				return "", err
			}
			texts = append(texts, text)
		}
		return strings.Join(texts, "\n"), nil
	}
	return "", wrongType(at, "", value, "text")
}

// partOf is a part of a message, which has to be text.
func partOf(in fields, at string) (string, error) {
	kind, err := in.text("type")
	if err != nil {
		return "", placed(at, "", err)
	}
	if kind != "text" {
		return "", accepted(problem.Problem{
			Status: http.StatusNotImplemented, Code: problem.CodeUnsupported, Field: at + ".type",
			Detail: "is not text: describe pictures and documents in words",
		})
	}
	text, err := in.text("text")
	if err != nil {
		return "", placed(at, "", err)
	}
	return text, nil
}
