package bus

import (
	"errors"
	"fmt"
	"time"
)

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
