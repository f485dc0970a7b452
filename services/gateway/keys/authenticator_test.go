package keys_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/guard"
	"github.com/mneme-memory/mneme/services/gateway/keys"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/store/directory/inmem"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// openRegistry opens the file's tenants "filed" and "paused" and a directory's tenants. It keeps them up to date
// until the test ends.
func openRegistry(t *testing.T, source tenant.Source) *tenant.Registry {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tenants.yaml")
	text := "tenants:\n  - id: filed\n    api_keys: ['" + tenant.HashKey(fileKey) + "']\n" +
		"  - id: paused\n    suspended: true\n    api_keys: ['" + tenant.HashKey("paused") + "']\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := tenant.Open(tenant.Options{Path: path, Source: source, Poll: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	run(t, r.Run)
	return r
}

func TestAKeyOfTheFileHasAllScopes(t *testing.T) {
	w := newWorld(t)
	p, err := w.Authenticate(t.Context(), fileKey)
	if err != nil || p.Tenant.ID != "filed" || p.User != "" || !slices.Equal(p.Scopes, access.Scopes()) {
		t.Errorf("got %+v, %v", p, err)
	}
	if want := fmt.Sprintf("file-%x", sha256.Sum256([]byte(fileKey)))[:5+12]; p.KeyID != want {
		t.Errorf("its id is %q, want %q", p.KeyID, want)
	}
	w.want(t, "paused", tenant.ErrSuspended)
	if n := w.directory.asked.Load(); n != 0 {
		t.Errorf("the directory was asked %d times", n)
	}
}

func TestAKeyOfTheDirectoryIsWhatItWasMade(t *testing.T) {
	w := newWorld(t)
	for _, k := range []access.Key{
		{Tenant: "made"}, {Tenant: "made", User: "ines"}, {Tenant: "filed", Scopes: []access.Scope{access.Admin}},
	} {
		k, text := w.create(t, k)
		p, err := w.Authenticate(t.Context(), text)
		if err != nil || p.Tenant.ID != k.Tenant || p.Tenant.Strategy == "" || p.KeyID != k.ID || p.User != k.User ||
			!slices.Equal(p.Scopes, k.Scopes) {
			t.Errorf("got %+v, %v, want %+v", p, err, k)
		}
	}
	for _, nobodys := range []string{"", "x", "mneme_", strings.Repeat("k", 1<<16), tenant.HashKey(fileKey)} {
		w.want(t, nobodys, tenant.ErrUnknownKey)
	}
}

// The directory's answer is valid for less than two seconds. A revoked key is refused everywhere within five
// seconds.
func TestARevokedKeyIsRefusedWithinTwoSeconds(t *testing.T) {
	w := newWorld(t)
	k, text := w.create(t, access.Key{Tenant: "made"})
	w.want(t, text, nil)
	if err := w.directory.RevokeKey(t.Context(), "made", k.ID); err != nil {
		t.Fatal(err)
	}
	w.clock.advance(2*time.Second - time.Nanosecond)
	w.want(t, text, nil)
	w.clock.advance(time.Nanosecond)
	w.want(t, text, tenant.ErrUnknownKey)
	w.clock.advance(-time.Hour) // a clock that was set back
	w.want(t, text, tenant.ErrUnknownKey)
}

func TestTheDirectoryIsAskedOnceInTwoSeconds(t *testing.T) {
	w := newWorld(t)
	_, text := w.create(t, access.Key{Tenant: "made"})
	for key, want := range map[string]error{text: nil, "nobody's": tenant.ErrUnknownKey} {
		w.directory.asked.Store(0)
		for range 20 {
			w.want(t, key, want)
			w.clock.advance(99 * time.Millisecond)
		}
		if n := w.directory.asked.Load(); n != 1 {
			t.Errorf("%v: it was asked %d times", want, n)
		}
		w.clock.advance(time.Second)
		w.want(t, key, want)
		if n := w.directory.asked.Load(); n != 2 {
			t.Errorf("%v: it was asked %d times", want, n)
		}
	}
}

