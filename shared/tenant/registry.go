package tenant

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultPoll is how often a registry checks its file and its source for changes.
const DefaultPoll = 2 * time.Second

// Options configure a registry.
type Options struct {
	// Path is the tenants file. It may be empty where there is a source.
	Path string
	// Source has tenants in addition to the file. It may be nil. For an id in both, the file wins.
	Source Source
	// Poll is how often Run checks file and source. 0 means DefaultPoll.
	Poll time.Duration
	// OnReload gets the tenants after a change was applied, or after the first read of the source. It may be nil.
	// Several goroutines may call it at a time.
	OnReload func([]Tenant)
	// OnError gets, once for each change, the reason for a rejected change. The previous tenants stay. It may be
	// nil. Several goroutines may call it at a time.
	OnError func(error)
}

// Registry holds the tenants. It is safe for concurrent use.
type Registry struct {
	options Options
	current atomic.Pointer[snapshot]
	source  *sourceReader // nil where there is none

	mu   sync.Mutex  // guards the fields below, and reading the file
	seen fs.FileInfo // of the file at its last read; nil for a missing file
	file *snapshot   // the file's tenants
	made []Tenant    // the source's tenants
	told map[string]bool
}

// Open reads the tenants file. It fails when the file is not valid. Open reports an unreadable source and still
// succeeds. The tenants of the source follow as soon as it is readable.
func Open(o Options) (*Registry, error) {
	if o.Path == "" && o.Source == nil {
		return nil, errors.New("tenants: neither a file nor another source is named")
	}
	if o.Poll <= 0 {
		o.Poll = DefaultPoll
	}
	r := &Registry{options: o}
	if err := r.openFile(); err != nil {
		return nil, err
	}
	if o.Source != nil {
		r.source = &sourceReader{Source: o.Source}
		_ = r.refresh(context.Background()) // it reports its error
	}
	return r, nil
}

func (r *Registry) openFile() error {
	if r.options.Path != "" {
		return r.Reload()
	}
	none, err := newSnapshot(nil, 0)
	r.file = none
	r.current.Store(none)
	return err
}

// Static makes a registry of fixed tenants, for tests and single-tenant processes.
func Static(entries ...Entry) (*Registry, error) {
	s, err := newSnapshot(entries, 1)
	if err != nil {
		return nil, err
	}
	r := &Registry{}
	r.current.Store(s)
	return r, nil
}

// Lookup returns the tenant of an id, even if suspended, or a terminal error about tenant_id. With a source, Lookup
// first asks it for an unknown id, because the tenant may be new. That takes a few seconds at most. If the source
// cannot answer, the error is retryable.
func (r *Registry) Lookup(id string) (Tenant, error) {
	t, err := r.current.Load().lookup(id)
	if err == nil || r.source == nil {
		return t, err
	}
	if err := r.ask(id); err != nil {
		return Tenant{}, err
	}
	return r.current.Load().lookup(id)
}

// Authenticate returns the tenant that an API key of the file belongs to, ErrUnknownKey, or ErrSuspended.
func (r *Registry) Authenticate(key string) (Tenant, error) {
	t, ok := r.current.Load().byKey[sha256.Sum256([]byte(key))]
	if !ok {
		return Tenant{}, ErrUnknownKey
	}
	if t.Suspended {
		return Tenant{}, ErrSuspended
	}
	return t, nil
}

// Tenants returns all tenants in the order of the file, then the tenants of the source by id.
func (r *Registry) Tenants() []Tenant { return slices.Clone(r.current.Load().ordered) }

// Reload reads the file at once. When it is not valid, the previous tenants stay. A registry without a file reads
// nothing.
func (r *Registry) Reload() error {
	if r.options.Path == "" {
		return nil
	}
	notes, err := r.reload()
	for _, n := range notes {
		r.fail(n)
	}
	return err
}

func (r *Registry) reload() (notes []error, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// The registry checks the file before it reads it. So the next check sees a change in between.
	info, err := os.Stat(r.options.Path)
	r.seen = info
	if err != nil {
		return nil, fmt.Errorf("read tenants: %w", err)
	}
	content, err := os.ReadFile(r.options.Path)
	if err != nil {
		return nil, fmt.Errorf("read tenants: %w", err)
	}
	least := 1
	if r.options.Source != nil {
		least = 0
	}
	_, s, err := parse(bytes.NewReader(content), least)
	if err != nil {
		return nil, fmt.Errorf("tenants file %s: %w", r.options.Path, err)
	}
	r.file = s
	return r.unite(), nil
}

// Run applies changes of file and source until ctx is done. Then it returns nil. Options.OnError gets the errors,
// and they do not end Run.
func (r *Registry) Run(ctx context.Context) error {
	if r.options.Path == "" && r.source == nil {
		<-ctx.Done()
		return nil
	}
	ticker := time.NewTicker(r.options.Poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if r.options.Path != "" && r.changed() {
				r.report(r.Reload())
			}
			if r.source != nil {
				_ = r.refresh(ctx) // it reports its error
			}
		}
	}
}

// changed reports whether the file differs from the last read.
func (r *Registry) changed() bool {
	info, err := os.Stat(r.options.Path)
	if err != nil {
		info = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if info == nil || r.seen == nil {
		return (info == nil) != (r.seen == nil)
	}
	return !os.SameFile(info, r.seen) || info.Size() != r.seen.Size() || !info.ModTime().Equal(r.seen.ModTime())
}

func (r *Registry) fail(err error) {
	if r.options.OnError != nil {
		r.options.OnError(err)
	}
}

func (r *Registry) report(err error) {
	if err != nil {
		r.fail(err)
		return
	}
	if r.options.OnReload != nil {
		r.options.OnReload(r.Tenants())
	}
}
