package tenant

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
)

// DefaultPoll is how often a registry looks whether its file has changed.
const DefaultPoll = 2 * time.Second

// Options configure a registry.
type Options struct {
	// Path is the tenants file.
	Path string
	// Poll is how often Run looks at the file; 0 means DefaultPoll.
	Poll time.Duration
	// OnReload gets the tenants after a change was taken; may be nil.
	OnReload func([]Tenant)
	// OnError gets, once for each change, why a change was not taken: the tenants from
	// before stay. May be nil.
	OnError func(error)
}

// Registry knows the tenants. It is safe for concurrent use.
type Registry struct {
	options Options
	current atomic.Pointer[snapshot]

	mu   sync.Mutex  // guards reading the file
	seen fs.FileInfo // of the file as it was read last; nil when it was not there
}

// Open reads the tenants file; it fails when the file is not valid.
func Open(o Options) (*Registry, error) {
	if o.Poll <= 0 {
		o.Poll = DefaultPoll
	}
	r := &Registry{options: o}
	if err := r.Reload(); err != nil {
		return nil, err
	}
	return r, nil
}

// Static makes a registry of fixed tenants, for tests and single-tenant processes.
func Static(entries ...Entry) (*Registry, error) {
	s, err := newSnapshot(entries)
	if err != nil {
		return nil, err
	}
	r := &Registry{}
	r.current.Store(s)
	return r, nil
}

// Lookup returns the tenant of an id, or a terminal error about tenant_id.
func (r *Registry) Lookup(id string) (Tenant, error) {
	t, ok := r.current.Load().byID[id]
	if !ok {
		return Tenant{}, fault.Terminal("tenant_id", "is %q, want the id of a tenant", id)
	}
	return t, nil
}

// Authenticate returns the tenant that an API key belongs to, or ErrUnknownKey.
func (r *Registry) Authenticate(key string) (Tenant, error) {
	t, ok := r.current.Load().byKey[sha256.Sum256([]byte(key))]
	if !ok {
		return Tenant{}, ErrUnknownKey
	}
	return t, nil
}

// Tenants returns all tenants in the order of the file.
func (r *Registry) Tenants() []Tenant { return slices.Clone(r.current.Load().ordered) }

// Reload reads the file at once. When it is not valid, the tenants from before stay. A
// static registry has nothing to read.
func (r *Registry) Reload() error {
	if r.options.Path == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// Looked at before it is read: a change in between is seen at the next look.
	info, err := os.Stat(r.options.Path)
	r.seen = info
	if err != nil {
		return fmt.Errorf("read tenants: %w", err)
	}
	content, err := os.ReadFile(r.options.Path)
	if err != nil {
		return fmt.Errorf("read tenants: %w", err)
	}
	_, s, err := parse(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("tenants file %s: %w", r.options.Path, err)
	}
	r.current.Store(s)
	return nil
}

// Run reloads the file when it changes, until ctx is done; then it returns nil. What goes
// wrong is reported to Options.OnError and does not end it.
func (r *Registry) Run(ctx context.Context) error {
	if r.options.Path == "" {
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
			if r.changed() {
				r.report(r.Reload())
			}
		}
	}
}

// changed reports whether the file is another one than was read last.
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

func (r *Registry) report(err error) {
	if err != nil {
		if r.options.OnError != nil {
			r.options.OnError(err)
		}
		return
	}
	if r.options.OnReload != nil {
		r.options.OnReload(r.Tenants())
	}
}
