package wiring

import (
	"context"
	"errors"

	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// Builder collects what a service is made of while it is built. When a later part cannot be had, Abandon
// frees the earlier ones, because the runner builds again.
type Builder struct {
	App runner.App
}

// Open opens what a service begins with: the tenants, which are kept up to date, and the bus. Where it fails nothing is left open.
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

// OnClose frees a part at the end, in reverse order.
func (b *Builder) OnClose(name string, free func() error) {
	b.App.Close = append(b.App.Close, runner.Step{Name: name, Run: func(context.Context) error { return free() }})
}

// Background adds work.
func (b *Builder) Background(tasks ...runner.Task) {
	b.App.Background = append(b.App.Background, tasks...)
}

// Abandon frees what was made so far and returns why.
func (b *Builder) Abandon(ctx context.Context, cause error) (*runner.App, error) {
	errs := []error{cause}
	for i := len(b.App.Close) - 1; i >= 0; i-- {
		errs = append(errs, b.App.Close[i].Run(ctx))
	}
	if errors.Join(errs[1:]...) == nil {
		return nil, cause // as it is: joined errors would hide what kind it is
	}
	return nil, errors.Join(errs...)
}
