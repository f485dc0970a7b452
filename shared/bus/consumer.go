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
