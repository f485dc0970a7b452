package standalone

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheConnectionNamesTheModelWithoutCredentials(t *testing.T) {
	for _, c := range []struct{ model, at, want string }{
		{"llama3", "http://ana:secret@127.0.0.1:8000/v1?key=secret", "http://127.0.0.1:8000/v1"}, {"llama3", "", ""},
		{"", "http://127.0.0.1:8000/v1", ""},
	} {
		if got := modelURL(map[string]string{"MNEME_LLM_MODEL": c.model, "MNEME_LLM_BASE_URL": c.at}); got != c.want {
			t.Errorf("of %+v the URL is %q", c, got)
		}
	}
}

// authenticate returns a service's result for a key, with the folder's tenants file.
func authenticate(t *testing.T, dir, key string) tenant.Tenant {
	t.Helper()
	r, err := tenant.Open(tenant.Options{Path: filepath.Join(dir, tenantsFile)})
	if err != nil {
		t.Fatal(err)
	}
	found, err := r.Authenticate(key)
	if err != nil {
		t.Fatalf("the key of the folder: %v", err)
	}
	return found
}

func ensure(t *testing.T, dir, policy string) string {
	t.Helper()
	key, err := ensureTenants(dir, "", policy)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestANewFolderGetsATenantAndAKey(t *testing.T) {
	for policy, want := range map[string]tenant.Policy{"": tenant.PolicyEmbedded, "embedded": tenant.PolicyEmbedded,
		"llm": tenant.PolicyLLM} {
		t.Run("policy "+policy, func(t *testing.T) {
			dir := t.TempDir()
			key := ensure(t, dir, policy)
			if got := authenticate(t, dir, key); got.ID != LocalTenant || got.Policy != want {
				t.Errorf("the key is that of %+v", got)
			}
			if strings.Contains(read(t, filepath.Join(dir, tenantsFile)), key) {
				t.Error("the tenants file holds the key itself")
			}
			if other := ensure(t, t.TempDir(), policy); other == key || len(key) < 32 {
				t.Errorf("keys can be guessed: %d characters", len(key))
			}
			for _, file := range []string{tenantsFile, keyFile} {
				ownerOnly(t, filepath.Join(dir, file))
			}
		})
	}
}

func ownerOnly(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("%s has mode %o", filepath.Base(path), mode)
	}
}

func TestAnotherStartGoesOnWithWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	key := ensure(t, dir, "embedded")
	edited := read(t, filepath.Join(dir, tenantsFile)) + "  - id: another\n"
	write(t, filepath.Join(dir, tenantsFile), edited)
	if again := ensure(t, dir, "llm"); again != key {
		t.Error("the key is another one")
	}
	if got := read(t, filepath.Join(dir, tenantsFile)); got != edited {
		t.Errorf("the tenants file was changed:\n%s", got)
	}
}

func TestAStrategyOrPolicyIsThatOfANewFolderOnly(t *testing.T) {
	// the policy is the default
	const plain = "tenants:\n  - id: mine\n    policy: llm\n  - id: local\n    strategy: rmm\n"
	for name, c := range map[string]struct{ file, strategy, policy, says string }{
		"a new folder":                      {"", "rmm", "llm", ""},
		"nothing is asked for":              {plain, "", "", ""},
		"what it has":                       {plain, "rmm", "embedded", ""},
		"another strategy":                  {plain, "salimory", "", "its strategy is rmm in"},
		"another policy":                    {plain, "rmm", "llm", "its policy is embedded in"},
		"another tenant's policy":           {"tenants:\n  - id: mine\n    policy: llm\n", "", "llm", "has no tenant local"},
		"a broken file, nothing asked for":  {"tenants: 1\n", "", "", tenantsFile},
		"a broken file, something is asked": {"tenants: 1\n", "rmm", "", tenantsFile},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.file != "" {
				write(t, filepath.Join(dir, tenantsFile), c.file)
			}
			o := Options{Dir: dir, Strategy: c.strategy, Policy: c.policy, Environ: map[string]string{settingModel: "m"}}
			err := checkTenants(o)
			if c.says == "" {
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.says) ||
				!strings.Contains(err.Error(), filepath.Join(dir, tenantsFile)) {
				t.Errorf("got %v, want %q and the file", err, c.says)
			}
			if broken := strings.Contains(name, "broken"); errors.Is(err, ErrOtherTenant) == broken {
				t.Errorf("got %v", err)
			}
			if _, started := Start(t.Context(), o); started == nil || started.Error() != err.Error() {
				t.Errorf("a start gave %v, want %v", started, err)
			}
		})
	}
}

