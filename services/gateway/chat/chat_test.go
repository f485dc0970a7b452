package chat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/services/gateway/chat"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/memory"
)

// message decodes a message with the given fields.
func message(t *testing.T, fields string) (m chat.Message) {
	t.Helper()
	var given struct {
		Role                       memory.Role
		Content, Refusal, Function any
		Calls                      any `json:"tool_calls"`
	}
	if err := json.Unmarshal([]byte("{"+fields+"}"), &given); err != nil {
		t.Fatal(err)
	}
	return chat.Message{
		Role: given.Role, Content: given.Content, Refusal: given.Refusal, ToolCalls: given.Calls,
		FunctionCall: given.Function,
	}
}

func TestReadOfContents(t *testing.T) {
	const image = `{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}`
	const dog, see = `{"type":"image_url","text":"a dog"}`, `{"type":"text","text":"See."}`
	const call, refusal = `{"type":"tool_use","id":"1","input":{}}`, `{"type":"refusal","refusal":"I cannot do that"}`
	for content, want := range map[string]chat.Statement{
		`null`: {}, `"I swim."`: {Text: "I swim."}, `" I swim."`: {Text: " I swim."}, `[]`: {}, `" "`: {},
		`[` + see + `,` + image + `,{"type":"text","text":" "},{"type":"input_text","text":"Now."}]`: {Text: "See.\nNow."},
		`[` + see + `,` + dog + `]`:                                   {Text: "See.", Caption: "a dog"},
		`[{"type":"text","text":"See."},{"type":"image","text":" "}]`: {Text: "See."},
		`[{"type":"input_image","text":"a dog"}]`:                     {Text: "a dog"},
		`[` + image + `]`:                                             {},
		`[` + call + `,{"type":"file","file":{}},` + refusal + `]`:    {Text: "I cannot do that"},
	} {
		want.Role = memory.RoleUser
		if got, err := chat.Read(message(t, `"role":"user","content":`+content), "m"); err != nil || got != want {
			t.Errorf("%s is %+v, %v", content, got, err)
		}
	}
	for content, field := range map[string]string{
		`7`: "m.content", `["a"]`: "m.content[0]", `[{"text":"a"}]`: "m.content[0].type",
		`[{"type":"text"}]`:          "m.content[0].text",
		`{"type":"text","text":"a"}`: "m.content", `[{"type":"image_url","text":[]}]`: "m.content[0].text",
	} {
		if _, err := chat.Read(message(t, `"role":"user","content":`+content), "m"); err == nil ||
			problem.From(err).Field != field {
			t.Errorf("%s: %v, want the field %s", content, err, field)
		}
		if _, err := chat.Read(message(t, `"role":"tool","content":`+content), "m"); err != nil {
			t.Errorf("%s of a tool: %v", content, err)
		}
	}
}

func TestReadCutsALongCaptionOnARune(t *testing.T) {
	image := `{"type":"image_url","text":"a` + strings.Repeat("é", memory.MaxCaptionBytes) + `"}`
	got, err := chat.Read(message(t, `"role":"user","content":[{"type":"text","text":"See."},`+image+`]`), "m")
	if want := "a" + strings.Repeat("é", memory.MaxCaptionBytes/2-1); err != nil || got.Caption != want ||
		got.Text != "See." {
		t.Errorf("%d bytes, %v", len(got.Caption), err)
	}
	got, err = chat.Read(message(t, `"role":"user","content":[`+image+`]`), "m")
	if err != nil || len(got.Text) != 1+2*memory.MaxCaptionBytes {
		t.Errorf("an image alone: %d bytes, %v", len(got.Text), err)
	}
}

func TestReadOfMessagesWithoutContent(t *testing.T) {
	for fields, want := range map[string]chat.Statement{
		`"role":"assistant"`:                                             {Role: memory.RoleAssistant},
		`"role":"assistant","tool_calls":[]`:                             {Role: memory.RoleAssistant},
		`"role":"assistant","tool_calls":{}`:                             {Role: memory.RoleAssistant},
		`"role":"assistant","tool_calls":[{"id":"1"}]`:                   {Role: memory.RoleTool},
		`"role":"assistant","content":" ","function":{"name":"f"}`:       {Role: memory.RoleTool},
		`"role":"assistant","content":"Wait.","tool_calls":[{"id":"1"}]`: {Role: memory.RoleAssistant, Text: "Wait."},
		`"role":"assistant","refusal":"","tool_calls":[{"id":"1"}]`:      {Role: memory.RoleTool},
		`"role":"assistant","content":null,"refusal":"I cannot."`:        {Role: memory.RoleAssistant, Text: "I cannot."},
		`"role":"assistant","content":"Yes.","refusal":"I cannot."`:      {Role: memory.RoleAssistant, Text: "Yes."},
		`"role":"user","tool_calls":[{"id":"1"}],"refusal":"No."`:        {Role: memory.RoleUser},
		`"role":"system","content":"Be brief."`:                          {Role: "system"},
	} {
		if got, err := chat.Read(message(t, fields), "m"); err != nil || got != want {
			t.Errorf("%s is %+v, %v", fields, got, err)
		}
	}
	if _, err := chat.Read(message(t, `"role":"assistant","refusal":7`), "m"); err == nil ||
		problem.From(err).Field != "m.refusal" {
		t.Errorf("a refusal that is none: %v", err)
	}
}
