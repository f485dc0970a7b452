// Package chat reads messages in the form of chat completions.
package chat

import (
	"fmt"
	"strings"

	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Message is a message of chat completions. Its values are as JSON decodes them. A missing value is nil.
type Message struct {
	Role memory.Role
	// Content is a text, or a list of parts.
	Content any
	// Refusal is a text. The other fields are calls of tools.
	Refusal, ToolCalls, FunctionCall any
}

// Statement is the statement of a message.
type Statement struct {
	// Role is the role of the message. It is memory.RoleTool for an assistant's call of a tool without a text.
	Role memory.Role
	// Text has the text parts, joined by line breaks.
	Text string
	// Caption has the texts of the images, joined by line breaks and cut to memory.MaxCaptionBytes.
	Caption string
}

// Unremembered is the view of a valid message that Mneme does not remember.
type Unremembered struct {
	Message int    `json:"message" jsonschema:"the place of the message, from 0"`
	Reason  string `json:"reason"`
}

// Shortened is the view of a message with a shortened text.
type Shortened struct {
	Message int `json:"message" jsonschema:"the place of the message, from 0"`
	By      int `json:"shortened_by" jsonschema:"the number of bytes left out between the two parts"`
}

// notRemembered maps the roles without statements of a user or an assistant to the reason.
var notRemembered = map[memory.Role]string{
	"system":        "instructions for the assistant are not remembered",
	"developer":     "instructions for the assistant are not remembered",
	memory.RoleTool: "calls and results of tools are not remembered",
	"function":      "calls and results of tools are not remembered",
}

// NotRemembered returns the reason why Mneme remembers no message of a valid role. It is empty for other roles.
func NotRemembered(r memory.Role) string { return notRemembered[r] }

// Read returns the statement of a message. It ignores parts without a text, such as images, files and calls of tools.
// Without other text, the text of the images is the text of the message. Without any text, the refusal is the text of
// an assistant's message. A message of a role that Mneme does not remember has no text, whatever its content is. Read
// does not check the length of a text. Its errors are problems with a field below at.
func Read(m Message, at string) (Statement, error) {
	out := Statement{Role: m.Role}
	if NotRemembered(m.Role) != "" {
		return out, nil
	}
	err := out.readContent(m.Content, at+".content")
	if err != nil || out.Text != "" || m.Role != memory.RoleAssistant {
		return out, err
	}
	if m.Refusal != nil {
		refusal, ok := m.Refusal.(string)
		if !ok {
			return out, problem.Invalid(at+".refusal", "is "+memory.JSONType(m.Refusal)+", want text")
		}
		if !isBlank(refusal) {
			out.Text = refusal
			return out, nil
		}
	}
	if m.callsTools() {
		out.Role = memory.RoleTool
	}
	return out, nil
}

// callsTools reports whether a message has a list of at least one call, or a call of a function.
func (m Message) callsTools() bool {
	calls, _ := m.ToolCalls.([]any)
	_, isCall := m.FunctionCall.(map[string]any)
	return len(calls) > 0 || isCall
}

// isBlank reports whether a text has no characters other than white space.
func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// texts maps the types of parts with a text to its field.
var texts = map[string]string{"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}

// images are the types of image parts. Such a part may have a text that describes the image.
var images = map[string]bool{"image_url": true, "input_image": true, "image": true}

// readContent reads a content: null, a text, or a list of parts. It leaves out blank texts. As in chat completions, a
// part outside a list is no content.
func (s *Statement) readContent(value any, at string) error {
	parts, _ := value.([]any)
	switch v := value.(type) {
	case nil:
		return nil
	case string:
		parts = []any{map[string]any{"type": "text", "text": v}}
	case []any:
	default:
		return problem.Invalid(at, "is "+memory.JSONType(value)+", want text or a list of parts")
	}
	var said, shown []string
	for i, part := range parts {
		place := fmt.Sprintf("%s[%d]", at, i)
		object, ok := part.(map[string]any)
		if !ok {
			return problem.Invalid(place, "is "+memory.JSONType(part)+", want an object")
		}
		text, isImage, err := partOf(object, place)
		switch {
		case err != nil:
			return err
		case isBlank(text):
		case isImage:
			shown = append(shown, strings.TrimSpace(text))
		default:
			said = append(said, text)
		}
	}
	s.Text, s.Caption = strings.Join(said, "\n"), strings.Join(shown, "\n")
	if s.Text == "" {
		s.Text, s.Caption = s.Caption, ""
	}
	s.Caption = strings.ToValidUTF8(s.Caption[:min(len(s.Caption), memory.MaxCaptionBytes)], "")
	return nil
}

// partOf returns the text of a part; it is empty for a part without one.
func partOf(part map[string]any, at string) (text string, isImage bool, err error) {
	kind, ok := part["type"].(string)
	if !ok {
		return "", false, problem.Invalid(at+".type", "is "+memory.JSONType(part["type"])+", want text")
	}
	field, isText := texts[kind]
	isImage = images[kind]
	if isImage {
		field = "text"
	}
	value := part[field]
	if !isText && !isImage || isImage && value == nil {
		return "", false, nil
	}
	if text, ok = value.(string); !ok {
		return "", false, problem.Invalid(at+"."+field, "is "+memory.JSONType(value)+", want text")
	}
	return text, isImage, nil
}