// If the requirement of a tenant's policy is missing, the services would accept sessions and form none. So the start
// fails.
func TestATenantsPolicyNeedsWhatItIsMadeBy(t *testing.T) {
	trained := t.TempDir()
	write(t, filepath.Join(trained, "any.json"), string(trainedPolicy(t, "mine")))
	for policy, c := range map[string]struct {
		err          error
		names        string
		setting, has string
	}{
		"llm":           {ErrNoModel, settingModel, settingModel, "m"},
		"embedded@mine": {wiring.ErrNoPolicy, "embedded@mine", "MNEME_DECISION_POLICIES", trained},
	} {
		for name, file := range map[string]string{
			"a new folder":     "",
			"a tenant that is": "tenants:\n  - id: local\n    policy: " + policy + "\n",
			"another tenant":   "tenants:\n  - id: local\n  - id: acme\n    policy: " + policy + "\n",
		} {
			o := Options{Dir: t.TempDir()}
			if file == "" {
				o.Policy = policy
			} else {
				write(t, filepath.Join(o.Dir, tenantsFile), file)
			}
			if _, err := Start(t.Context(), o); !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.names) {
				t.Errorf("%s, %s: a start without gave %v", policy, name, err)
			}
			o.Environ = map[string]string{c.setting: c.has}
			if err := checkTenants(o); err != nil {
				t.Errorf("%s, %s: a start with it gave %v", policy, name, err)
			}
		}
	}
}

func trainedPolicy(t *testing.T, version string) []byte {
	t.Helper()
	head := decision.NewHead(len(decision.Features(decision.Change)), 0, nil)
	data, err := (&decision.Policy{Version: version,
		Heads: map[decision.Role]decision.Head{decision.Change: head}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAnInterruptedFirstStartIsFinishedByTheNext(t *testing.T) {
	tests := []struct {
		name string
		left func(t *testing.T, dir string)
	}{
		{"nothing was written", func(*testing.T, string) {}},
		{"the key was begun", func(t *testing.T, dir string) { write(t, filepath.Join(dir, keyFile), "") }},
		{"the key was written", func(t *testing.T, dir string) { write(t, filepath.Join(dir, keyFile), "mneme_0123456789") }},
		{"a temporary file stayed", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, tenantsFile+".123"), "tena")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			tt.left(t, dir)
			key := ensure(t, dir, "")
			if got := authenticate(t, dir, key); got.ID != LocalTenant {
				t.Errorf("the key is that of %+v", got)
			}
			if again := ensure(t, dir, ""); again != key {
				t.Error("the next start has another key")
			}
		})
	}
}

func TestTenantsThatSomebodyWroteAreNotReplaced(t *testing.T) {
	dir := t.TempDir()
	own := "tenants:\n  - id: mine\n"
	write(t, filepath.Join(dir, tenantsFile), own)
	if _, err := ensureTenants(dir, "", ""); err == nil || !strings.Contains(err.Error(), keyFile) {
		t.Errorf("got %v, want it to say which file is missing", err)
	}
	if got := read(t, filepath.Join(dir, tenantsFile)); got != own {
		t.Errorf("the tenants file is now\n%s", got)
	}
}

