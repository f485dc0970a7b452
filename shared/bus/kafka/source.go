package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/fault"
)

// SourceConfig describes one membership in a consumer group. Zero durations and sizes take
// the defaults given.
type SourceConfig struct {
	// Cluster says how to reach the brokers.
	Cluster Cluster
	// Group is the consumer group.
	Group string
	// Topics are consumed; Next waits until all of them exist.
	Topics []string
	// FromEnd begins a partition of which the group has committed nothing at the end that this member finds when it
	// first reads it, instead of at the oldest record: for members that only care for what happens from now on. The group is the member's
	// own and is deleted by Close; that of a member that was killed is left to the broker, which forgets empty groups after a while.
	FromEnd bool
	// SessionTimeout is how long the group waits for a member that has fallen silent; 10 s.
	SessionTimeout time.Duration
	// Heartbeat is how often the member reports, and so how soon it sees a rebalance; 1 s.
	Heartbeat time.Duration
	// RebalanceTimeout is how long a rebalance waits for members to stop their work; 15 s.
	RebalanceTimeout time.Duration
	// MaxWait is how long a fetch waits for records; 500 ms.
	MaxWait time.Duration
	// FetchBytes is how much a fetch of one partition brings at most, unless one record alone is larger; 1 MiB.
	FetchBytes int
	// CloseTimeout is how long leaving the group may take before connections are cut; 3 s.
	CloseTimeout time.Duration
}

func (c SourceConfig) withDefaults() SourceConfig {
	c.SessionTimeout = cmp.Or(c.SessionTimeout, 10*time.Second)
	c.Heartbeat = cmp.Or(c.Heartbeat, time.Second)
	c.RebalanceTimeout = cmp.Or(c.RebalanceTimeout, 15*time.Second)
	c.MaxWait = cmp.Or(c.MaxWait, 500*time.Millisecond)
	c.CloseTimeout = cmp.Or(c.CloseTimeout, 3*time.Second)
	c.FetchBytes = cmp.Or(c.FetchBytes, 1<<20)
	return c
}

// source joins a group through kafka-go's ConsumerGroup. Its Reader would not tell when a
// partition is revoked.
type source struct {
	cfg         SourceConfig
	net         *network
	starts      *starts
	client      *kafkago.Client
	closeClient func()

	mu      sync.Mutex
	group   *kafkago.ConsumerGroup // nil before the first Next and after Close
	current *generation
	closed  bool
	done    chan struct{}
}

// NewSource returns a membership that is not joined yet. An invalid configuration is a
// terminal error; that no broker answers is none.
func NewSource(cfg SourceConfig) (bus.Source, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Cluster.Validate(); err != nil {
		return nil, err
	}
	if len(cfg.Topics) == 0 || slices.Contains(cfg.Topics, "") {
		return nil, fault.Terminal("topics", "at least one topic is needed, none empty")
	}
	n := newNetwork(cfg.Cluster.dial())
	cfg.Cluster.Dial = n.dial
	s := &source{cfg: cfg, net: n, starts: newStarts(cfg.FromEnd), done: make(chan struct{})}
	groupConfig := s.groupConfig()
	if err := groupConfig.Validate(); err != nil {
		return nil, fault.Terminal("group", "%w", err)
	}
	s.client, s.closeClient = cfg.Cluster.client()
	return s, nil
}

func (s *source) groupConfig() kafkago.ConsumerGroupConfig {
	return kafkago.ConsumerGroupConfig{
		ID:                     s.cfg.Group,
		Brokers:                s.cfg.Cluster.Brokers,
		Dialer:                 s.cfg.Cluster.dialer(s.net.dial),
		Topics:                 s.cfg.Topics,
		GroupBalancers:         []kafkago.GroupBalancer{kafkago.RangeGroupBalancer{}, kafkago.RoundRobinGroupBalancer{}},
		HeartbeatInterval:      s.cfg.Heartbeat,
		PartitionWatchInterval: 5 * time.Second,
		WatchPartitionChanges:  true,
		SessionTimeout:         s.cfg.SessionTimeout,
		RebalanceTimeout:       s.cfg.RebalanceTimeout,
		JoinGroupBackoff:       250 * time.Millisecond,
		RetentionTime:          -time.Millisecond, // the broker's own
		StartOffset:            kafkago.FirstOffset,
		Timeout:                requestTimeout,
	}
}

