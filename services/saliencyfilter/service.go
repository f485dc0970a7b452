// Package saliencyfilter is the attentional gate. It consumes session events and decides for each turn if it is worth
// remembering. It publishes exactly one salient event per event. A dropping gate drops the other turns, and a marking
// gate only marks them.
package saliencyfilter

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/decisions"
)

// Config is the settings of the service.
type Config struct {
	Bus       wiring.Bus
	Tenants   wiring.Tenants
	Model     wiring.Model
	Formation wiring.FormationOptions
	Decided   decisions.Options
	Group     string `env:"MNEME_FILTER_GROUP" envDefault:"mneme-saliency-filter" desc:"consumer group of the saliency filter"`
	// Gather exists because a model call for three turns costs little more than a call for one turn.
	Gather time.Duration `envDefault:"200ms"`
}

const name = "saliency-filter"

// Service is the saliency filter.
var Service = runner.Define(name, "decides which turns are worth remembering", build,
	runner.Default(runner.AddrVariable, "127.0.0.1:8401"))

func build(ctx context.Context, cfg Config, tel *telemetry.Telemetry) (*runner.App, error) {
	b := &wiring.Builder{}
	tenants, client, err := b.Open(ctx, name, cfg.Tenants, cfg.Bus, tel)
	if err != nil {
		return nil, err
	}
	if _, err := b.Account(&cfg.Model, cfg.Tenants.Redis, tel); err != nil {
		return b.Abandon(ctx, err)
	}
	filters, free, err := cfg.Model.OpenFilters(cfg.Formation, tel)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	b.OnClose("models", free)
	forget, err := cfg.openDecisions(b, filters, tel)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	counter, err := telemetry.MetricTurns.Counter(tel.Meter.Meter(wiring.Scope))
	if err != nil {
		return b.Abandon(ctx, err)
	}
	gate := &Gate{
		Tenants: tenants, Filters: filters.Find, Out: client.Publisher, Now: time.Now, Decided: counter, Forget: forget,
		Gather: cfg.Gather,
	}
	consume, err := client.ConsumeGathered(contract.TopicSessionEvents, cfg.Group, gate.Wait, gate.Handle)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	b.Background(consume)
	return &b.App, nil
}

// openDecisions adds a store for the decisions of a model, and returns a function that clears it. The function is nil
// without a model.
func (c Config) openDecisions(b *wiring.Builder, filters wiring.Filters, tel *telemetry.Telemetry) (
	forget func(context.Context, memory.Scope) error, err error,
) {
	if !filters.Asks() {
		return nil, nil
	}
	client, err := c.Tenants.Redis.Open(tel)
	if err != nil {
		return nil, err
	}
	b.OnClose("redis of decisions", client.Close)
	store := decisions.New(client, c.Decided)
	filters.Keep(store.Of)
	return func(ctx context.Context, scope memory.Scope) error { return store.Erase(ctx, scope, "") }, nil
}

func decided(tenantID, verdict string) metric.AddOption {
	return metric.WithAttributes(telemetry.AttrTenant.String(tenantID), telemetry.AttrOutcome.String(verdict))
}