func TestConnection(t *testing.T) {
	dir := t.TempDir()
	if _, err := LoadConnection(dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("an empty folder gives %v", err)
	}
	want := Connection{Utilizer: "http://127.0.0.1:1", Reranker: "http://127.0.0.1:4", Brokers: []string{"127.0.0.1:2"},
		Tenant: LocalTenant,
		APIKey: "mneme_x", Traces: "http://127.0.0.1:3", Redis: []string{"127.0.0.1:5"}}
	path := filepath.Join(dir, connectionFile)
	if err := os.WriteFile(path, []byte("left by another program, longer than what comes now"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadConnection(dir); err == nil || errors.Is(err, ErrNotRunning) {
		t.Errorf("a file that is none gives %v", err)
	}
	for range 2 {
		if err := want.save(dir); err != nil {
			t.Fatal(err)
		}
		ownerOnly(t, path)
	}
	if got, err := LoadConnection(dir); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := want.save(filepath.Join(dir, "missing")); err == nil || strings.Contains(err.Error(), "mneme_x") {
		t.Errorf("a folder that is not there gives %v", err)
	}
}

func TestAStoppedOneIsNotThoughtToRun(t *testing.T) {
	dir := t.TempDir()
	if err := (Connection{Utilizer: "http://127.0.0.1:1"}).save(dir); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a folder without a connection gives the same result
		if err := forget(dir); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := LoadConnection(dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("got %v, want ErrNotRunning", err)
	}
}

func TestASecondStartOnAFolderSaysThatItIsInUse(t *testing.T) {
	dir := t.TempDir()
	lock, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := Start(t.Context(), Options{Dir: dir}); !errors.Is(err, ErrInUse) || s != nil ||
		!strings.Contains(err.Error(), dir) {
		t.Errorf("got %v, %v, want that %s is in use", s, err, dir)
	}
	if err := lock.release(); err != nil {
		t.Fatal(err)
	}
	again, err := lockDir(dir)
	if err != nil {
		t.Fatalf("the folder stays locked: %v", err)
	}
	if err := again.release(); err != nil {
		t.Fatal(err)
	}
}

// Clients know the gateway by its port, so the start must not choose another one.
func TestAStartSaysThatTheGatewaysPortIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, gatewayPorts), `{"gateway": `+port+`}`)
	if s, err := Start(t.Context(), Options{Dir: dir}); err == nil || s != nil ||
		!strings.Contains(err.Error(), "port "+port+" (gateway) is used by another process") ||
		!strings.Contains(err.Error(), gatewayPorts) {
		t.Errorf("got %v, %v, want that port %s is taken", s, err, port)
	}
}

func TestTheErrorOfAServerThatDoesNotStayUpSaysHowToGoOn(t *testing.T) {
	down := &process.GaveUpError{Server: "weaviate", Cause: "signal: killed", Log: "data/weaviate/weaviate.log"}
	want := "weaviate is down again after 5 restarts in 10 minutes (signal: killed); its log is " +
		"data/weaviate/weaviate.log. No acknowledged data is lost: fix the cause, then run `mneme up` again"
	if got := howToGoOn(down); got.Error() != want {
		t.Errorf("it says %q", got)
	}
	if other := errors.New("gateway: exited unexpectedly"); howToGoOn(other) != other || howToGoOn(nil) != nil {
		t.Error("another error is changed")
	}
}

func TestTheServicesAreStartedInOrderOfDependency(t *testing.T) {
	var names []string
	for _, s := range Services() {
		names = append(names, s.Name())
	}
	if want := []string{"reranker", "utilizer", "booster", "saliency-filter"}; !reflect.DeepEqual(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

func TestThePolicyOfAFolderIsChangedOnRequest(t *testing.T) {
	dir := t.TempDir()
	if err := changePolicy(dir, "llm"); err != nil {
		t.Fatalf("a new folder: %v", err)
	}
	key := ensure(t, dir, "embedded")
	path := filepath.Join(dir, tenantsFile)
	write(t, path, "# mine\n"+read(t, path)+"    - id: other\n      policy: embedded\n      api_keys: [\""+
		tenant.HashKey("mneme_other_key_of_thirty_two_bytes")+"\"]\n")
	for range 2 {
		if err := changePolicy(dir, "llm"); err != nil {
			t.Fatal(err)
		}
		if got := authenticate(t, dir, key); got.Policy != tenant.PolicyLLM {
			t.Errorf("the local tenant has policy %s", got.Policy)
		}
	}
	if got := authenticate(t, dir, "mneme_other_key_of_thirty_two_bytes"); got.Policy != tenant.PolicyEmbedded {
		t.Errorf("the other tenant has policy %s", got.Policy)
	}
	if !strings.HasPrefix(read(t, path), "# mine\n") {
		t.Errorf("the comment is gone:\n%s", read(t, path))
	}
	ownerOnly(t, path)
	write(t, path, "tenants: [")
	if err := changePolicy(dir, "llm"); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged file: %v", err)
	}
}
