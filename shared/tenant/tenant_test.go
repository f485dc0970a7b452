package tenant_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// doc is a file of one tenant with more lines.
func doc(lines ...string) string {
	return "tenants:\n  - id: acme\n" + strings.Join(lines, "")
}

func TestParse(t *testing.T) {
	text := doc(
		"    name: Acme Ltd\n    strategy: salimory\n    policy: llm\n    api_keys:\n",
		"      - "+tenant.HashKey("one")+"\n      - "+strings.ToUpper(tenant.HashKey("two")[7:]), "\n",
		"  - id: beta\n")
	text = strings.Replace(text, "- "+strings.ToUpper(tenant.HashKey("two")[7:]),
		"- sha256:"+strings.ToUpper(tenant.HashKey("two")[7:]), 1)
	entries, err := tenant.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []tenant.Tenant{
		{ID: "acme", Name: "Acme Ltd", Strategy: tenant.StrategySalimory, Policy: tenant.PolicyLLM,
			Saliency: memory.SaliencyGate},
		{ID: "beta", Name: "beta", Strategy: tenant.StrategySalimory, Policy: tenant.PolicyEmbedded,
			Saliency: memory.SaliencyGate},
	}
	if len(entries) != 2 || entries[0].Tenant != want[0] || entries[1].Tenant != want[1] || len(entries[0].APIKeys) != 2 {
		t.Fatalf("got %+v, want %+v", entries, want)
	}
	r, err := tenant.Static(entries...)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"one", "two"} {
		if got, err := r.Authenticate(key); err != nil || got != want[0] {
			t.Errorf("key %s: got %+v, error %v", key, got, err)
		}
	}
}

func TestExplorationIsTheTenants(t *testing.T) {
	for lines, want := range map[string]float64{
		"": 0.25, "    explore: \n": 0.25, "    explore: on\n": 0.25, "    explore: off\n": 0, // these are no YAML booleans
		"    explore: 0.05\n": 0.05, "    explore: 0\n": 0, "    explore: 1\n": 1,
	} {
		entries, err := tenant.Parse(strings.NewReader(doc(lines)))
		if err != nil || entries[0].Explore.Share(0.25) != want {
			t.Errorf("%q: %+v, error %v, want a share of %v", lines, entries, err, want)
		}
	}
}

