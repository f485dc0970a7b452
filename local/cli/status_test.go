package cli_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/local/standalone"
)

// status lists every part with its state, and fails where one is not ready.
func TestStatusNamesThePartsThatAreNotReady(t *testing.T) {
	ready := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer ready.Close()
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer busy.Close()
	parts := []standalone.Part{{Name: "gateway", Address: ready.URL},
		{Name: "kafka", Address: ready.Listener.Addr().String()}}
	for _, more := range []struct {
		part []standalone.Part
		code int
		says string
	}{
		{nil, command.ExitOK, ""},
		{[]standalone.Part{{Name: "booster", Address: busy.URL}}, command.ExitFailed, "1 of 3 parts are not ready"},
		{[]standalone.Part{{Name: "redis", Address: "127.0.0.1:1"}}, command.ExitFailed, "1 of 3 parts are not ready"},
	} {
		dir := t.TempDir()
		content, err := json.Marshal(standalone.Connection{Utilizer: ready.URL, Tenant: "local",
			Parts: append(parts[:2:2], more.part...)})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "connection.json"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errOut := run(t, "status", "--data", dir)
		if code != more.code || !strings.Contains(errOut, more.says) || strings.Count(out, "│ ready") != 2 {
			t.Errorf("exit code %d, %q, %s", code, errOut, out)
		}
	}
}

// status says that a model does not answer, and what that means. The exit code stays 0.
func TestStatusSaysThatTheModelDoesNotAnswer(t *testing.T) {
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "" {
			t.Errorf("the model gets a request of %s with the headers %v", r.URL, r.Header)
		}
		w.WriteHeader(http.StatusUnauthorized) // it answers
	}))
	defer model.Close()
	const says = "! The model at http://127.0.0.1:1/v1 does not answer. Turns are accepted and wait, recall uses the stored memories"
	for _, c := range []struct {
		model, row, says string
		lines            int
	}{
		{"", "", "", 0}, {model.URL + "/v1", "ready", "", 0}, {"http://127.0.0.1:1/v1", "not reachable", says, 1},
	} {
		dir := t.TempDir()
		content, err := json.Marshal(standalone.Connection{Tenant: "local", Model: c.model})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "connection.json"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errOut := run(t, "status", "--data", dir)
		if code != command.ExitOK || !strings.Contains(out, c.row) || !strings.HasPrefix(errOut, c.says) ||
			strings.Count(errOut, "\n") != c.lines || strings.Contains(out, "model") != (c.model != "") {
			t.Errorf("with the model %q: exit code %d, %q, %s", c.model, code, errOut, out)
		}
		if c.lines == 1 && !strings.Contains(errOut, "status checks it again") {
			t.Errorf("%q does not say how to try again", errOut)
		}
	}
}
