package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Consumer passes the records of a source to a handler. Make one with NewConsumer.
type Consumer struct {
	cfg     Config
	source  Source
	handler Handler
	ins     *Instruments
	lag     *lagTable
}

// NewConsumer returns a consumer that owns source. An invalid configuration is a terminal error.
func NewConsumer(cfg Config, source Source, handler Handler, ins *Instruments) (*Consumer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fault.Terminal("bus", "%w", err)
	}
	if source == nil || handler == nil || ins == nil {
		return nil, fault.Terminal("bus", "source, handler and instruments must be given")
	}
	return &Consumer{cfg: cfg, source: source, handler: handler, ins: ins, lag: newLagTable(cfg.Group)}, nil
}

// Run consumes until ctx is done, or until the source reports a configuration that can never work. It continues
// through an outage of the transport. When ctx is done it stops fetching, lets delivered work finish within
// DrainTimeout, commits, leaves the group and returns nil. It returns an error only for work that did not end in
// time. Call it once.
func (c *Consumer) Run(ctx context.Context) error {
	unregister, err := c.ins.observeLag(c.lag)
	if err != nil {
		return errors.Join(err, c.source.Close())
	}
	defer unregister()
	err = c.loop(ctx)
	if closeErr := c.source.Close(); closeErr != nil {
		// This is no failure: the group notices the absence later by itself. It cannot answer during its wait for
		// absent members.
		c.ins.log.WarnContext(ctx, "left the consumer group without its answer", slog.String("group", c.cfg.Group),
			slog.Any("error", closeErr))
	}
	return err
}

func (c *Consumer) loop(ctx context.Context) error {
	var failing outage
	group := slog.String("group", c.cfg.Group)
	for ctx.Err() == nil {
		gen, err := c.source.Next(ctx)
		switch {
		case err == nil:
			failing.repaired(ctx, c.ins.log, "join the consumer group", group)
			if err := c.serve(ctx, gen); ctx.Err() != nil {
				return err // Close, not Release, ends the generation of a member that leaves
			}
			gen.Release()
		case ctx.Err() != nil:
			return nil
		case fault.IsTerminal(err) || errors.Is(err, ErrClosed):
			return fmt.Errorf("join group %s: %w", c.cfg.Group, err)
		default:
			failing.failed(ctx, c.ins.log, "join the consumer group", group, slog.Any("error", err))
			Pause(ctx, c.cfg.RedeliverDelay)
		}
	}
	return nil
}

// Pause waits for d and reports whether ctx was still alive at its end.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Config bounds a consumer. DefaultConfig gives values that suit the services. A consumer with them drains, stops
// and leaves the group in time: the runner gives background work a longer limit.
type Config struct {
	// Group is the consumer group's name, as it appears in metrics and logs.
	Group string
	// Workers is how many keys are handled at the same time. Each assigned partition has an equal share, at least
	// one. So a partition that waits for a dependency does not delay the others.
	Workers int
	// MaxBatch is the maximum number of records in a batch. A batch waits for more records only if Gather is set.
	MaxBatch int
	// Gather returns how long a record waits for more records of its key, for handlers with a cost per batch. nil
	// means no wait. A record without a wait takes the waiting records of its key along. A full batch does not
	// wait. When the consumer stops, it handles the waiting records.
	Gather func(Message) time.Duration
	// MaxBatchBytes bounds a batch by size. A larger record is a batch alone.
	MaxBatchBytes int
	// MaxInFlight is the maximum number of delivered records of one partition beyond the finished prefix. At the
	// limit the consumer stops reading the partition.
	MaxInFlight int
	// MaxInFlightBytes is the same bound by size. A larger record passes alone.
	MaxInFlightBytes int
	// CommitInterval is how often finished work is committed.
	CommitInterval time.Duration
	// DrainTimeout is how long delivered work may take to finish once Run's context is done.
	DrainTimeout time.Duration
	// StopTimeout is how long handlers may take to return once their context is done.
	StopTimeout time.Duration
	// RedeliverDelay is the pause before a second delivery of a batch whose handler, with its middlewares, returned
	// an error. It is also the pause before another call to a source that failed.
	RedeliverDelay time.Duration
	// LagInterval is how often the ends of the partitions are read for the lag metric.
	LagInterval time.Duration
}

// DefaultConfig returns a valid configuration for a group.
func DefaultConfig(group string) Config {
	return Config{
		Group: group, Workers: 32, MaxBatch: 64, MaxBatchBytes: 1 << 20, MaxInFlight: 512,
		MaxInFlightBytes: 16 << 20, CommitInterval: 250 * time.Millisecond, DrainTimeout: 5 * time.Second,
		StopTimeout: 2 * time.Second, RedeliverDelay: 500 * time.Millisecond, LagInterval: 5 * time.Second,
	}
}

// Validate reports every fault of the configuration.
func (c Config) Validate() error {
	var errs []error
	if c.Group == "" {
		errs = append(errs, errors.New("group: must not be empty"))
	}
	positive := func(name string, v int64) {
		if v <= 0 {
			errs = append(errs, fmt.Errorf("%s: must be greater than 0", name))
		}
	}
	positive("workers", int64(c.Workers))
	positive("max_batch", int64(c.MaxBatch))
	positive("max_batch_bytes", int64(c.MaxBatchBytes))
	positive("max_in_flight", int64(c.MaxInFlight))
	positive("max_in_flight_bytes", int64(c.MaxInFlightBytes))
	positive("commit_interval", int64(c.CommitInterval))
	positive("drain_timeout", int64(c.DrainTimeout))
	positive("stop_timeout", int64(c.StopTimeout))
	positive("redeliver_delay", int64(c.RedeliverDelay))
	positive("lag_interval", int64(c.LagInterval))
	return errors.Join(errs...)
}

// StandardConfig sets the options of the usual chain.
type StandardConfig struct {
	// Group is the consumer group's name on spans.
	Group string
	// Handler names the handler in dead letters.
	Handler string
	// DeadLetters is the topic for records that can never be processed.
	DeadLetters string
	// Retry sets the pauses. Zero means DefaultRetryConfig.
	Retry RetryConfig
	// Timeout bounds each attempt. 0 bounds nothing.
	Timeout time.Duration
}

// Standard surrounds h with the usual chain. From the outside in:
//
//   - Trace: one span a delivery, with any result;
//   - Isolate: a batch that fails for good is delivered one by one;
//   - DeadLetter: a record that fails for good goes to the dead letters;
//   - Retry: every other failure is tried again;
//   - Recover: a panic is an error, and is tried again a few times;
//   - Timeout: each attempt has a separate limit.
//
// Dead letters are published through pub, and traced.
func Standard(cfg StandardConfig, pub Publisher, ins *Instruments, h Handler) (Handler, error) {
	if cfg.Handler == "" || cfg.DeadLetters == "" || pub == nil || ins == nil || h == nil {
		return nil, fault.Terminal("bus", "handler, its name, dead letter topic, publisher and instruments must be given")
	}
	if cfg.Retry == (RetryConfig{}) {
		cfg.Retry = DefaultRetryConfig()
	}
	return Chain(h,
		Trace(ins, cfg.Group),
		Isolate(),
		DeadLetter(DeadLetterConfig{Topic: cfg.DeadLetters, Handler: cfg.Handler}, TracedPublisher(pub, ins), ins),
		Retry(cfg.Retry, ins),
		Recover(),
		Timeout(cfg.Timeout),
	), nil
}
