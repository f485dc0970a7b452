package llmtest

import (
	"encoding/json"
	"strings"

	"github.com/mneme-memory/mneme/shared/model/llm"
)

// Call is a request as the endpoint saw it.
type Call struct {
	Role llm.Role `json:"-"`
	// Authorization is the header of that name.
	Authorization string `json:"-"`
	// Raw is the body.
	Raw []byte `json:"-"`

	Model               string   `json:"model"`
	Temperature         *float64 `json:"temperature"`
	Seed                *int64   `json:"seed"`
	MaxTokens           *int64   `json:"max_tokens"`
	MaxCompletionTokens *int64   `json:"max_completion_tokens"`
	Messages            []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	ResponseFormat struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Name   string          `json:"name"`
			Strict bool            `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`

	Input          []string `json:"input"`
	EncodingFormat string   `json:"encoding_format"`
	Dimensions     int      `json:"dimensions"`

	dimension int
}

// System is the system message.
func (c Call) System() string { return c.message("system") }

// User is the first user message.
func (c Call) User() string { return c.message("user") }

func (c Call) message(role string) string {
	for _, m := range c.Messages {
		if m.Role == role {
			return m.Content
		}
	}
	return ""
}

// IsRepair reports whether the call shows the model its previous answer.
func (c Call) IsRepair() bool { return len(c.Messages) > 2 }

// Data is the JSON inside the data block of the first user message, or empty.
func (c Call) Data() []byte {
	_, after, ok := strings.Cut(c.User(), llm.DataOpen)
	if !ok {
		return nil
	}
	inside, _, ok := strings.Cut(after, llm.DataClose)
	if !ok {
		return nil
	}
	return []byte(strings.TrimSpace(inside))
}
