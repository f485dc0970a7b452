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

// sourceTimeout is how long one look at the source may take.
const sourceTimeout = 2 * time.Second

// Source has tenants that are made, changed and suspended at run time. It is safe for concurrent use.
type Source interface {
	// Tenants returns all tenants by ascending id, each id once. What is left out in one has its default.
	Tenants(ctx context.Context) ([]Tenant, error)
	// Revision changes when any tenant does.
	Revision(ctx context.Context) (string, error)
}

// sourceReader reads a source, once at a time, and only where it has changed.
type sourceReader struct {
	Source
	begun atomic.Uint64 // looks, that on its way included

	mu       sync.Mutex // held while reading
	read     bool       // it was read, and has not failed since
	revision string
	err      error // of the last look
}

// refresh looks at the source, takes what has changed, and reports what is wrong.
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

// look looks at the source and takes what has changed; notes are to be reported. Where another look has begun after the call, while it
// waited for one, that is its answer, too.
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
		err = fmt.Errorf("read tenants made at run time: %w", err)
		if s.err == nil && !errors.Is(ctx.Err(), context.Canceled) { // else it is told already, or nobody waits for it
			notes = []error{err}
		}
		s.read, s.err = false, err
		return false, notes, err
	}
	s.err = nil
	if changed {
		notes = r.take(tenants)
	}
	return changed, notes, nil
}

// load returns the tenants where they have changed. The revision is asked for first: tenants that change in between are read again.
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

// ask looks at the source for an id that is not known. Its error is retryable: whether there is such a tenant cannot be told.
func (r *Registry) ask(id string) error {
	if memory.ValidTenant(id) != nil {
		return nil
	}
	if err := r.refresh(context.Background()); err != nil {
		return fmt.Errorf("%w: whether there is a tenant %q cannot be told: %v", fault.ErrUnavailable, id, err) // not wrapped: it is retryable
	}
	return nil
}

// take takes the source's tenants.
func (r *Registry) take(tenants []Tenant) (notes []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made = tenants
	return r.unite()
}

// unite makes the tenants of the file and those of the source the current ones. It returns what is wrong with tenants of the source and
// was not before.
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
			note(fmt.Errorf("tenant %q was made at run time, but the tenants file has it, too: the file's is used", t.ID))
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
