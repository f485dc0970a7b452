// Package booster is consolidation: it appends salient turns to working memory at once, signals
// the user's workflow, and runs the workflows and their activities.
package booster

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.temporal.io/sdk/worker"
	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/formation/parallel"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/bank/weaviate"
	"github.com/mneme-memory/mneme/workflows/consolidation"
	"github.com/mneme-memory/mneme/workflows/erasure"
)

// Config is the settings of the service.
type Config struct {
	Bus           wiring.Bus
	Tenants       wiring.Tenants
	Window        wiring.Window
	Workflows     wiring.Workflows
	Bank          weaviate.Config
	Model         wiring.Model
	Formation     wiring.FormationOptions
	Parallel      parallel.Options `envPrefix:"MNEME_BOOSTER_"`
	Embedding     wiring.Embedding
	Webhooks      wiring.Webhooks
	Group         string   `env:"MNEME_BOOSTER_GROUP" envDefault:"mneme-booster" desc:"consumer group of the booster; the group of attribution has the suffix -attribution"`
	Roles         []string `env:"MNEME_BOOSTER_ROLES" envDefault:"intake,attribution,workflow,model,store" desc:"roles of this process, which can scale separately: intake, attribution (stores the reasons for dropped turns), workflow, model, store"`
	ModelParallel int      `env:"MNEME_BOOSTER_MODEL_PARALLEL" envDefault:"16" desc:"model-bound activities at the same time"`
	StoreParallel int      `env:"MNEME_BOOSTER_STORE_PARALLEL" envDefault:"64" desc:"store-bound activities at the same time"`
}

// Validate checks the limits that the types do not express.
func (c Config) Validate() error {
	errs := []error{
		config.Require(len(c.Roles) > 0, "MNEME_BOOSTER_ROLES", c.Roles, "at least one role"),
		config.Require(c.ModelParallel > 0, "MNEME_BOOSTER_MODEL_PARALLEL", c.ModelParallel, "more than zero"),
		config.Require(c.StoreParallel > 0, "MNEME_BOOSTER_STORE_PARALLEL", c.StoreParallel, "more than zero"),
	}
	for _, r := range c.Roles {
		known := slices.Contains([]string{roleIntake, roleAttribution, roleWorkflow, roleModel, roleStore}, r)
		errs = append(errs, config.Require(known, "MNEME_BOOSTER_ROLES", r, "intake, attribution, workflow, model or store"))
	}
	return errors.Join(errs...)
}

const (
	roleIntake      = "intake"
	roleAttribution = "attribution"
	roleWorkflow    = "workflow"
	roleModel       = "model"
	roleStore       = "store"
)

func (c Config) has(role string) bool { return slices.Contains(c.Roles, role) }

const name = "booster"

// Service is the booster.
var Service = runner.Define(name, "forms memories from salient turns", build,
	runner.Default(runner.AddrVariable, "127.0.0.1:8402"))

func build(ctx context.Context, cfg Config, tel *telemetry.Telemetry) (*runner.App, error) {
	b := &wiring.Builder{}
	busClient, err := cfg.Bus.Open(ctx, name, tel)
	if err != nil {
		return nil, err
	}
	b.OnClose("bus", busClient.Close)
	temporal, err := cfg.Workflows.Open(ctx, tel)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	b.OnClose("temporal", func() error { temporal.Close(); return nil })
	win, free, err := cfg.Window.Open(tel)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	b.OnClose("window", free)
	if _, err := b.Account(&cfg.Model, cfg.Window.Redis, tel); err != nil {
		return b.Abandon(ctx, err)
	}
	activities, err := cfg.activities(ctx, b, tel)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	announce, err1 := newAnnouncer(busClient.Publisher, tel.Meter.Meter(wiring.Scope))
	observer, err2 := consolidation.NewObserver(tel.Tracer.Tracer(wiring.Scope), tel.Meter.Meter(wiring.Scope))
	if err := errors.Join(err1, err2); err != nil {
		return b.Abandon(ctx, err)
	}
	activities.Window, activities.Announce, activities.Erasures = win, announce, erasure.Starter{Client: temporal}
	groups := wiring.Groups{Attribution: cfg.attributionGroup(), Webhooks: cfg.Webhooks.Group}
	stores, free, err := wiring.OpenErasureStores(busClient, cfg.Workflows, cfg.Window.Redis, temporal, groups, tel)
	if err != nil {
		return b.Abandon(ctx, err)
	}
	b.OnClose("erasure stores", free)
	workers := workers{log: tel.Log, create: func() []worker.Worker {
		group := consolidation.Workers(temporal, consolidation.Roles{
			Workflow: cfg.has(roleWorkflow), Model: cfg.has(roleModel), Store: cfg.has(roleStore),
			ModelParallel: cfg.ModelParallel, StoreParallel: cfg.StoreParallel,
		}, activities, observer)
		if cfg.has(roleStore) {
			group = append(group, erasure.Worker(temporal, &erasure.Activities{Stores: stores, Log: tel.Log}, observer))
		}
		return group
	}}
	if cfg.has(roleStore) {
		watch, err := erasure.NewWatch(tel.Meter.Meter(wiring.Scope), erasure.Starter{Client: temporal}, tel.Log)
		if err != nil {
			return b.Abandon(ctx, err)
		}
		b.Background(runner.Task{Name: "watch erasures", Run: watch.Run})
	}
	b.Background(runner.Task{Name: "workers", Run: workers.run})
	intake := &Intake{Window: win, Signal: cfg.Workflows.Starter(temporal).Signal, Now: time.Now}
	if err := cfg.consumers(b, busClient, intake, &Attribution{Decisions: activities.Bank, Now: time.Now},
		tel); err != nil {
		return b.Abandon(ctx, err)
	}
	return &b.App, nil
}

