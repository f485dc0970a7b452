package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/store/usage"
)

// serveUsage is a gateway whose counts of a day are the day of the month.
func serveUsage(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		day := r.URL.Query().Get("day")
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(day, "2025-") { // a year without calls
			fmt.Fprintf(w, `{"day":%q,"counts":{"requests":0,"memories":7}}`, day)
			return
		}
		fmt.Fprintf(w, `{"day":%q,"counts":{"requests":1%s,"memories":7}}`, day, day[len(day)-2:])
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestUsageOfARangeOfDays(t *testing.T) {
	at := []string{"usage", "--url", serveUsage(t), "--key", key}
	_, out, errOut := run(t, append(at, "--from", "2026-11-29", "--to", "2026-12-01")...)
	for _, want := range []string{"2026-11-29", "2026-11-30", "2026-12-01", "REQUESTS", "129", "130", "101", "total",
		"360"} {
		if !strings.Contains(out, want) || strings.Contains(out, "TENANT") || strings.Contains(out, "21") {
			t.Errorf("there is no %q in %s%s", want, out, errOut)
		}
	}
	const header = "calls of the gateway; turns from Kafka and commands of mneme on a local Mneme count only as model tokens\n"
	if !strings.HasPrefix(out, header) {
		t.Errorf("the first line does not say that the counts are those of the gateway: %s", out)
	}
	_, out, _ = run(t, append(at, "--from", "2025-11-29", "--to", "2025-11-30")...)
	if out != header+"no calls from 2025-11-29 to 2025-11-30 (UTC)\n" {
		t.Errorf("days without calls are %s", out)
	}
	_, out, _ = run(t, append(at, "--from", "2026-11-29", "--to", "2026-11-30", "--json")...)
	var got struct {
		Days []struct {
			Day    string
			Counts map[string]int64
		}
		Total map[string]int64
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Days) != 2 ||
		got.Days[1].Counts["requests"] != 130 ||
		got.Total["requests"] != 259 {
		t.Errorf("%v: %s", err, out)
	}
	for says, args := range map[string][]string{
		`--from is "yesterday"`: {"--from", "yesterday"}, `--to is "2026-13-01"`: {"--to", "2026-13-01"},
		"want 1 to 400 days":          {"--from", "2026-11-02", "--to", "2026-11-01"},
		"--redis needs --all-tenants": {"--redis", "127.0.0.1:1"},
	} {
		if code, _, errOut := run(t, append(at, args...)...); code != command.ExitUsage || !strings.Contains(errOut, says) {
			t.Errorf("%v: exit code %d, %q, want %q", args, code, errOut, says)
		}
	}
}

func TestOperatorsSeeTheUsageOfAllTenants(t *testing.T) {
	addr, _ := operators(t)
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	defer client.Close()
	counter, err := usage.New(client, usage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for id, n := range map[string]int64{"acme": 11, "beta": 31} {
		must(t, "tenants", "create", id, "--redis", addr)
		counter.Count(t.Context(), id, usage.Turns, n)
	}
	must(t, "tenants", "create", "idle", "--redis", addr)
	counter.Close(t.Context())
	out, _ := must(t, "usage", "--all-tenants", "--redis", addr)
	for _, want := range []string{"TENANT", "acme", "11", "beta", "31", "total", "42"} {
		if !strings.Contains(out, want) || strings.Contains(out, "idle") {
			t.Errorf("there is no %q in %s", want, out)
		}
	}
}
