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

// DefaultPoll is how often a registry looks whether its file or its source has changed.
const DefaultPoll = 2 * time.Second

// Options configure a registry.
type Options struct {
	// Path is the tenants file; it may be empty where there is a source.
	Path string
	// Source has tenants beside those of the file; nil for none. An id that the file has, too, is the file's.
	Source Source
	// Poll is how often Run looks at file and source; 0 means DefaultPoll.
	Poll time.Duration
	// OnReload gets the tenants after a change was taken, or the source was read first; may be nil, and called by several goroutines at
	// a time.
	OnReload func([]Tenant)
	// OnError gets, once for each change, why a change was not taken: the tenants from
	// before stay. May be nil, and called by several goroutines at a time.
	OnError func(error)
}

// Registry knows the tenants. It is safe for concurrent use.
type Registry struct {
	options Options
	current atomic.Pointer[snapshot]
	source  *sourceReader // nil where there is none

	mu   sync.Mutex  // guards what follows, and reading the file
	seen fs.FileInfo // of the file as it was read last; nil when it was not there
	file *snapshot   // the file's tenants
	made []Tenant    // the source's tenants
	told map[string]bool
}

// Open reads the tenants file; it fails when the file is not valid. A source that cannot be read is reported, and no reason to fail: its
// tenants come as soon as it can.
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
		_ = r.refresh(context.Background()) // it is reported
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

// Lookup returns the tenant of an id, whether or not it is suspended, or a terminal error about tenant_id. Where there is a source, one
// that is not known is asked for there first, which takes a few seconds at most: it may have been made a moment ago. When that cannot be
// told, the error is retryable.
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

// Tenants returns all tenants in the order of the file, then those of the source by id.
func (r *Registry) Tenants() []Tenant { return slices.Clone(r.current.Load().ordered) }

// Reload reads the file at once. When it is not valid, the tenants from before stay. A
// registry without a file has nothing to read.
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
	// Looked at before it is read: a change in between is seen at the next look.
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

// Run takes changes of file and source, until ctx is done; then it returns nil. What goes
// wrong is reported to Options.OnError and does not end it.
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
				_ = r.refresh(ctx) // it is reported
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
