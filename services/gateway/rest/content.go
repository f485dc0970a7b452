package rest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mneme-memory/mneme/services/gateway/chat"
	"github.com/mneme-memory/mneme/services/gateway/ingest"
	"github.com/mneme-memory/mneme/shared/memory"
)

// anything is a value of any type. Null and a missing value are nil.
type anything struct{ value any }

// UnmarshalJSON implements json.Unmarshaler.
func (a *anything) UnmarshalJSON(body []byte) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber() // a number may be out of range
	return d.Decode(&a.value)
}

type (
	// content is the content of a message in the form of chat completions.
	content struct{ anything }
	// refusal is the refusal of a message in the form of chat completions.
	refusal struct{ anything }
	// unread is a field of chat completions that Mneme accepts and does not store.
	unread struct{ anything }
)

// isAnything reports whether a schema allows a value of any type.
func isAnything(s *huma.Schema) bool { return s.Extensions[anyType] == true }

// anyType is the extension of the schema of a value of any type. The operation checks the value.
const anyType = "x-any-type"

// Schema implements huma.SchemaProvider.
func (content) Schema(huma.Registry) *huma.Schema {
	part := &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: true, Required: []string{"type"},
		Properties: map[string]*huma.Schema{"type": {Type: huma.TypeString}, "text": {Type: huma.TypeString}},
	}
	return &huma.Schema{
		AnyOf: []*huma.Schema{
			{Type: huma.TypeString}, {Type: huma.TypeArray, Items: part},
			{Description: "Any other value, for a role that Mneme does not remember"},
		},
		Extensions: map[string]any{anyType: true},
		Description: "In the place of text: the content as chat completions have it. It may be null. A line break joins " +
			"the texts of parts with the types text, input_text, output_text and refusal. The text of an image part becomes " +
			"the caption, if the part has one. Mneme cuts that caption to " +
			strconv.Itoa(memory.MaxCaptionBytes) + " bytes, and ignores all other parts.",
	}
}

// Schema implements huma.SchemaProvider.
func (refusal) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Extensions:  map[string]any{anyType: true},
		Description: "A text or null. It is the text of an assistant's message without another text.",
	}
}

// Schema implements huma.SchemaProvider.
func (unread) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Extensions: map[string]any{anyType: true},
		Description: "A field of chat completions. Mneme does not store it."}
}

// turnOf returns the turn at a place of a request, with defaults for its empty fields.
func (a *API) turnOf(t NewTurn, at, id string) ingest.Turn {
	out := ingest.Turn{Turn: memory.Turn{
		ID: cmp.Or(string(t.ID), id), Role: memory.Role(t.Role), Speaker: cmp.Or(string(t.Speaker), string(t.Name), t.Role),
		Caption: string(t.Caption), Time: a.timeOr(t.Time),
	}}
	if out.Wrong = t.say(&out.Turn, at); out.Wrong != nil {
		return out
	}
	out.Attributes, out.Wrong = t.read(at + ".")
	return out
}

// say sets the statement of a turn.
func (t NewTurn) say(out *memory.Turn, at string) error {
	switch {
	case t.Text != nil && t.Content.value != nil:
		return invalid(inBody, at+".content", "is set together with text, want one of them")
	case t.Text != nil:
		if out.Text = string(*t.Text); strings.TrimSpace(out.Text) == "" && len(out.Caption) <= memory.MaxCaptionBytes {
			out.Text, out.Caption = out.Caption, ""
		}
		return nil
	}
	read, err := chat.Read(chat.Message{
		Role: out.Role, Content: t.Content.value, Refusal: t.Refusal.value, ToolCalls: t.Calls.value,
		FunctionCall: t.Call.value,
	}, at)
	out.Role, out.Text, out.Caption = read.Role, read.Text, cmp.Or(out.Caption, read.Caption)
	return err
}
