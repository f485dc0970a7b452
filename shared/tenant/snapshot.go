package tenant

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// digest is the SHA-256 of an API key.
type digest [sha256.Size]byte

// snapshot is the tenants at one moment. It never changes.
type snapshot struct {
	ordered []Tenant
	byID    map[string]Tenant
	// byKey is indexed by a hash. So the time of a lookup reveals nothing about the keys.
	byKey map[digest]Tenant
	// broken maps tenants of the source with unusable records to the reason.
	broken map[string]error
}

// lookup returns the tenant of an id, or a terminal error. For an unusable record the error is retryable.
func (s *snapshot) lookup(id string) (Tenant, error) {
	if t, ok := s.byID[id]; ok {
		return t, nil
	}
	if err, ok := s.broken[id]; ok {
		// not wrapped: the caller did not cause its terminal errors
		return Tenant{}, fmt.Errorf("%w: %v", fault.ErrUnavailable, err)
	}
	return Tenant{}, fault.Terminal("tenant_id", "is %q, want the id of a tenant", id)
}

// builder collects the faults of a list of entries.
type builder struct {
	snapshot
	ids      map[string]int
	keys     map[digest]string
	problems []error
}

// newSnapshot checks entries and their minimum number, and makes a snapshot. The error joins one error per problem,
// each beginning with the path of its field.
func newSnapshot(entries []Entry, least int) (*snapshot, error) {
	b := builder{
		snapshot: snapshot{byID: map[string]Tenant{}, byKey: map[digest]Tenant{}},
		ids:      map[string]int{}, keys: map[digest]string{},
	}
	if len(entries) < least {
		b.fail("tenants", "is empty, want at least one tenant")
	}
	for i, e := range entries {
		b.add(i, e)
	}
	if len(b.problems) > 0 {
		return nil, errors.Join(b.problems...)
	}
	return &b.snapshot, nil
}

func (b *builder) fail(path, format string, args ...any) {
	b.problems = append(b.problems, fmt.Errorf("%s: %w", path, fmt.Errorf(format, args...)))
}

func (b *builder) add(i int, e Entry) {
	path := fmt.Sprintf("tenants[%d]", i)
	t := complete(e.Tenant, func(field, format string, args ...any) { b.fail(path+"."+field, format, args...) })
	if first, dup := b.ids[t.ID]; dup && memory.ValidTenant(t.ID) == nil {
		b.fail(path+".id", "is %q, as is tenants[%d].id; want every id once", t.ID, first)
	} else {
		b.ids[t.ID] = i
	}
	b.ordered = append(b.ordered, t)
	b.byID[t.ID] = t
	for k, key := range e.APIKeys {
		b.addKey(fmt.Sprintf("%s.api_keys[%d]", path, k), key, t)
	}
}

// addKey never shows the value: it may be a key that was not hashed.
func (b *builder) addKey(path, key string, t Tenant) {
	var d digest
	digits, ok := strings.CutPrefix(key, keyPrefix)
	if n, err := hex.Decode(d[:], []byte(digits[:min(len(digits), 2*len(d))])); !ok || err != nil || n != len(d) ||
		len(digits) != 2*len(d) {
		b.fail(path, "is not %sHEX with %d hexadecimal digits (the SHA-256 of the key)", keyPrefix, 2*len(d))
		return
	}
	if d == sha256.Sum256(nil) {
		b.fail(path, "is the hash of an empty key")
		return
	}
	if first, dup := b.keys[d]; dup {
		b.fail(path, "is the same key as %s; want every key once", first)
		return
	}
	b.keys[d] = path
	b.byKey[d] = t
}

// Check returns a tenant with defaults for omitted fields. Its error joins a terminal error for each unusable field.
func Check(t Tenant) (Tenant, error) {
	var problems []error
	t = complete(t, func(field, format string, args ...any) {
		problems = append(problems, fault.Terminal(field, format, args...))
	})
	return t, errors.Join(problems...)
}

// complete returns a tenant with defaults for omitted fields. It calls fail for each unusable field.
func complete(t Tenant, fail failure) Tenant {
	if memory.ValidTenant(t.ID) != nil {
		fail("id", "is %q, want 1 to %d of a-z, 0-9 and '-', not starting or ending with '-'", t.ID, memory.MaxTenantBytes)
	}
	if t.Name == "" {
		t.Name = t.ID
	}
	t.Strategy = choose(fail, "strategy", t.Strategy, Strategies())
	if version := t.Policy.Version(); strings.Contains(string(t.Policy), "@") {
		switch {
		case t.Policy.Kind() != PolicyEmbedded || ValidVersion(version) != nil:
			fail("policy", "is %q, want one of %q, or %s@VERSION of a trained policy", t.Policy, Policies(), PolicyEmbedded)
		case t.Strategy != StrategySalimory:
			fail("policy", "is %q, want a trained policy with strategy %s only", t.Policy, StrategySalimory)
		}
	} else {
		t.Policy = choose(fail, "policy", t.Policy, Policies())
	}
	if t.Saliency == "" {
		t.Saliency = t.Strategy.Saliency()
	}
	t.Saliency = choose(fail, "saliency", t.Saliency, memory.SaliencyModes())
	if _, ok := t.Explore.number(); !ok && t.Explore != "" && t.Explore != ExplorationOn && t.Explore != ExplorationOff {
		fail("explore", "is %q, want %s, %s or a share from 0 to 1", string(t.Explore), ExplorationOn, ExplorationOff)
	}
	if t.TalkDays < 0 || t.TalkDays > MaxTalkDays {
		fail("talk_days", "is %d, want 1 to %d days, or 0 for ever", t.TalkDays, MaxTalkDays)
	}
	return t
}