func TestSaliencyIsTheStrategysUnlessTheTenantSaysOtherwise(t *testing.T) {
	for _, c := range []struct {
		lines string
		want  memory.SaliencyMode
	}{
		{"", memory.SaliencyGate},
		{"    strategy: salimory\n", memory.SaliencyGate},
		{"    strategy: membuilder\n", memory.SaliencyMark},
		{"    strategy: deltamem\n", memory.SaliencyMark},
		{"    strategy: memory-r2\n", memory.SaliencyMark},
		{"    strategy: rmm\n", memory.SaliencyMark},
		{"    saliency: mark\n", memory.SaliencyMark},
		{"    saliency: off\n", memory.SaliencyOff}, // this is no YAML boolean
		{"    strategy: rmm\n    saliency: gate\n", memory.SaliencyGate},
		{"    strategy: rmm\n    saliency: \n", memory.SaliencyMark},
	} {
		entries, err := tenant.Parse(strings.NewReader(doc(c.lines)))
		if err != nil || entries[0].Saliency != c.want {
			t.Errorf("%q: got %+v, error %v, want %s", c.lines, entries, err, c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	hash := tenant.HashKey("one")
	for name, c := range map[string]struct {
		text string
		want []string // parts of the error
	}{
		"nothing":             {"", []string{"tenants: is empty"}},
		"no tenants":          {"tenants: []\n", []string{"tenants: is empty"}},
		"not YAML":            {"tenants: [\n", []string{"line"}},
		"two documents":       {doc() + "---\na: b\n", []string{"more than one"}},
		"unknown field":       {doc("    nmae: Acme\n"), []string{"line 3", "nmae"}},
		"unknown top field":   {"tenant: []\n", []string{"line 1", "tenant"}},
		"field twice":         {doc("    id: b\n"), []string{"line 3", "id"}},
		"no id":               {"tenants:\n  - name: Acme\n", []string{"tenants[0].id"}},
		"bad id":              {doc("  - id: Not Valid\n"), []string{"tenants[1].id", "a-z"}},
		"id twice":            {doc("  - id: b\n  - id: acme\n"), []string{"tenants[2].id", "tenants[0].id"}},
		"unknown strategy":    {doc("    strategy: magic\n"), []string{"tenants[0].strategy", `"magic"`, "salimory"}},
		"unknown saliency":    {doc("    saliency: magic\n"), []string{"tenants[0].saliency", `"magic"`, "gate, mark, off"}},
		"saliency is no text": {doc("    saliency: [gate]\n"), []string{"line 3"}},
		"unknown exploration": {doc("    explore: often\n"), []string{"tenants[0].explore", `"often"`,
			"on, off or a share from 0 to 1"}},
		"talk kept for less than nothing": {doc("    talk_days: -1\n"), []string{"tenants[0].talk_days",
			"is -1, want 1 to 36500 days, or 0 for ever"}},
		"talk kept for too long": {doc("    talk_days: 36501\n"), []string{"tenants[0].talk_days"}},
		"talk kept for half a day": {doc("    talk_days: 0.5\n"), []string{"tenants[0].talk_days",
			"is 0.5, want a whole number of days"}},
		"talk kept for no number": {doc("    talk_days: .nan\n"), []string{"tenants[0].talk_days", "whole number"}},
		"too much to explore":     {doc("    explore: 1.5\n"), []string{"tenants[0].explore", `"1.5"`}},
		"less than nothing":       {doc("    explore: -0.1\n"), []string{"tenants[0].explore", `"-0.1"`}},
		"no number":               {doc("    explore: NaN\n"), []string{"tenants[0].explore", `"NaN"`}},
		"unknown policy":          {doc("    policy: magic\n"), []string{"tenants[0].policy", "embedded, llm"}},
		"plain key":               {doc("    api_keys: [PLAINKEY]\n"), []string{"tenants[0].api_keys[0]", "sha256:HEX"}},
		"plain key no list":       {doc("    api_keys: PLAINKEY\n"), []string{"tenants[0].api_keys", "line 3", "list"}},
		"plain key as a map":      {doc("    api_keys: [{PLAINKEY: a}]\n"), []string{"tenants[0].api_keys[0]"}},
		"plain key as tenant":     {"tenants:\n  - PLAINKEY\n", []string{"line 2"}},
		"plain key as list":       {"tenants: PLAINKEY\n", []string{"line 1"}},
		"short hash":              {doc("    api_keys: ['" + hash[:60] + "']\n"), []string{"tenants[0].api_keys[0]"}},
		"long hash":               {doc("    api_keys: ['" + hash + "00']\n"), []string{"tenants[0].api_keys[0]"}},
		"not hexadecimal":         {doc("    api_keys: ['" + hash[:70] + "x']\n"), []string{"tenants[0].api_keys[0]"}},
		"empty key": {doc("    api_keys: ['" + tenant.HashKey("") + "']\n"),
			[]string{"tenants[0].api_keys[0]", "empty"}},
		"key twice": {doc("    api_keys: ['" + hash + "']\n  - id: b\n    api_keys: ['" + hash + "']\n"),
			[]string{"tenants[1].api_keys[0]", "tenants[0].api_keys[0]"}},
		"several problems": {doc("    policy: p\n    strategy: s\n"), []string{"tenants[0].policy", "tenants[0].strategy"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tenant.Parse(strings.NewReader(c.text))
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			for _, secret := range []string{"PLAIN", "tenant.file", hash[20:50]} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("error %q shows %q", err, secret)
				}
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(doc("    api_keys: ['" + tenant.HashKey("one") + "']\n"))
	f.Add("tenants: &a [*a]\n")
	f.Add(doc("    api_keys: *missing\n"))
	f.Add("tenants:\n  - {id: a, policy: llm}\n")
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := tenant.Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, e := range entries {
			if memory.ValidTenant(e.ID) != nil || e.Strategy == "" || e.Policy == "" || e.Name == "" {
				t.Fatalf("accepted %+v", e)
			}
		}
		if _, err := tenant.Static(entries...); err != nil {
			t.Fatalf("parsed, but refused: %v", err)
		}
	})
}

func TestLookup(t *testing.T) {
	acme := tenant.Tenant{ID: "acme", Name: "Acme", Strategy: tenant.StrategySalimory, Policy: tenant.PolicyEmbedded,
		Saliency: memory.SaliencyGate}
	r, err := tenant.Static(tenant.Entry{Tenant: acme, APIKeys: []string{tenant.HashKey("one")}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Lookup("acme"); err != nil || got != acme {
		t.Errorf("got %+v, error %v", got, err)
	}
	if _, err := r.Lookup("other"); !fault.IsTerminal(err) || fault.Field(err) != "tenant_id" {
		t.Errorf("unknown tenant: got error %v", err)
	}
	for _, key := range []string{"", "two", tenant.HashKey("one")} {
		if _, err := r.Authenticate(key); !errors.Is(err, tenant.ErrUnknownKey) {
			t.Errorf("key %q: got error %v", key, err)
		}
	}
	if got := r.Tenants(); len(got) != 1 || got[0] != acme {
		t.Errorf("got tenants %+v", got)
	}
}

func TestContext(t *testing.T) {
	if _, ok := tenant.FromContext(t.Context()); ok {
		t.Error("a tenant came from nowhere")
	}
	want := tenant.Tenant{ID: "acme"}
	if got, ok := tenant.FromContext(tenant.NewContext(t.Context(), want)); !ok || got != want {
		t.Errorf("got %+v, %v", got, ok)
	}
}

// watched is a registry over a file, run until the test ends, with its reports.
type watched struct {
	*tenant.Registry
	path     string
	errors   chan error
	reloaded chan []tenant.Tenant
}

func watch(t *testing.T) *watched {
	t.Helper()
	w := &watched{path: filepath.Join(t.TempDir(), "tenants.yaml"), errors: make(chan error, 100),
		reloaded: make(chan []tenant.Tenant, 100)}
	w.write(t, doc())
	var err error
	w.Registry, err = tenant.Open(tenant.Options{
		Path: w.path, Poll: time.Millisecond,
		OnError:  func(err error) { w.errors <- err },
		OnReload: func(tenants []tenant.Tenant) { w.reloaded <- tenants },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return w
}

// write replaces the file at once, as deployments do.
func (w *watched) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(w.path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(w.path+".new", w.path); err != nil {
		t.Fatal(err)
	}
}

func receive[T any](t *testing.T, from chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(30 * time.Second):
		t.Fatal("nothing was reported")
		panic("unreachable")
	}
}

func TestRunReloads(t *testing.T) {
	w := watch(t)
	w.write(t, doc("  - id: beta\n"))
	if got := receive(t, w.reloaded); len(got) != 2 {
		t.Fatalf("got %+v, want two tenants", got)
	}
	if _, err := w.Lookup("beta"); err != nil {
		t.Fatal(err)
	}
}

func TestRunKeepsTheOldOnes(t *testing.T) {
	w := watch(t)
	w.write(t, "tenants:\n  - id: Bad Id\n")
	if err := receive(t, w.errors); !strings.Contains(err.Error(), "tenants[0].id") ||
		!strings.Contains(err.Error(), w.path) {
		t.Errorf("got error %v, want field and file named", err)
	}
	if _, err := w.Lookup("acme"); err != nil {
		t.Errorf("after a bad file: %v", err)
	}
	if err := os.Remove(w.path); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, w.errors); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("file gone: got error %v", err)
	}
	if _, err := w.Lookup("acme"); err != nil {
		t.Errorf("after the file went: %v", err)
	}
	w.write(t, "tenants:\n  - id: gamma\n")
	receive(t, w.reloaded)
	if _, err := w.Lookup("gamma"); err != nil {
		t.Errorf("after a good file: %v", err)
	}
	if n := len(w.errors); n != 0 {
		t.Errorf("%d more errors, want one for each change", n)
	}
}

func TestOpenRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tenants.yaml")
	if _, err := tenant.Open(tenant.Options{Path: path}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got error %v", err)
	}
	if err := os.WriteFile(path, []byte("tenants: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tenant.Open(tenant.Options{Path: path}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("empty file: got error %v, want the file named", err)
	}
}

func TestStaticRuns(t *testing.T) {
	if _, err := tenant.Static(); err == nil {
		t.Error("no tenants were accepted")
	}
	r, err := tenant.Static(tenant.Entry{Tenant: tenant.Tenant{ID: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := errors.Join(r.Run(ctx), r.Reload()); err != nil {
		t.Error(err)
	}
}

func TestOneStrategyWritesTheCoreBlock(t *testing.T) {
	for _, s := range tenant.Strategies() {
		if s.WritesCore() != (s == tenant.StrategyMembuilder) {
			t.Errorf("%s writes the core block: %t", s, s.WritesCore())
		}
	}
}
