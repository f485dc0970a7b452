// Package saliencyfilter is the attentional gate. It consumes session events and decides for each turn if it is worth
// remembering. It publishes exactly one salient event per event. A dropping gate drops the other turns, and a marking
// gate only marks them.
package saliencyfilter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/decisions"
	"github.com/mneme-memory/mneme/shared/tenant"
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

// Filters finds the filter of a tenant's policy. An unknown policy is an error.
type Filters func(policy tenant.Policy) (formation.Filter, error)

// Gate converts session events to salient events, one for one and in order. The tenant's setting determines if it
// drops turns.
type Gate struct {
	Tenants *tenant.Registry
	Filters Filters
	Out     bus.Publisher
	Now     func() time.Time
	// Decided counts turns by tenant and outcome.
	Decided metric.Int64Counter
	// Forget removes the filters' data of a user. It is nil if filters keep no data.
	Forget func(ctx context.Context, scope memory.Scope) error
	// Gather is how long a turn waits for more turns of its user, if a model rates them.
	Gather time.Duration
}

// Wait returns how long a record waits for more records of its user. A turn that a model rates waits for Gather, and
// other records do not wait.
func (g *Gate) Wait(m bus.Message) time.Duration {
	tenantID, _, _ := strings.Cut(string(m.Key), "/")
	t, err := g.Tenants.Lookup(tenantID)
	if err != nil || g.Gather == 0 || t.Policy != tenant.PolicyLLM || t.Saliency == memory.SaliencyOff {
		return 0 // Handle reports the error
	}
	if e, err := contract.DecodeSessionEvent(m.Key, m.Value, g.Now()); err != nil || e.Turn == nil {
		return 0
	}
	return g.Gather
}

// Handle is the bus handler. A batch belongs to one user. An invalid event is a terminal error, and nothing of its
// batch is published.
func (g *Gate) Handle(ctx context.Context, batch []bus.Message) error {
	events := make([]contract.SessionEvent, len(batch))
	now := g.Now()
	for i, m := range batch {
		e, err := contract.DecodeSessionEvent(m.Key, m.Value, now)
		if err != nil {
			return err
		}
		events[i] = e
	}
	scope := events[0].Scope
	t, err := g.Tenants.Lookup(scope.Tenant)
	if err != nil {
		return err
	}
	decisions, err := g.decide(ctx, t, scope, events)
	if err != nil {
		return err
	}
	out := make([]bus.Message, len(events))
	for i, e := range events {
		if out[i], err = message(e, decisions[e.EventID]); err != nil {
			return err
		}
		out[i].Headers = batch[i].Headers // each event keeps its trace
	}
	if g.Forget != nil && slices.ContainsFunc(events, func(e contract.SessionEvent) bool { return !e.ErasedAt.IsZero() }) {
		if err := g.Forget(ctx, scope); err != nil { // the event is published only after that
			return fmt.Errorf("forget an erased user: %w", err)
		}
	}
	if err := g.Out.Publish(ctx, out...); err != nil {
		return fmt.Errorf("publish salient events: %w", err)
	}
	g.count(ctx, scope.Tenant, decisions)
	return nil
}

// decide calls the policy once for all turns of the batch. If an event id or a turn id repeats in the batch, the
// first decision stands, even with another text. A repetition in a later batch may get a new decision (a model's
// decisions are kept for some days, see package decisions). The consumers of decisions then keep the first one.
// Consolidation drops events with known ids, and skips a turn that was dropped before it passed. Attribution keeps
// the first decision on a turn. One case stays undetected: an event id with different turns in different batches,
// after consolidation has forgotten the id. Each of those turns then counts as a new turn.
func (g *Gate) decide(
	ctx context.Context, t tenant.Tenant, scope memory.Scope, events []contract.SessionEvent,
) (map[string]memory.SaliencyDecision, error) {
	var turns []memory.Turn
	places := map[string]int{} // the index of the deciding turn, by event id
	for _, e := range events {
		if e.Turn == nil {
			continue
		}
		if _, again := places[e.EventID]; again {
			continue
		}
		place := slices.IndexFunc(turns, func(t memory.Turn) bool { return t.ID == e.Turn.ID })
		if place < 0 {
			place = len(turns)
			turns = append(turns, *e.Turn)
		}
		places[e.EventID] = place
	}
	if len(turns) == 0 {
		return nil, nil
	}
	verdicts, err := g.rate(ctx, t, scope, turns)
	if err != nil {
		return nil, err
	}
	at := g.Now().UTC().Truncate(time.Millisecond) // the precision of all stores
	out := make(map[string]memory.SaliencyDecision, len(places))
	for id, place := range places {
		d := verdicts[place]
		d.Mode, d.DecidedAt = t.Saliency, at
		out[id] = d
	}
	return out, nil
}

// unrated is the policy name of a turn without a rating.
const unrated = "off"

// rate rates turns with the policy, if the tenant uses a filter.
func (g *Gate) rate(
	ctx context.Context, t tenant.Tenant, scope memory.Scope, turns []memory.Turn,
) ([]memory.SaliencyDecision, error) {
	if t.Saliency == memory.SaliencyOff {
		return slices.Repeat([]memory.SaliencyDecision{{Salient: true, PolicyVersion: unrated}}, len(turns)), nil
	}
	filter, err := g.Filters(t.Policy)
	if err != nil {
		return nil, err
	}
	verdicts, err := filter.Filter(ctx, scope, turns, nil)
	if err != nil {
		return nil, fmt.Errorf("filter turns: %w", err)
	}
	if len(verdicts) != len(turns) {
		return nil, fmt.Errorf("filter turns: %d decisions on %d turns", len(verdicts), len(turns))
	}
	return verdicts, nil
}

// message returns the salient event of a session event.
func message(e contract.SessionEvent, d memory.SaliencyDecision) (bus.Message, error) {
	s := contract.SalientEvent{Envelope: e.Envelope, ClosedAt: e.ClosedAt, ErasedAt: e.ErasedAt, IdleAfter: e.IdleAfter,
		Decision: d}
	switch {
	case e.Turn != nil && d.Passes():
		s.Turn = e.Turn
	case e.Turn != nil:
		s.Dropped = e.Turn
	}
	value, err := s.Encode()
	return bus.Message{Topic: contract.TopicSalientTurns, Key: e.Key(), Value: value}, err
}

func (g *Gate) count(ctx context.Context, tenantID string, decisions map[string]memory.SaliencyDecision) {
	outcomes := map[string]int64{}
	for _, d := range decisions {
		outcomes[outcome(d)]++
	}
	for name, n := range outcomes {
		g.Decided.Add(ctx, n, decided(tenantID, name))
	}
}

// outcome returns the metric label of a decision.
func outcome(d memory.SaliencyDecision) string {
	switch {
	case d.Mode == memory.SaliencyOff:
		return "unrated"
	case d.Salient:
		return "salient"
	case d.Passes():
		return "marked"
	}
	return "dropped"
}