// failure receives the fault of a field.
type failure func(field, format string, args ...any)

// choose returns value, or the first allowed one for an empty value.
func choose[T ~string](fail failure, field string, value T, allowed []T) T {
	if value == "" {
		return allowed[0]
	}
	if !slices.Contains(allowed, value) {
		names := make([]string, len(allowed))
		for i, a := range allowed {
			names[i] = string(a)
		}
		fail(field, "is %q, want one of: %s", string(value), strings.Join(names, ", "))
	}
	return value
}

// sourceTimeout is how long one check of the source may take.
const sourceTimeout = 2 * time.Second

// Source has tenants that are made, changed and suspended at run time. It is safe for concurrent use.
type Source interface {
	// Tenants returns all tenants by ascending id, each id once. Omitted fields have their defaults.
	Tenants(ctx context.Context) ([]Tenant, error)
	// Revision changes when any tenant does.
	Revision(ctx context.Context) (string, error)
}

// sourceReader reads a source, one read at a time, and only after a change.
type sourceReader struct {
	Source
	begun atomic.Uint64 // checks, including the current one

	mu       sync.Mutex // held while reading
	read     bool       // a read succeeded, and the last check did not fail
	revision string
	err      error // of the last check
}

// refresh checks the source, applies its changes, and reports errors.
func (r *Registry) refresh(ctx context.Context) error {
	changed, notes, err := r.look(ctx)
	for _, n := range notes {
		r.fail(n)
	}
	if changed {
		r.report(nil)
	}
	return err
}

// look checks the source and applies its changes. The caller must report the notes. A call that waited while
// another check began after it takes the result of that check.
func (r *Registry) look(ctx context.Context) (changed bool, notes []error, err error) {
	s := r.source
	begun := s.begun.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun.Load() > begun {
		return false, nil, s.err
	}
	s.begun.Add(1)
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	tenants, changed, err := s.load(ctx)
	if err != nil {
		err = fmt.Errorf("read the tenants of the directory: %w", err)
		if s.err == nil && !errors.Is(ctx.Err(), context.Canceled) { // else it was reported before, or the caller has left
			notes = []error{err}
		}
		s.read, s.err = false, err
		return false, notes, err
	}
	s.err = nil
	if changed {
		notes = r.apply(tenants)
	}
	return changed, notes, nil
}

// load returns the tenants after a change. It reads the revision first, so a later change causes another read.
func (s *sourceReader) load(ctx context.Context) (tenants []Tenant, changed bool, err error) {
	revision, err := s.Revision(ctx)
	if err != nil || s.read && revision == s.revision {
		return nil, false, err
	}
	if tenants, err = s.Tenants(ctx); err != nil {
		return nil, false, err
	}
	s.read, s.revision = true, revision
	return tenants, true, nil
}

// ask checks the source for an unknown id. Its error is retryable, because the existence of the tenant is then not
// known.
func (r *Registry) ask(id string) error {
	if memory.ValidTenant(id) != nil {
		return nil
	}
	if err := r.refresh(context.Background()); err != nil {
		return fmt.Errorf("%w: cannot look up tenant %q: %v", fault.ErrUnavailable, id, err) // not wrapped: it is retryable
	}
	return nil
}

// apply applies the source's tenants.
func (r *Registry) apply(tenants []Tenant) (notes []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made = tenants
	return r.unite()
}

// unite joins the tenants of the file and of the source into the current ones. It returns the new faults of tenants
// of the source.
func (r *Registry) unite() (notes []error) {
	s := &snapshot{
		ordered: slices.Clone(r.file.ordered), byID: maps.Clone(r.file.byID), byKey: r.file.byKey, broken: map[string]error{},
	}
	told := map[string]bool{}
	note := func(err error) {
		if told[err.Error()] = true; !r.told[err.Error()] {
			notes = append(notes, err)
		}
	}
	for _, t := range r.made {
		if _, known := s.byID[t.ID]; known {
			note(fmt.Errorf("tenant %q is in the directory and in the tenants file: using the file's entry", t.ID))
			continue
		}
		t, err := Check(t)
		if err != nil {
			s.broken[t.ID] = fmt.Errorf("tenant %q cannot be used: %w", t.ID, err)
			note(s.broken[t.ID])
			continue
		}
		s.ordered = append(s.ordered, t)
		s.byID[t.ID] = t
	}
	r.told = told
	r.current.Store(s)
	return notes
}
