//go:build cluster

package cluster_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/kafka"
	"github.com/mneme-memory/mneme/shared/contract"
)

// longestHandover is how long a partition may be without a consumer while replicas come and go in order.
const longestHandover = 10 * time.Second

// groups are the consumer groups and what they read.
var groups = map[string]string{
	"mneme-saliency-filter": contract.TopicSessionEvents, "mneme-booster": contract.TopicSalientTurns,
	"mneme-booster-attribution": contract.TopicSalientTurns, "mneme-reranker": contract.TopicFeedback,
	"mneme-webhooks": contract.TopicMemoryChanges,
}

// standstill is the longest time in which a group committed nothing of a partition that had records for it.
type standstill struct {
	group     string
	partition int
	longest   time.Duration
}

// handovers watches how consumer groups get on, until they are asked for.
type handovers struct {
	stop   context.CancelFunc
	result chan []standstill
	failed error
}

// watchHandovers begins to watch.
func watchHandovers(t *testing.T, brokers []string) *handovers {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	h := &handovers{stop: stop, result: make(chan []standstill, 1)}
	cluster := kafka.Cluster{Brokers: brokers, ClientID: "handovers"}
	var watched []*watchedGroup
	for group, topic := range groups {
		offsets, err := kafka.NewOffsets(cluster, group, topic)
		if err != nil {
			t.Fatal(err)
		}
		log, err := kafka.NewLog(cluster, topic)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = offsets.Close(), log.Close() })
		watched = append(watched, &watchedGroup{group, offsets, log, map[int]*progress{}})
	}
	go func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			for _, g := range watched {
				if err := g.look(ctx); err != nil && ctx.Err() == nil {
					h.failed = err
				}
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
		var out []standstill
		for _, g := range watched {
			for _, p := range slices.Sorted(maps.Keys(g.partitions)) {
				out = append(out, standstill{g.name, p, g.partitions[p].longest})
			}
		}
		h.result <- out
	}()
	t.Cleanup(stop)
	return h
}

// report ends the watch and prints what was the longest for each group.
func (h *handovers) report(t *testing.T) []standstill {
	t.Helper()
	h.stop()
	all := <-h.result
	if len(all) == 0 {
		t.Fatalf("no consumer group was seen: %v", h.failed)
	}
	slices.SortFunc(all, func(a, b standstill) int {
		return cmp.Or(strings.Compare(a.group, b.group), cmp.Compare(b.longest, a.longest))
	})
	all = slices.CompactFunc(all, func(a, b standstill) bool { return a.group == b.group })
	for _, s := range all {
		t.Logf("%s stood still for %v at most", s.group, s.longest.Round(10*time.Millisecond))
	}
	return all
}

// reportBelow is report, and holds what it prints against a limit.
func (h *handovers) reportBelow(t *testing.T, limit time.Duration) {
	t.Helper()
	for _, s := range h.report(t) {
		if s.longest >= limit {
			t.Errorf("%s stood still for %v in partition %d, want less than %v", s.group, s.longest, s.partition, limit)
		}
	}
}

type watchedGroup struct {
	name       string
	offsets    *kafka.Offsets
	log        bus.Log
	partitions map[int]*progress
}

// progress is how a group gets on in a partition.
type progress struct {
	committed int64
	// since is when it moved last, or when there was something to be done again.
	since   time.Time
	longest time.Duration
}

// look sees how far the group is. What it cannot see for a moment, it sees later: the time that passes then counts.
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
			s = &progress{since: now, committed: committed[p]}
			g.partitions[p] = s
		}
		moved := committed[p] > s.committed
		s.committed = committed[p]
		if committed[p] < end || moved {
			s.longest = max(s.longest, now.Sub(s.since))
		}
		if moved || committed[p] >= end {
			s.since = now
		}
	}
	return nil
}
