package tenant

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

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
