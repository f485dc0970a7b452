package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/shared/access"
	directoryredis "github.com/mneme-memory/mneme/shared/store/directory/redis"
)

// operators returns an empty Redis and the services' directory in it.
func operators(t *testing.T) (addr string, d *directoryredis.Directory) {
	t.Helper()
	addr = miniredis.RunT(t).Addr()
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	t.Cleanup(func() { _ = client.Close() })
	d, err := directoryredis.New(client, directoryredis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return addr, d
}

// must runs a command line, which must succeed, and returns its output.
func must(t *testing.T, args ...string) (out, errOut string) {
	t.Helper()
	t.Setenv("MNEME_REDIS_ADDRS", "")
	code, out, errOut := run(t, args...)
	if code != command.ExitOK {
		t.Fatalf("%q: exit code %d, %q", args, code, errOut)
	}
	return out, errOut
}

func TestOperatorsMakeListAndRevokeKeys(t *testing.T) {
	addr, d := operators(t)
	out, errOut := must(t, "keys", "create", "--tenant", "acme", "--name", "the\x1b[2J phone", "--user", "ana", "--redis",
		addr)
	text := strings.TrimSuffix(out, "\n")
	k, err := d.KeyByHash(t.Context(), access.HashOf(text))
	if err != nil || k.Tenant != "acme" || k.User != "ana" || !k.ExpiresAt.IsZero() ||
		slices.Contains(k.Scopes, access.Erase) {
		t.Fatalf("printed %q, which is %+v, %v", out, k, err)
	}
	if !strings.Contains(errOut, k.ID) || !strings.Contains(errOut, "tenants file") || strings.Contains(errOut, text) {
		t.Errorf("says %q", errOut)
	}
	if err := d.Touch(t.Context(), "acme", k.ID, time.Date(2031, 2, 3, 4, 5, 6, 0, time.Local)); err != nil {
		t.Fatal(err)
	}
	out, _ = must(t, "keys", "list", "--tenant", "acme", "--redis", addr)
	for _, want := range []string{k.ID, "phone", "ana", "ingest,", "recall, read", "2031-02-03", "04:05:06", "never"} {
		if !strings.Contains(out, want) || strings.ContainsFunc(out, control) {
			t.Errorf("there is no %q in %q", want, out)
		}
	}
	must(t, "tenants", "create", "beta", "--redis", addr)
	out, _ = must(t, "keys", "list", "--tenant", "beta", "--redis", addr)
	if strings.Contains(out, k.ID) {
		t.Errorf("another tenant's: %s", out)
	}
	out, _ = must(t, "keys", "revoke", "--tenant", "acme", k.ID, "--redis", addr)
	if !strings.Contains(out, "revoked") {
		t.Errorf("says %q", out)
	}
	if all, err := d.Keys(t.Context(), "acme"); err != nil || len(all) != 0 {
		t.Errorf("left: %+v, %v", all, err)
	}
}

func TestKeysInJSON(t *testing.T) {
	addr, d := operators(t)
	must(t, "tenants", "create", "acme", "--redis", addr)
	out, errOut := must(t, "keys", "create", "--tenant", "acme", "--scopes", "read,admin", "--expires-at",
		"2999-01-02T03:04:05Z",
		"--redis", addr, "--json")
	var made struct {
		ID, Key, Tenant string
		Scopes          []access.Scope
		ExpiresAt       time.Time `json:"expires_at"`
	}
	if err := json.Unmarshal([]byte(out), &made); err != nil || errOut != "" {
		t.Fatalf("%v, %q: %s", err, errOut, out)
	}
	k, err := d.KeyByHash(t.Context(), access.HashOf(made.Key))
	end := time.Date(2999, 1, 2, 3, 4, 5, 0, time.UTC)
	if err != nil || k.ID != made.ID || !k.ExpiresAt.Equal(end) || !made.ExpiresAt.Equal(end) ||
		!slices.Equal(made.Scopes, []access.Scope{access.Read, access.Admin}) {
		t.Errorf("made %s, which is %+v, %v", out, k, err)
	}
	out, _ = must(t, "keys", "list", "--tenant", "acme", "--redis", addr, "--json")
	var listed struct {
		Tenant string
		Keys   []map[string]any
	}
	err = json.Unmarshal([]byte(out), &listed)
	if err != nil || len(listed.Keys) != 1 || listed.Keys[0]["id"] != k.ID || strings.Contains(out, made.Key) {
		t.Errorf("%v: listed %s", err, out)
	}
	if _, used := listed.Keys[0]["last_used_at"]; used {
		t.Errorf("it was not used: %s", out)
	}
	out, _ = must(t, "keys", "revoke", made.ID, "--tenant", "acme", "--redis", addr, "--json")
	if !strings.Contains(out, `"revoked": "`+made.ID+`"`) {
		t.Errorf("revoked %s", out)
	}
}

func TestOperatorsMakeAndChangeTenants(t *testing.T) {
	addr, d := operators(t)
	at := func(args ...string) []string { return append(args, "--redis", addr) }
	must(t, at("tenants", "create", "acme", "--strategy", "rmm", "--name", "Acme\x1b[2J")...)
	must(t, at("tenants", "create", "beta")...)
	must(t, at("tenants", "change", "acme", "--policy", "llm", "--explore", "0.5")...)
	must(t, at("tenants", "suspend", "acme")...)
	got, err := d.Tenant(t.Context(), "acme")
	if err != nil || got.Strategy != "rmm" || got.Policy != "llm" || got.Explore != "0.5" || !got.Suspended ||
		got.Saliency != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	out, _ := must(t, at("tenants", "list")...)
	for _, want := range []string{"acme", "beta", "rmm", "llm", "mark", "suspended", "salimory", "embedded", "gate"} {
		if !strings.Contains(out, want) || strings.ContainsFunc(out, control) {
			t.Errorf("there is no %q in %q", want, out)
		}
	}
	out, _ = must(t, at("tenants", "resume", "acme", "--json")...)
	var resumed map[string]any
	err = json.Unmarshal([]byte(out), &resumed)
	if err != nil || resumed["suspended"] != false || resumed["id"] != "acme" || len(resumed) != 8 {
		t.Errorf("%v: got %s", err, out)
	}
	out, _ = must(t, at("tenants", "list", "--json")...)
	var listed struct{ Tenants []map[string]any }
	if err := json.Unmarshal([]byte(out), &listed); err != nil || len(listed.Tenants) != 2 ||
		listed.Tenants[1]["explore"] != "on" {
		t.Errorf("%v: got %s", err, out)
	}
}

func TestOperatorsSeeTheTenantsFile(t *testing.T) {
	addr, _ := operators(t)
	file := filepath.Join(t.TempDir(), "tenants.yaml")
	if err := os.WriteFile(file, []byte("tenants:\n  - id: filed\n  - id: both\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, "tenants", "create", "made", "--redis", addr)
	must(t, "tenants", "create", "both", "--redis", addr)
	if _, errOut := must(t, "tenants", "list", "--redis", addr); !strings.Contains(errOut, "MNEME_TENANTS_FILE") {
		t.Errorf("without the file it says %q", errOut)
	}
	t.Setenv("MNEME_TENANTS_FILE", file)
	out, errOut := must(t, "tenants", "list", "--redis", addr, "--json")
	var listed struct {
		Tenants []struct{ ID, From string }
	}
	if err := json.Unmarshal([]byte(out), &listed); err != nil || errOut != "" {
		t.Fatalf("%v: %s, says %q", err, out, errOut)
	}
	var got []string
	for _, one := range listed.Tenants {
		from, _, _ := strings.Cut(one.From, ",")
		got = append(got, one.ID+" of "+from)
	}
	if want := "filed of tenants file; both of tenants file; both of run time; made of run time"; strings.Join(got,
		"; ") != want {
		t.Errorf("listed %q, want %q", got, want)
	}
	if out, _ = must(t, "tenants", "list", "--redis", addr); !strings.Contains(out, "not used") {
		t.Errorf("listed %s", out)
	}
	if _, errOut = must(t, "keys", "create", "--tenant", "filed", "--redis", addr); strings.Contains(errOut, "note") {
		t.Errorf("of a tenant of the file it says %q", errOut)
	}
	must(t, "keys", "list", "--tenant", "both", "--redis", addr)
	for _, args := range [][]string{{"keys", "create", "--tenant", "nobody"}, {"keys", "list", "--tenant", "nobody"}} {
		code, out, errOut := run(t, append(args, "--redis", addr)...)
		if code != command.ExitFailed || out != "" || !strings.Contains(errOut, "no such tenant") {
			t.Errorf("%q: exit code %d, prints %q, says %q", args, code, out, errOut)
		}
	}
}

func TestOperatorsCommandsThatFail(t *testing.T) {
	addr, _ := operators(t)
	must(t, "tenants", "create", "acme", "--redis", addr)
	stopped := miniredis.RunT(t)
	away := stopped.Addr()
	stopped.Close()
	for _, tt := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"an unknown command", []string{"keys", "steal"}, command.ExitUsage, "mneme keys --help"},
		{"a tenant that is missing", []string{"keys", "list"}, command.ExitUsage, "--tenant"},
		{"keys of a tenant that nobody knows", []string{"keys", "list", "--tenant", "nobody"}, command.ExitFailed,
			"no such tenant"},
		{"a tenant that is none", []string{"keys", "list", "--tenant", "A"}, command.ExitUsage, "tenant_id"},
		{"a user who is empty", []string{"keys", "create", "--tenant", "acme", "--user", ""}, command.ExitUsage,
			"--user is empty"},
		{"a scope that is none", []string{"keys", "create", "--tenant", "acme", "--scopes", "root"}, command.ExitUsage,
			"scopes"},
		{"a user's key that may all", []string{"keys", "create", "--tenant", "acme", "--user", "ana", "--scopes", "admin"},
			command.ExitUsage,
			"single user"},
		{"a name that is no text", []string{"keys", "create", "--tenant", "acme", "--name", "\xff"}, command.ExitUsage,
			"name"},
		{"an end that is past", []string{"keys", "create", "--tenant", "acme", "--expires-at", "2001-01-01T00:00:00Z"},
			command.ExitUsage,
			"expires_at"},
		{"an end that is none", []string{"keys", "create", "--tenant", "acme", "--expires-at", "soon"}, command.ExitUsage,
			"--expires-at"},
		{"less than no time", []string{"keys", "create", "--tenant", "acme", "--expires-in", "-1h"}, command.ExitUsage,
			"--expires-in"},
		{"two ends", []string{"keys", "create", "--tenant", "acme", "--expires-in", "1h", "--expires-at",
			"2999-01-01T00:00:00Z"},
			command.ExitUsage, "not both"},
		{"a key that is not there", []string{"keys", "revoke", "--tenant", "acme", "k1"}, command.ExitFailed, "no such key"},
		{"a key without its id", []string{"keys", "revoke", "--tenant", "acme"}, command.ExitUsage, "1 arg"},
		{"a tenant again", []string{"tenants", "create", "acme"}, command.ExitFailed, "already"},
		{"a tenant's id that is none", []string{"tenants", "create", "Not Valid"}, command.ExitUsage, "a-z"},
		{"a strategy that is none", []string{"tenants", "create", "beta", "--strategy", "magic"}, command.ExitUsage,
			"salimory"},
		{"a change to one that is none", []string{"tenants", "change", "acme", "--policy", "magic"}, command.ExitUsage,
			"embedded, llm"},
		{"no change", []string{"tenants", "change", "acme"}, command.ExitUsage, "no setting to change"},
		{"a tenant that is not there", []string{"tenants", "suspend", "nobody"}, command.ExitFailed, "made at run time"},
		{"nothing listening", []string{"tenants", "list", "--redis", away}, command.ExitUnreachable, "redis"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := tt.args
			if !slices.Contains(args, "--redis") {
				args = append(slices.Clone(args), "--redis", addr)
			}
			code, out, errOut := run(t, args...)
			if code != tt.code || !strings.Contains(errOut, tt.says) || out != "" || strings.ContainsFunc(errOut, control) {
				t.Errorf("exit code %d, want %d; says %q, want %q; prints %q", code, tt.code, errOut, tt.says, out)
			}
		})
	}
}