// Next joins, or waits for the rebalance to settle.
func (s *source) Next(ctx context.Context) (bus.Generation, error) {
	group, err := s.join(ctx)
	if err != nil {
		return nil, err
	}
	next, err := group.Next(ctx)
	switch {
	case errors.Is(err, kafkago.ErrGroupClosed):
		return nil, bus.ErrClosed
	case isConfigError(err):
		return nil, fault.Terminal("group", "%w", err)
	case errors.Is(err, kafkago.RebalanceInProgress):
		return nil, fmt.Errorf("join group: %w: %w", bus.ErrRevoked, err) // others join or leave: it is to be asked again
	case err != nil:
		return nil, fmt.Errorf("join group: %w", err)
	}
	g := newGeneration(s, next)
	s.mu.Lock()
	s.current = g
	s.mu.Unlock()
	return g, nil
}

// isConfigError reports whether waiting cannot help. Where rights are missing it may: an operator can grant them, and a broker that has
// just started may not know them yet.
func isConfigError(err error) bool {
	for _, e := range []error{
		kafkago.InvalidSessionTimeout, kafkago.InconsistentGroupProtocol, kafkago.InvalidGroupId,
		kafkago.UnsupportedVersion, kafkago.UnsupportedSASLMechanism,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// join starts the membership once all topics exist: kafka-go would rejoin without a pause
// while one is missing.
func (s *source) join(ctx context.Context) (*kafkago.ConsumerGroup, error) {
	s.mu.Lock()
	group, closed := s.group, s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return nil, bus.ErrClosed
	case group != nil:
		return group, nil
	}
	if err := s.findTopics(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, bus.ErrClosed
	}
	group, err := kafkago.NewConsumerGroup(s.groupConfig())
	if err != nil {
		return nil, fault.Terminal("group", "%w", err)
	}
	s.group = group
	return group, nil
}

func (s *source) findTopics(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	res, err := s.client.Metadata(ctx, &kafkago.MetadataRequest{Topics: s.cfg.Topics})
	if err != nil {
		return fmt.Errorf("look up topics: %w", err)
	}
	for _, t := range res.Topics {
		if t.Error != nil {
			return fmt.Errorf("look up topic %s: %w", t.Name, t.Error)
		}
	}
	if len(res.Topics) < len(s.cfg.Topics) {
		return fmt.Errorf("look up topics: %d of %d exist", len(res.Topics), len(s.cfg.Topics))
	}
	return nil
}

// Close leaves the group. kafka-go waits for whatever request is under way, which may be a
// join that takes a whole rebalance; cutting the connections ends that.
func (s *source) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		<-s.done
		return nil
	}
	s.closed = true
	group, current := s.group, s.current
	s.mu.Unlock()
	defer close(s.done)
	defer s.net.cut()
	defer s.closeClient()
	if group == nil {
		return nil
	}
	left := make(chan error, 1)
	go func() { left <- group.Close() }()
	// Released before the group knows that it is closed, the generation would be joined anew.
	for err := error(nil); !errors.Is(err, kafkago.ErrGroupClosed); {
		_, err = group.Next(context.Background())
	}
	if current != nil {
		current.Release()
	}
	timer := time.NewTimer(s.cfg.CloseTimeout)
	defer timer.Stop()
	select {
	case err := <-left:
		if s.cfg.FromEnd && err == nil {
			err = s.deleteGroup()
		}
		return err
	case <-timer.C:
		s.net.cut()
		<-left
		return fmt.Errorf("leave group: no answer within %v", s.cfg.CloseTimeout)
	}
}

// deleteGroup leaves nothing of a group behind that nobody will join again.
func (s *source) deleteGroup() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.CloseTimeout)
	defer cancel()
	res, err := s.client.DeleteGroups(ctx, &kafkago.DeleteGroupsRequest{GroupIDs: []string{s.cfg.Group}})
	if err == nil {
		err = res.Errors[s.cfg.Group]
	}
	if err != nil && !errors.Is(err, kafkago.GroupIdNotFound) {
		return fmt.Errorf("delete group: %w", err)
	}
	return nil
}
