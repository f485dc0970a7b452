//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/kafka"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/test/harness"
)

// longestHandover is the longest allowed time of a partition without a consumer, while replicas start and stop in
// order.
const longestHandover = 10 * time.Second

const (
	filterGroup  = "mneme-saliency-filter"
	boosterGroup = "mneme-booster"
)

// groups are the consumer groups and their topics.
var groups = map[string]string{
	filterGroup: contract.TopicSessionEvents, boosterGroup: contract.TopicSalientTurns,
	"mneme-booster-attribution": contract.TopicSalientTurns, "mneme-reranker": contract.TopicFeedback,
	"mneme-webhooks": contract.TopicMemoryChanges,
}

// handovers watches the progress of consumer groups until its report.
type handovers struct {
	stop     context.CancelFunc
	watching sync.WaitGroup
	groups   []*watchedGroup
}

// watchHandovers starts to watch groups that have records all the time.
func watchHandovers(t *testing.T, brokers []string, names ...string) *handovers {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	h := &handovers{stop: stop}
	for _, name := range names {
		h.groups = append(h.groups, watchGroup(t, brokers, name))
	}
	t.Cleanup(h.end) // before its connection is closed
	h.watching.Go(func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			for _, g := range h.groups {
				if err := g.look(ctx); err != nil && ctx.Err() == nil {
					g.failed = err
				}
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
	return h
}

func (h *handovers) end() {
	h.stop()
	h.watching.Wait()
}

// report ends the watch. For each group it prints the longest time without a commit in a partition with records. It
// compares this time with a limit. A group without any commit fails the test.
func (h *handovers) report(t *testing.T, limit time.Duration) {
	t.Helper()
	h.end()
	for _, g := range h.groups {
		var longest time.Duration
		moved := int64(0)
		for _, p := range g.partitions {
			longest, moved = max(longest, p.longest), moved+p.committed-p.first
		}
		t.Logf("%s finished %d records and stood still for %v at most", g.name, moved, longest.Round(10*time.Millisecond))
		if moved == 0 || longest >= limit {
			t.Errorf("%s: want some records and less than %v; the last that could not be seen: %v", g.name, limit, g.failed)
		}
	}
}

type watchedGroup struct {
	name       string
	offsets    *kafka.Offsets
	log        bus.Log
	partitions map[int]*progress
	failed     error // of the last check with an error
}

func watchGroup(t *testing.T, brokers []string, name string) *watchedGroup {
	t.Helper()
	cluster := kafka.Cluster{Brokers: brokers, ClientID: "handovers"}
	offsets, err := kafka.NewOffsets(cluster, name, groups[name])
	must(t, err)
	log, err := kafka.NewLog(cluster, groups[name])
	must(t, err)
	t.Cleanup(func() { _, _ = offsets.Close(), log.Close() })
	return &watchedGroup{name, offsets, log, map[int]*progress{}, nil}
}

// behind is the number of unfinished records of the group at the last check.
func (g *watchedGroup) behind() (n int64) {
	for _, p := range g.partitions {
		n += p.end - p.committed
	}
	return n
}

// progress is the state of a group in a partition.
type progress struct {
	first, committed, end int64 // offsets: the first and last seen commit, and the end of the partition
	// since is the time of the last progress, or of the first new record after an idle time.
	since   time.Time
	longest time.Duration
}

// look records the group's offsets. After a failed look, a later look measures the whole time.
func (g *watchedGroup) look(ctx context.Context) error {
	committed, err := g.offsets.Committed(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", g.name, err)
	}
	partitions, err := g.log.Partitions(ctx)
	if err != nil {
		return err
	}
	for _, p := range partitions {
		_, end, err := g.log.Bounds(ctx, p)
		if err != nil {
			return err
		}
		now, s := time.Now(), g.partitions[p]
		if s == nil {
			s = &progress{since: now, first: committed[p], committed: committed[p]}
			g.partitions[p] = s
		}
		moved := committed[p] > s.committed
		s.committed, s.end = committed[p], end
		if committed[p] < end || moved {
			s.longest = max(s.longest, now.Sub(s.since))
		}
		if moved || committed[p] >= end {
			s.since = now
		}
	}
	return nil
}

// awaitWorking waits until the given number of members of a group have partitions.
func awaitWorking(t *testing.T, addr, group string, count int) {
	t.Helper()
	harness.Await(t, fmt.Sprintf("%d members of %s work", count, group), func(ctx context.Context) (bool, error) {
		n, err := ask(ctx, addr, func(ctx context.Context, c *kafkago.Client) (n int, err error) {
			got, err := c.DescribeGroups(ctx, &kafkago.DescribeGroupsRequest{GroupIDs: []string{group}})
			if err != nil {
				return 0, err
			}
			for _, m := range got.Groups[0].Members {
				if len(m.MemberAssignments.Topics) > 0 {
					n++
				}
			}
			return n, got.Groups[0].Error
		})
		return err == nil && n == count, nil
	})
}