func TestANewKeyIsKnownWithinTwoSeconds(t *testing.T) {
	w := newWorld(t)
	k, text, err := access.NewKey(access.Key{Tenant: "made"}, w.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	w.want(t, text, tenant.ErrUnknownKey)
	if err := w.directory.CreateKey(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	w.clock.advance(2 * time.Second)
	w.want(t, text, nil)
}

func TestAnExpiredKeyIsRefusedAtOnce(t *testing.T) {
	w := newWorld(t)
	_, text := w.create(t, access.Key{Tenant: "made", ExpiresAt: w.clock.Now().Add(time.Second)})
	w.clock.advance(time.Second - time.Nanosecond)
	w.want(t, text, nil)
	w.clock.advance(time.Nanosecond)
	w.want(t, text, tenant.ErrUnknownKey)
	if n := w.directory.asked.Load(); n != 1 {
		t.Errorf("the directory was asked %d times", n)
	}
}

func TestASuspendedTenantsKeysAreRefused(t *testing.T) {
	w := newWorld(t)
	_, text := w.create(t, access.Key{Tenant: "made"})
	w.want(t, text, nil)
	for _, suspended := range []bool{true, false} {
		var want error
		if suspended {
			want = tenant.ErrSuspended
		}
		change := func(one *tenant.Tenant) error { one.Suspended = suspended; return nil }
		if _, err := w.directory.ChangeTenant(t.Context(), "made", change); err != nil {
			t.Fatal(err)
		}
		eventually(t, fmt.Sprint("suspended: ", suspended), func() bool {
			_, err := w.Authenticate(t.Context(), text)
			return errors.Is(err, want)
		})
	}
	_, paused := w.create(t, access.Key{Tenant: "paused"})
	w.want(t, paused, tenant.ErrSuspended)
}

// A new tenant is known at once. A key of a deleted tenant is unknown.
func TestTheKeysTenant(t *testing.T) {
	w := newWorld(t)
	if err := w.directory.CreateTenant(t.Context(), tenant.Tenant{ID: "new"}); err != nil {
		t.Fatal(err)
	}
	_, text := w.create(t, access.Key{Tenant: "new"})
	w.want(t, text, nil)
	_, orphan := w.create(t, access.Key{Tenant: "gone"})
	w.want(t, orphan, tenant.ErrUnknownKey)
	w.want(t, orphan, tenant.ErrUnknownKey)
}

// While the directory is not available, no key is reported as unknown. The directory's answers are not valid for
// longer.
func TestTheDirectoryIsAway(t *testing.T) {
	w := newWorld(t)
	_, known := w.create(t, access.Key{Tenant: "made"})
	_, other := w.create(t, access.Key{Tenant: "made"})
	_, orphan := w.create(t, access.Key{Tenant: "gone"})
	w.want(t, known, nil)
	w.want(t, "nobody's", tenant.ErrUnknownKey)
	w.directory.away.Store(true)
	w.want(t, known, nil)
	w.want(t, "nobody's", tenant.ErrUnknownKey)
	w.want(t, fileKey, nil)
	w.want(t, other, errAway)
	w.clock.advance(2 * time.Second)
	for _, text := range []string{known, other, orphan, "nobody's"} {
		w.want(t, text, errAway)
		if _, err := w.Authenticate(t.Context(), text); errors.Is(err, tenant.ErrUnknownKey) ||
			strings.Contains(err.Error(), text) {
			t.Errorf("got %v", err)
		}
	}
	w.want(t, fileKey, nil)
	w.directory.away.Store(false)
	w.want(t, known, nil)
	w.want(t, "nobody's", tenant.ErrUnknownKey)
}

// Only the tenants are not readable. The key is valid, but the state of its tenant is not available.
func TestTheTenantsAreAway(t *testing.T) {
	source := &flaky{Directory: inmem.New()}
	source.away.Store(true)
	registry, d := openRegistry(t, source), inmem.New()
	a := keys.New(registry, d, time.Now, slog.New(slog.DiscardHandler))
	k, text, err := access.NewKey(access.Key{Tenant: "made"}, time.Now())
	if err := errors.Join(err, d.CreateKey(t.Context(), k)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Authenticate(t.Context(), text); err == nil || errors.Is(err, tenant.ErrUnknownKey) {
		t.Errorf("got %v", err)
	}
}

func TestAtTheDoor(t *testing.T) {
	w := newWorld(t)
	_, text := w.create(t, access.Key{Tenant: "made"})
	_, late := w.create(t, access.Key{Tenant: "made"})
	guard := &guard.Guard{Auth: w, Log: slog.New(slog.DiscardHandler)}
	handler := guard.Wrap(func(rw http.ResponseWriter, _ *http.Request, p problem.Problem) { rw.WriteHeader(p.Status) },
		http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			p, _ := access.FromContext(r.Context())
			_, _ = rw.Write([]byte(p.Tenant.ID))
		}))
	call := func(key string) (int, string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer "+key)
		rw := httptest.NewRecorder()
		handler.ServeHTTP(rw, r)
		return rw.Code, rw.Body.String()
	}
	if code, who := call(text); code != http.StatusOK || who != "made" {
		t.Errorf("got %d by %q", code, who)
	}
	for key, want := range map[string]int{"nobody's": http.StatusUnauthorized, "paused": http.StatusForbidden,
		fileKey: http.StatusOK} {
		if code, _ := call(key); code != want {
			t.Errorf("%s: got %d, want %d", key, code, want)
		}
	}
	w.directory.away.Store(true)
	if code, _ := call(late); code != http.StatusServiceUnavailable {
		t.Errorf("away: got %d", code)
	}
}

func TestManyCallsAtATime(t *testing.T) {
	w := newWorld(t)
	run(t, w.Run)
	var texts []string
	for range 8 {
		_, text := w.create(t, access.Key{Tenant: "made"})
		texts = append(texts, text)
	}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for n := range 200 {
				if _, err := w.Authenticate(t.Context(), texts[(i+n)%len(texts)]); err != nil {
					t.Errorf("got %v", err)
				}
				w.clock.advance(100 * time.Millisecond)
			}
		})
	}
	group.Wait()
}
