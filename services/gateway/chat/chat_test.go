package chat_test

import (
	"encoding/json"
	"testing"

	"github.com/mneme-memory/mneme/services/gateway/chat"
	"github.com/mneme-memory/mneme/services/gateway/problem"
)

func TestRead(t *testing.T) {
	const image = `{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}`
	for content, want := range map[string]chat.Content{
		``: {}, `null`: {}, `"I swim."`: {Text: "I swim."}, `[]`: {},
		`{"type":"text","text":"I swim."}`: {Text: "I swim."},
		`[{"type":"text","text":"I swim."},` + image + `,{"type":"input_text","text":"Daily."}]`:           {Text: "I swim.\nDaily."},
		`[{"type":"text","text":"See."},{"type":"image_url","image_url":{"url":"data:x"},"text":"a dog"}]`: {Text: "See.", Caption: "a dog"},
		`[{"type":"input_image","text":"a dog"}]`:                                                          {Text: "a dog"},
		`[` + image + `]`: {},
		`[{"type":"tool_use","id":"1","input":{}},{"type":"file","file":{}},{"type":"refusal","refusal":"I cannot do that"}]`: {Text: "I cannot do that"},
	} {
		if got, err := chat.ReadJSON(json.RawMessage(content), "content"); err != nil || got != want {
			t.Errorf("%s is %+v, %v", content, got, err)
		}
	}
	for content, field := range map[string]string{
		`7`: "content", `["a"]`: "content[0]", `[{"text":"a"}]`: "content[0].type", `[{"type":"text"}]`: "content[0].text",
		`{"type":"text","text":7}`: "content.text", `[{"type":"image_url","text":[]}]`: "content[0].text",
	} {
		if _, err := chat.ReadJSON(json.RawMessage(content), "content"); err == nil || problem.From(err).Field != field {
			t.Errorf("%s: %v, want the field %s", content, err, field)
		}
	}
}

func TestCallsTools(t *testing.T) {
	for calls, want := range map[string]bool{``: false, `null`: false, `[]`: false, `[{"id":"1"}]`: true, `{}`: false} {
		if chat.CallsTools(json.RawMessage(calls)) != want {
			t.Errorf("%s: want %t", calls, want)
		}
	}
}