func (c Config) attributionGroup() string { return c.Group + "-attribution" }

// consumers adds the consumers of salient turns for the roles of this process.
func (c Config) consumers(b *wiring.Builder, busClient *wiring.BusClient, intake *Intake, attribution *Attribution,
	tel *telemetry.Telemetry) error {
	if c.has(roleIntake) {
		tenants, err := b.OpenTenants(c.Tenants, tel)
		if err != nil {
			return err
		}
		intake.Tenants = tenants
		consume, err := busClient.Consume(contract.TopicSalientTurns, c.Group, intake.Handle)
		if err != nil {
			return err
		}
		b.Background(consume)
	}
	if c.has(roleAttribution) {
		consume, err := busClient.Consume(contract.TopicSalientTurns, c.attributionGroup(), attribution.Handle)
		if err != nil {
			return err
		}
		consume.Name = "attribute"
		b.Background(consume)
	}
	return nil
}

// activities opens the stores and models of the activities.
func (c Config) activities(
	ctx context.Context, b *wiring.Builder, tel *telemetry.Telemetry,
) (*consolidation.Activities, error) {
	formers, free, err := c.Model.OpenFormers(c.Formation, tel)
	if err != nil {
		return nil, err
	}
	formers = formers.Shared(c.Parallel)
	b.OnClose("models", free)
	embedder, free, err := c.Embedding.Open(ctx, c.Model, tel)
	if err != nil {
		return nil, err
	}
	b.OnClose("embedder", free)
	bank, free, err := wiring.OpenBank(ctx, c.Bank, embedder, tel)
	if err != nil {
		return nil, err
	}
	b.OnClose("bank", free)
	return &consolidation.Activities{Formers: formers.Find, Embedder: embedder, Bank: bank}, nil
}

// workers keeps Temporal workers running.
type workers struct {
	// create makes new workers, because a stopped worker cannot start again.
	create func() []worker.Worker
	log    *slog.Logger
}

// run runs the workers until ctx ends. They finish their current work then. A worker cannot start while Temporal is
// unavailable. It stops if Temporal no longer has the namespace, for example after a restore. Neither case may end
// the service or leave it idle, so all workers start again after a while.
func (w workers) run(ctx context.Context) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 250*time.Millisecond, 15*time.Second
	for {
		all := w.create()
		if len(all) == 0 {
			return nil // the process has no role that needs a worker
		}
		began := time.Now()
		err := runAll(ctx, all)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > pause.MaxInterval {
			pause.Reset()
		}
		next := pause.NextBackOff()
		w.log.Warn("temporal workers ended, restarting them", "retry_in", next.String(), "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(next):
		}
	}
}

// runAll runs workers until ctx ends or one worker ends, and waits for all.
func runAll(ctx context.Context, workers []worker.Worker) error {
	g, ctx := errgroup.WithContext(ctx)
	stop := make(chan any)
	release := context.AfterFunc(ctx, func() { close(stop) })
	defer release()
	for _, w := range workers {
		g.Go(func() error { return w.Run(stop) })
	}
	return g.Wait()
}
