package bus

import (
	"errors"
	"fmt"
	"time"
)

// Config bounds a consumer. DefaultConfig gives values that suit the services: draining, stopping and leaving the group
// together take less time than the runner gives background work to end.
type Config struct {
	// Group is the consumer group's name, as it appears in metrics and logs.
	Group string
	// Workers is how many keys are handled at the same time. Each assigned partition has an equal
	// share, at least one, so that a partition that waits for a dependency holds up no other.
	Workers int
	// MaxBatch is how many records a batch holds at most. A batch does not wait to fill but where Gather says so.
	MaxBatch int
	// Gather is how long a record waits for more of its key before it is handled, for handlers whose cost is by the batch; nil for not
	// at all. A record that need not wait takes those along that do, and a full batch waits for nothing. What waits when the consumer
	// stops is handled then.
	Gather func(Message) time.Duration
	// MaxBatchBytes bounds a batch by size; a single larger record is a batch of its own.
	MaxBatchBytes int
	// MaxInFlight is how many records of one partition may be delivered beyond the finished
	// prefix; the partition is not read on while so many are open.
	MaxInFlight int
	// MaxInFlightBytes is the same bound by size; a single larger record passes alone.
	MaxInFlightBytes int
	// CommitInterval is how often finished work is committed.
	CommitInterval time.Duration
	// DrainTimeout is how long delivered work may take to finish once Run's context is done.
	DrainTimeout time.Duration
	// StopTimeout is how long handlers may take to return once their context is done.
	StopTimeout time.Duration
	// RedeliverDelay is the pause before a batch is delivered again whose handler, middlewares
	// included, returned an error, and before a source that failed is asked again.
	RedeliverDelay time.Duration
	// LagInterval is how often the ends of the partitions are looked up for the lag metric.
	LagInterval time.Duration
}

// DefaultConfig returns a valid configuration for a group.
func DefaultConfig(group string) Config {
	return Config{
		Group:            group,
		Workers:          32,
		MaxBatch:         64,
		MaxBatchBytes:    1 << 20,
		MaxInFlight:      512,
		MaxInFlightBytes: 16 << 20,
		CommitInterval:   250 * time.Millisecond,
		DrainTimeout:     5 * time.Second,
		StopTimeout:      2 * time.Second,
		RedeliverDelay:   500 * time.Millisecond,
		LagInterval:      5 * time.Second,
	}
}

// Validate names everything that is wrong with the configuration.
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
