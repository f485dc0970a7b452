package wiring

import (
	"context"
	"errors"

	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
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