func TestTheRedisOfOperators(t *testing.T) {
	t.Setenv("MNEME_REDIS_ADDRS", "")
	if code, _, errOut := run(t, "tenants", "list"); code != command.ExitUnreachable ||
		!strings.Contains(errOut, "--redis") {
		t.Errorf("none: exit code %d, %q", code, errOut)
	}
	addr, d := operators(t)
	t.Setenv("MNEME_REDIS_ADDRS", addr)
	if code, _, errOut := run(t, "tenants", "create", "acme"); code != command.ExitOK {
		t.Errorf("of the environment: exit code %d, %q", code, errOut)
	}
	t.Setenv("MNEME_REDIS_DB", "many")
	if code, _, errOut := run(t, "tenants", "list"); code != command.ExitUsage ||
		!strings.Contains(errOut, "MNEME_REDIS_DB") {
		t.Errorf("a wrong setting: exit code %d, %q", code, errOut)
	}
	t.Setenv("MNEME_REDIS_DB", "")
	t.Setenv("MNEME_REDIS_ADDRS", "")
	dir := t.TempDir()
	leave := func(c standalone.Connection) {
		t.Helper()
		content, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "connection.json"), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leave(standalone.Connection{Utilizer: "http://127.0.0.1:1", Tenant: "local"})
	if code, _, errOut := run(t, "keys", "list", "--data", dir); code != command.ExitUsage ||
		!strings.Contains(errOut, "--redis") {
		t.Errorf("a folder without: exit code %d, %q", code, errOut)
	}
	leave(standalone.Connection{Utilizer: "http://127.0.0.1:1", Tenant: "local", Redis: []string{addr}})
	if err := os.WriteFile(standalone.TenantsFile(dir), []byte("tenants:\n  - id: local\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := run(t, "keys", "create", "--data", dir); code != command.ExitOK ||
		strings.Contains(errOut, "note") {
		t.Errorf("of the folder: exit code %d, %q", code, errOut)
	}
	if all, err := d.Keys(t.Context(), "local"); err != nil || len(all) != 1 {
		t.Errorf("the folder's tenant has %+v, %v", all, err)
	}
}
