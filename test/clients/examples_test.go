//go:build realclients

package clients_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// parrot is a model that repeats the user's last message. It keeps the last system message.
type parrot struct {
	mu     sync.Mutex
	system string
}

// ServeHTTP implements http.Handler.
func (p *parrot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []struct{ Role, Content string }
	}
	if r.URL.Path != "/v1/chat/completions" || json.NewDecoder(r.Body).Decode(&asked) != nil || len(asked.Messages) < 2 {
		http.Error(w, "no chat", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.system = asked.Messages[0].Content
	p.mu.Unlock()
	last := asked.Messages[len(asked.Messages)-1].Content
	_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{
		"message": map[string]string{"role": "assistant", "content": "You say: " + last},
	}}})
}

// chatLoops builds the chat loops of the examples, and returns their commands by language.
func chatLoops(t *testing.T) map[string][]string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	node := install(t, root, "integrations/typescript")
	program := filepath.Join(t.TempDir(), "chat")
	within(t, runWithin, root, nil, "go", "build", "-o", program, "./examples/go")
	copied := filepath.Join(node, "chat.ts")
	within(t, runWithin, root, nil, "cp", "examples/typescript/chat.ts", copied)
	within(t, runWithin, node, nil, "node_modules/.bin/tsc")
	return map[string][]string{
		"python": {"python3", filepath.Join(root, "examples/python/chat.py")}, "go": {program},
		"typescript": {filepath.Join(node, "node_modules/.bin/tsx"), copied},
	}
}

// TestTheChatLoopsExplainAMistakeInOneLine runs each chat loop with a wrong environment.
func TestTheChatLoopsExplainAMistakeInOneLine(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"code":"unauthenticated","message":"the API key is not known"}`))
	}))
	defer refusing.Close()
	for language, command := range chatLoops(t) {
		for name, c := range map[string]struct {
			environ []string
			says    string
		}{
			"no variables":    {[]string{"MNEME_URL=", "MNEME_API_KEY="}, "set MNEME_URL"},
			"no key":          {[]string{"MNEME_URL=" + refusing.URL, "MNEME_API_KEY="}, "set MNEME_API_KEY"},
			"a wrong key":     {[]string{"MNEME_URL=" + refusing.URL, "MNEME_API_KEY=mneme_wrong"}, "check MNEME_API_KEY"},
			"a wrong address": {[]string{"MNEME_URL=http://127.0.0.1:1", "MNEME_API_KEY=mneme_wrong"}, "127.0.0.1:1"},
		} {
			t.Run(language+": "+name, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), runWithin)
				defer cancel()
				cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // of this file
				var complaint strings.Builder
				cmd.Env, cmd.Stdin, cmd.Stderr = append(cmd.Environ(), c.environ...), strings.NewReader("Hello.\n\n"), &complaint
				err := cmd.Run()
				if said := complaint.String(); err == nil || strings.Count(said, "\n") != 1 || !strings.Contains(said, c.says) {
					t.Errorf("%v, says %q, want one line with %q", err, said, c.says)
				}
			})
		}
	}
}

// TestTheChatLoopsOfTheExamples talks to each chat loop twice. The model of the second chat reads a note about the
// first.
func TestTheChatLoopsOfTheExamples(t *testing.T) {
	commands := chatLoops(t)
	stack := start(t)
	for language, command := range commands {
		t.Run(language, func(t *testing.T) {
			model := &parrot{}
			server := httptest.NewServer(model)
			defer server.Close()
			environ := []string{
				"MNEME_URL=" + stack.Gateway, "MNEME_API_KEY=" + stack.APIKey, "CHAT_USER=user of " + language,
				"MODEL_URL=" + server.URL + "/v1", "MODEL=parrot",
			}
			out := converse(t, environ, command, "I live in Porto, and I am allergic to peanuts.\nI work as a nurse.\n\n")
			if !strings.Contains(out, "You say: I work as a nurse.") {
				t.Errorf("the chat loop prints\n%s", out)
			}
			for end := time.Now().Add(runWithin); !strings.Contains(model.note(), "Porto"); {
				if time.Now().After(end) {
					t.Fatalf("the model reads %q, want a note about Porto", model.note())
				}
				converse(t, environ, command, "Where do I live?\n\n")
			}
		})
	}
}

func (p *parrot) note() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.system
}

// converse runs a chat loop on an input and returns its output.
func converse(t *testing.T, environ, command []string, input string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // of this file
	cmd.Env, cmd.Stdin = append(cmd.Environ(), environ...), strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return string(out)
}
