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
	parts := []standalone.Part{{Name: "gateway", Address: ready.URL}, {Name: "kafka", Address: ready.Listener.Addr().String()}}
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
		content, err := json.Marshal(standalone.Connection{Utilizer: ready.URL, Tenant: "local", Parts: append(parts[:2:2], more.part...)})
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
