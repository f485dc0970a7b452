package keys_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/access"
)

// directoryKeys is after how many keys the directory is emptied.
const directoryKeys = 1000

// forget revokes all keys.
func (w *world) forget(t *testing.T) {
	t.Helper()
	for _, tenantID := range []string{"made", "filed"} {
		all, err := w.directory.Keys(t.Context(), tenantID)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range all {
			if err := w.directory.RevokeKey(t.Context(), tenantID, k.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// lastUse is when the directory knows a key to have been used.
func (w *world) lastUse(t *testing.T, k access.Key) time.Time {
	t.Helper()
	found, err := w.directory.Directory.KeyByHash(t.Context(), k.Hash)
	if err != nil {
		t.Fatal(err)
	}
	return found.LastUsedAt
}

func TestTheLastUseIsKeptOnceAMinute(t *testing.T) {
	w := newWorld(t)
	run(t, w.Run)
	k, text := w.create(t, access.Key{Tenant: "made"})
	first := w.clock.Now()
	for range 29 { // of 58 seconds
		w.want(t, text, nil)
		w.clock.advance(2 * time.Second)
	}
	eventually(t, "the first use", func() bool { return w.lastUse(t, k).Equal(first) })
	w.clock.advance(2 * time.Second)
	w.want(t, text, nil)
	eventually(t, "the use after a minute", func() bool { return w.lastUse(t, k).Equal(first.Add(time.Minute)) })
	if n := w.directory.usages.Load(); n != 2 {
		t.Errorf("it was kept %d times", n)
	}
}

// A use that another gateway has kept is not kept again.
func TestTheLastUseIsKeptByOneGateway(t *testing.T) {
	w := newWorld(t)
	run(t, w.Run)
	k, text := w.create(t, access.Key{Tenant: "made"})
	w.clock.advance(time.Hour)
	if err := w.directory.Directory.Touch(t.Context(), "made", k.ID, w.clock.Now()); err != nil {
		t.Fatal(err)
	}
	w.want(t, text, nil)
	other, text := w.create(t, access.Key{Tenant: "made"})
	w.want(t, text, nil)
	eventually(t, "another key's use", func() bool { return !w.lastUse(t, other).IsZero() })
	if n := w.directory.usages.Load(); n != 1 {
		t.Errorf("it was kept %d times", n)
	}
}

func TestAUseThatCannotBeKeptIsNotedAgain(t *testing.T) {
	w := newWorld(t)
	run(t, w.Run)
	k, text := w.create(t, access.Key{Tenant: "made"})
	w.directory.untouchable.Store(true)
	for n := range int64(3) {
		eventually(t, "another try", func() bool { w.want(t, text, nil); return w.directory.usages.Load() > n })
		w.clock.advance(time.Second)
	}
	w.directory.untouchable.Store(false)
	eventually(t, "the use", func() bool { w.want(t, text, nil); return !w.lastUse(t, k).IsZero() })
	if said := w.log.String(); strings.Count(said, "level=WARN") != 1 || strings.Contains(said, text) {
		t.Errorf("the log says %q, want one warning", said)
	}
}

func TestAUseOfARevokedKeyIsPassedOver(t *testing.T) {
	w := newWorld(t)
	k, text := w.create(t, access.Key{Tenant: "made"})
	w.want(t, text, nil)
	if err := w.directory.RevokeKey(t.Context(), "made", k.ID); err != nil {
		t.Fatal(err)
	}
	run(t, w.Run)
	eventually(t, "the use", func() bool { return w.directory.usages.Load() == 1 })
	if said := w.log.String(); said != "" {
		t.Errorf("the log says %q", said)
	}
}

// Many keys in use during a storage failure make no call wait. The memory for notes is bounded.
func TestUsesAreBounded(t *testing.T) {
	w := newWorld(t)
	const many = 5000
	for i := range many {
		_, text := w.create(t, access.Key{Tenant: []string{"made", "filed"}[i%2], Name: "key"})
		w.want(t, text, nil)
		if i%directoryKeys == directoryKeys-1 {
			w.forget(t)
		}
	}
	run(t, w.Run)
	eventually(t, "what was noted", func() bool { return w.directory.usages.Load() == 1<<12 })
}
