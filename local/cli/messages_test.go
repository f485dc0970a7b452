package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

func TestMessagesAreReadAsForChatCompletions(t *testing.T) {
	f := fake{messages: make(chan []*mnemev1.Message, 1)}
	addr := serve(t, f)
	file := filepath.Join(t.TempDir(), "messages.json")
	for content, want := range map[string][]string{
		`[]`: nil,
		`[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi","refusal":null}]`: {"user: Hello",
			"assistant: Hi"},
		`[{"role":"system","content":"Be kind."},{"role":"user","content":[{"type":"text","text":"A dog"},
			{"type":"image_url","image_url":{}},{"type":"text","text":"or a cat?"}]}]`: {"user: A dog\nor a cat?"},
		`[{"role":"assistant","content":null,"tool_calls":[{}]},{"role":"tool","tool_call_id":"1","content":"4 hits"}]`: {"tool: 4 hits"},
		`[{"role":"narrator","content":"Once"}]`: {"narrator: Once"}, // the service refuses it, with the field's name
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		code, _, errOut := run(t, "recall", "--user", "ana", "--query", "and for her?", "--messages", file, "--url", addr,
			"--key", key)
		if code != command.ExitOK {
			t.Fatalf("%s: exit code %d, %s", content, code, errOut)
		}
		var got []string
		for _, m := range <-f.messages {
			got = append(got, m.GetRole()+": "+m.GetContent())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: sent %q, want %q", content, got, want)
		}
	}
}

func TestMessagesThatAreNoneAreRefused(t *testing.T) {
	addr := serve(t, fake{})
	file := filepath.Join(t.TempDir(), "messages.json")
	for content, says := range map[string]string{
		`{"role":"user"}`: "want a JSON list", `[{"role":"user","content":"x"}`: "want a JSON list", ``: "want a JSON list",
		`[{"role":"user","content":"x"},{"role":"user","content":7}]`: "messages[1]: content is neither",
		`["x"]`: "messages[0]",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, given := range []string{"recall", "why"} {
			code, _, errOut := run(t, given, "--user", "ana", "--query", "?", "--messages", file, "--url", addr, "--key", key)
			if code != command.ExitUsage || !strings.Contains(errOut, says) || !strings.Contains(errOut, file) {
				t.Errorf("%s of %s: exit code %d, %q, want %q", given, content, code, errOut, says)
			}
		}
	}
	code, _, errOut := run(t, "recall", "--user", "ana", "--query", "?", "--messages", "nowhere.json", "--url", addr,
		"--key", key)
	if code != command.ExitUsage || !strings.Contains(errOut, "nowhere.json") {
		t.Errorf("exit code %d, %q", code, errOut)
	}
}
