package wiring

import (
	"context"
	"errors"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/directory"
	directoryredis "github.com/mneme-memory/mneme/shared/store/directory/redis"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// Builder collects the parts of a service during its start. If a later part fails, Abandon frees the earlier parts,
// because the runner builds again.
type Builder struct {
	App runner.App
}

// Open opens the first parts of a service: the tenants, which it keeps up to date, and the bus. After an error
// nothing stays open.
func (b *Builder) Open(
	ctx context.Context, name string, tenants Tenants, bus Bus, tel *telemetry.Telemetry,
) (*tenant.Registry, *BusClient, error) {
	registry, err := b.OpenTenants(tenants, tel)
	if err != nil {
		return nil, nil, err
	}
	client, err := bus.Open(ctx, name, tel)
	if err != nil {
		_, err = b.Abandon(ctx, err)
		return nil, nil, err
	}
	b.OnClose("bus", client.Close)
	return registry, client, nil
}

// OpenTenants opens the tenants, and keeps them up to date.
func (b *Builder) OpenTenants(t Tenants, tel *telemetry.Telemetry) (*tenant.Registry, error) {
	registry, free, err := t.open(tel)
	if err != nil {
		return nil, err
	}
	b.OnClose("tenants", free)
	b.Background(runner.Task{Name: "watch tenants", Run: registry.Run})
	return registry, nil
}

// OnClose registers a function that frees a part at the end. They run in reverse order.
func (b *Builder) OnClose(name string, free func() error) {
	b.App.Close = append(b.App.Close, runner.Step{Name: name, Run: func(context.Context) error { return free() }})
}

// Background adds background tasks.
func (b *Builder) Background(tasks ...runner.Task) {
	b.App.Background = append(b.App.Background, tasks...)
}

// Abandon frees all parts so far and returns the cause.
func (b *Builder) Abandon(ctx context.Context, cause error) (*runner.App, error) {
	errs := []error{cause}
	for i := len(b.App.Close) - 1; i >= 0; i-- {
		errs = append(errs, b.App.Close[i].Run(ctx))
	}
	if errors.Join(errs[1:]...) == nil {
		return nil, cause // unchanged: a joined error would hide the kind of the cause
	}
	return nil, errors.Join(errs...)
}

// noFile is the path that means: no tenants file.
const noFile = "-"

// Tenants configures the sources of tenants.
type Tenants struct {
	// Redis has the directory. Services that also use Redis otherwise share these settings.
	Redis     Redis
	File      string        `env:"MNEME_TENANTS_FILE" envDefault:"tenants.yaml" desc:"YAML file of the tenants; read again when it changes; - for no file, if MNEME_TENANTS_DIRECTORY is true"`
	Directory bool          `env:"MNEME_TENANTS_DIRECTORY" envDefault:"false" desc:"whether the services also use tenants that are created at run time and kept in Redis; must be the same in all services"`
	Poll      time.Duration `env:"MNEME_TENANTS_POLL" envDefault:"2s" desc:"interval between checks of the tenants file and the directory"`
}

// Validate checks the limits that the types do not express.
func (t Tenants) Validate() error {
	return config.Require(t.File != noFile || t.Directory, "MNEME_TENANTS_FILE", t.File,
		"a file, unless MNEME_TENANTS_DIRECTORY is true")
}

// open reads the tenants. The caller frees the registry. It does not wait for Redis: the tenants stored there arrive
// once Redis is reachable.
func (t Tenants) open(tel *telemetry.Telemetry) (r *tenant.Registry, free func() error, err error) {
	o := tenant.Options{
		Path: t.File, Poll: t.Poll,
		OnReload: func(ts []tenant.Tenant) { tel.Log.Info("tenants reloaded", "tenants", len(ts)) },
		OnError:  func(err error) { tel.Log.Error("tenants not taken, those from before stay", "error", err) },
	}
	if t.File == noFile {
		o.Path = ""
	}
	free = nothing
	if t.Directory {
		if o.Source, free, err = t.Redis.OpenDirectory(tel); err != nil {
			return nil, nil, err
		}
	}
	if r, err = tenant.Open(o); err != nil {
		return nil, nil, errors.Join(err, free())
	}
	return r, free, nil
}

// OpenDirectory opens the tenants and API keys that are created at run time. It does not wait for Redis. The caller
// frees the directory.
func (r Redis) OpenDirectory(tel *telemetry.Telemetry) (directory.Directory, func() error, error) {
	return openOver(r, tel, func(c goredis.UniversalClient) (directory.Directory, error) {
		return directoryredis.New(c, directoryredis.Options{Prefix: r.DirectoryPrefix})
	})
}
