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

// SourceConfig describes one membership in a consumer group. Zero durations and sizes take the given defaults.
type SourceConfig struct {
	// Cluster says how to reach the brokers.
	Cluster Cluster
	// Group is the consumer group.
	Group string
	// Topics are the topics to consume. Next waits until all of them exist.
	Topics []string
	// FromEnd changes the start of a partition without a commit. The member begins at the end that it first reads,
	// not at the oldest record. It is for members that need only new records. The group belongs to the member, and
	// Close deletes it. The broker forgets the empty group of a killed member after a while.
	FromEnd bool
	// SessionTimeout is how long the group waits for a silent member. The default is 10 s.
	SessionTimeout time.Duration
	// Heartbeat is the interval of the member's heartbeats, and so the delay until it sees a rebalance. The default
	// is 1 s.
	Heartbeat time.Duration
	// RebalanceTimeout is how long a rebalance waits for members to stop their work. The default is 15 s.
	RebalanceTimeout time.Duration
	// MaxWait is how long a fetch waits for records. The default is 500 ms.
	MaxWait time.Duration
	// FetchBytes is the maximum size of a fetch of one partition, unless one record alone is larger. The default is
	// 1 MiB.
	FetchBytes int
	// CloseTimeout is the time for leaving the group, before connections are cut. The default is 3 s.
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

// source joins a group through kafka-go's ConsumerGroup. Its Reader does not report a revoked partition.
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

// NewSource returns a membership that has not joined yet. An invalid configuration is a terminal error. A missing
// broker is no error here.
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
		return nil, fmt.Errorf("join group: %w: %w", bus.ErrRevoked, err) // others join or leave: the caller must try again
	case err != nil:
		return nil, fmt.Errorf("join group: %w", err)
	}
	g := newGeneration(s, next)
	s.mu.Lock()
	s.current = g
	s.mu.Unlock()
	return g, nil
}

// isConfigError reports whether a wait cannot help. With missing rights it may help: an operator can grant them,
// and a broker that has just started may not know them yet.
func isConfigError(err error) bool {
	return isOneOf(err, kafkago.InvalidSessionTimeout, kafkago.InconsistentGroupProtocol, kafkago.InvalidGroupId,
		kafkago.UnsupportedVersion, kafkago.UnsupportedSASLMechanism)
}

// join starts the membership once all topics exist. kafka-go would rejoin without a pause while one is missing.
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

// Close leaves the group. kafka-go waits for the current request, which may be a join that takes a whole rebalance.
// Cut connections end that wait.
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
	// A release before the close of the group would make the generation join again.
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

// deleteGroup deletes a group that no member will join again.
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
