// Package chat reads the contents of messages in the form of chat completions.
package chat

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mneme-memory/mneme/services/gateway/problem"
)

// Content is the content of a message.
type Content struct {
	// Text has the text parts, joined by line breaks.
	Text string
	// Caption has the texts of the images, joined by line breaks.
	Caption string
}

// texts maps the types of parts with a text to its field.
var texts = map[string]string{"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}

// images are the types of image parts. Such a part may have a text that describes the image.
var images = map[string]bool{"image_url": true, "input_image": true, "image": true}

// Read reads a content, as JSON decodes it: null, a text, a part, or a list of parts. It ignores parts without a text,
// such as images, files and calls of tools. Without other text, the text of the images is the text of the message.
// Its errors are problems with a field below at.
func Read(value any, at string) (Content, error) {
	var out Content
	parts, isList := value.([]any)
	switch v := value.(type) {
	case nil:
		return out, nil
	case string:
		return Content{Text: v}, nil
	case map[string]any:
		parts = []any{v}
	case []any:
	default:
		return out, problem.Invalid(at, "is "+kindOf(value)+", want text or a list of parts")
	}
	var said, shown []string
	for i, part := range parts {
		place := at
		if isList {
			place = fmt.Sprintf("%s[%d]", at, i)
		}
		object, ok := part.(map[string]any)
		if !ok {
			return out, problem.Invalid(place, "is "+kindOf(part)+", want an object")
		}
		text, isImage, err := partOf(object, place)
		switch {
		case err != nil:
			return out, err
		case text == "":
		case isImage:
			shown = append(shown, text)
		default:
			said = append(said, text)
		}
	}
	out.Text, out.Caption = strings.Join(said, "\n"), strings.Join(shown, "\n")
	if out.Text == "" {
		out.Text, out.Caption = out.Caption, ""
	}
	return out, nil
}

// partOf returns the text of a part; it is empty for a part without one.
func partOf(part map[string]any, at string) (text string, isImage bool, err error) {
	kind, ok := part["type"].(string)
	if !ok {
		return "", false, problem.Invalid(at+".type", "is "+kindOf(part["type"])+", want text")
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
		return "", false, problem.Invalid(at+"."+field, "is "+kindOf(value)+", want text")
	}
	return text, isImage, nil
}

// kindOf names the type of a JSON value.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "text"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

// ReadJSON is Read for JSON. Without JSON the content is empty.
func ReadJSON(content json.RawMessage, at string) (Content, error) {
	if len(content) == 0 {
		return Content{}, nil
	}
	var value any
	if err := json.Unmarshal(content, &value); err != nil {
		return Content{}, problem.Malformed(at, "is not valid JSON")
	}
	return Read(value, at)
}

// CallsTools reports whether the tool calls of a message are a list of at least one call.
func CallsTools(calls json.RawMessage) bool {
	var list []json.RawMessage
	return json.Unmarshal(calls, &list) == nil && len(list) > 0
}
