package tenant_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// made is a source that tests change, and that can be unavailable.
type made struct {
	mu      sync.Mutex
	tenants []tenant.Tenant
	changes int
	err     error
	reads   int
	// gate, where set, blocks each read.
	gate chan struct{}
}

func (m *made) Tenants(context.Context) ([]tenant.Tenant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	return slices.Clone(m.tenants), m.err
}

func (m *made) Revision(ctx context.Context) (string, error) {
	m.mu.Lock()
	gate := m.gate
	m.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprint(m.changes), m.err
}

func (m *made) set(tenants ...tenant.Tenant) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tenants, m.err = tenants, nil
	m.changes++
}

func (m *made) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

func (m *made) looks() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reads
}

// both is a registry over a file and a source, with its reports. An empty text means no file.
func both(t *testing.T, text string, source tenant.Source) *watched {
	t.Helper()
	w := &watched{errors: make(chan error, 100), reloaded: make(chan []tenant.Tenant, 100)}
	if text != "" {
		w.path = filepath.Join(t.TempDir(), "tenants.yaml")
		w.write(t, text)
	}
	var err error
	w.Registry, err = tenant.Open(tenant.Options{
		Path: w.path, Source: source, Poll: time.Millisecond,
		OnError:  func(err error) { w.errors <- err },
		OnReload: func(tenants []tenant.Tenant) { w.reloaded <- tenants },
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// start runs the registry until the test ends.
func (w *watched) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

func ids(tenants []tenant.Tenant) string {
	var out []string
	for _, one := range tenants {
		out = append(out, one.ID)
	}
	return strings.Join(out, " ")
}

// wantEventually waits until the registry has these tenants.
func (w *watched) wantEventually(t *testing.T, want string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ids(w.Tenants()) != want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("tenants are %q, want %q", ids(w.Tenants()), want)
		}
	}
}

func TestTenantsOfFileAndSource(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		made []tenant.Tenant
		want string
	}{
		"both":                {doc("  - id: zeta\n"), []tenant.Tenant{{ID: "beta"}, {ID: "gamma"}}, "acme zeta beta gamma"},
		"no file":             {"", []tenant.Tenant{{ID: "beta"}}, "beta"},
		"an empty file":       {"tenants: []\n", []tenant.Tenant{{ID: "beta"}}, "beta"},
		"a file with nothing": {"\n", []tenant.Tenant{{ID: "beta"}}, "beta"},
		"nothing at all":      {"", nil, ""},
		"an empty source":     {doc(), nil, "acme"},
	} {
		t.Run(name, func(t *testing.T) {
			source := &made{}
			source.set(c.made...)
			w := both(t, c.file, source)
			if got := ids(w.Tenants()); got != c.want {
				t.Errorf("tenants are %q, want %q", got, c.want)
			}
			for _, one := range w.Tenants() {
				if got, err := w.Lookup(one.ID); err != nil || got != one || got.Strategy == "" || got.Saliency == "" ||
					got.Name == "" {
					t.Errorf("%s is %+v, %v", one.ID, got, err)
				}
			}
			if err := w.Reload(); err != nil || ids(w.Tenants()) != c.want {
				t.Errorf("after a reload they are %q, %v", ids(w.Tenants()), err)
			}
			if len(w.errors) != 0 {
				t.Errorf("reported %v", <-w.errors)
			}
		})
	}
	if _, err := tenant.Open(tenant.Options{}); err == nil {
		t.Error("neither file nor source was accepted")
	}
	path := filepath.Join(t.TempDir(), "tenants.yaml")
	if _, err := tenant.Open(tenant.Options{Path: path, Source: &made{}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is named and not there: got %v", err)
	}
}

func TestRunTakesChangesOfBoth(t *testing.T) {
	source := &made{}
	source.set(tenant.Tenant{ID: "beta"})
	w := both(t, doc(), source)
	w.start(t)
	source.set(tenant.Tenant{ID: "beta"}, tenant.Tenant{ID: "gamma"})
	w.wantEventually(t, "acme beta gamma")
	w.write(t, doc("  - id: zeta\n"))
	w.wantEventually(t, "acme zeta beta gamma")
	source.set()
	w.wantEventually(t, "acme zeta")
	w.write(t, "tenants: []\n")
	w.wantEventually(t, "")
}

func TestTheSourceIsReadWhereItHasChanged(t *testing.T) {
	source := &made{}
	source.set(tenant.Tenant{ID: "beta"})
	w := both(t, doc(), source)
	for range 10 {
		if _, err := w.Lookup("nobody"); !fault.IsTerminal(err) {
			t.Errorf("got %v", err)
		}
	}
	if n := source.looks(); n != 1 {
		t.Errorf("it was read %d times", n)
	}
}

func TestTheFilesTenantWins(t *testing.T) {
	source := &made{}
	twice := tenant.Tenant{ID: "acme", Name: "Of the source", Suspended: true}
	source.set(twice, tenant.Tenant{ID: "beta"})
	w := both(t, doc("    name: Of the file\n"), source)
	if got, err := w.Lookup("acme"); err != nil || got.Name != "Of the file" || got.Suspended {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := receive(t, w.errors); !strings.Contains(err.Error(), `"acme"`) {
		t.Errorf("got %v", err)
	}
	w.start(t)
	source.set(twice, tenant.Tenant{ID: "gamma"}) // still twice, and already reported
	w.wantEventually(t, "acme gamma")
	source.set(tenant.Tenant{ID: "delta"})
	w.wantEventually(t, "acme delta")
	if n := len(w.errors); n != 0 {
		t.Errorf("%d more errors: %v", n, <-w.errors)
	}
	source.set(twice)
	if err := receive(t, w.errors); !strings.Contains(err.Error(), `"acme"`) {
		t.Errorf("twice again: got %v", err)
	}
}

func TestASourceThatIsAway(t *testing.T) {
	source, away := &made{}, errors.New("away")
	source.fail(away)
	w := both(t, doc(), source)
	if err := receive(t, w.errors); !errors.Is(err, away) {
		t.Errorf("got %v", err)
	}
	if _, err := w.Lookup("acme"); err != nil {
		t.Errorf("the file's tenant: %v", err)
	}
	if _, err := w.Lookup("beta"); err == nil || fault.IsTerminal(err) || !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("one that may be of the source: got %v, want a retryable error", err)
	}
	if _, err := w.Lookup("Not Valid"); !fault.IsTerminal(err) {
		t.Errorf("one that nobody can have: got %v", err)
	}
	w.start(t)
	source.set(tenant.Tenant{ID: "beta"})
	w.wantEventually(t, "acme beta")
	if n := len(w.errors); n != 0 {
		t.Errorf("%d more errors while it was away: %v", n, <-w.errors)
	}
	source.fail(fault.Terminal("", "a record is damaged"))
	if err := receive(t, w.errors); !strings.Contains(err.Error(), "damaged") {
		t.Errorf("got %v", err)
	}
	if got := ids(w.Tenants()); got != "acme beta" {
		t.Errorf("the tenants from before are %q", got)
	}
	if _, err := w.Lookup("gamma"); err == nil || fault.IsTerminal(err) {
		t.Errorf("got %v, want a retryable error whatever the source's is", err)
	}
	source.set(tenant.Tenant{ID: "gamma"})
	w.wantEventually(t, "acme gamma")
}

// Lookup finds a new tenant at once, before the next check of the source.
func TestLookupAsksTheSource(t *testing.T) {
	source := &made{}
	w := both(t, doc(), source)
	source.set(tenant.Tenant{ID: "beta"})
	if got, err := w.Lookup("beta"); err != nil || got.ID != "beta" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got := receive(t, w.reloaded); ids(got) != "acme" { // from Open
		t.Errorf("first %q", ids(got))
	}
	if got := receive(t, w.reloaded); ids(got) != "acme beta" {
		t.Errorf("then %q", ids(got))
	}
}

// Many concurrent lookups cause few reads. Each lookup gets an answer from after its start.
func TestManyAskTheSource(t *testing.T) {
	source := &made{}
	w := both(t, doc(), source)
	source.set(tenant.Tenant{ID: "beta"})
	gate := make(chan struct{})
	source.mu.Lock()
	source.gate = gate
	source.mu.Unlock()
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if got, err := w.Lookup("beta"); err != nil || got.ID != "beta" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	close(gate)
	group.Wait()
	if n := source.looks(); n > 2 {
		t.Errorf("it was read %d times", n)
	}
}

func TestASourcesTenantThatCannotBeUsed(t *testing.T) {
	source := &made{}
	source.set(tenant.Tenant{ID: "Not Valid"}, tenant.Tenant{ID: "beta", Strategy: "of-tomorrow"},
		tenant.Tenant{ID: "gamma"})
	w := both(t, doc(), source)
	if got := ids(w.Tenants()); got != "acme gamma" {
		t.Errorf("tenants are %q", got)
	}
	for range 2 {
		receive(t, w.errors)
	}
	if _, err := w.Lookup("beta"); err == nil || fault.IsTerminal(err) || !strings.Contains(err.Error(), "strategy") {
		t.Errorf("got %v, want a retryable error that says what is wrong: its turns must not be lost", err)
	}
}
