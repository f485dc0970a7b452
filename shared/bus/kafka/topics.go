package kafka

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// topicTable caches the partitions of topics for a while. Adding partitions is rare, and a key must not move
// between two lookups.
type topicTable struct {
	client     *kafkago.Client
	mu         sync.Mutex
	partitions map[string][]int
	until      map[string]time.Time
}

func newTopicTable(client *kafkago.Client) *topicTable {
	return &topicTable{client: client, partitions: make(map[string][]int), until: make(map[string]time.Time)}
}

const topicTTL = 30 * time.Second

func (t *topicTable) get(ctx context.Context, topic string, timeout time.Duration) ([]int, error) {
	t.mu.Lock()
	known, fresh := t.partitions[topic], time.Now().Before(t.until[topic])
	t.mu.Unlock()
	if fresh {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	found, err := t.ask(ctx, topic)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		t.partitions[topic], t.until[topic] = found, time.Now().Add(topicTTL)
		return found, nil
	case known != nil && !isRefusal(err):
		return known, nil // the brokers are unavailable; their last answer still holds
	}
	return nil, err
}

func (t *topicTable) ask(ctx context.Context, topic string) ([]int, error) {
	res, err := t.client.Metadata(ctx, &kafkago.MetadataRequest{Topics: []string{topic}})
	if err != nil {
		return nil, fmt.Errorf("look up topic %s: %w", topic, err)
	}
	for _, found := range res.Topics {
		if found.Name != topic {
			continue
		}
		if found.Error != nil {
			return nil, fmt.Errorf("look up topic %s: %w", topic, found.Error)
		}
		var ids []int
		for _, p := range found.Partitions {
			ids = append(ids, p.ID)
		}
		slices.Sort(ids)
		if len(ids) > 0 {
			return ids, nil
		}
	}
	return nil, fmt.Errorf("look up topic %s: %w", topic, kafkago.UnknownTopicOrPartition)
}
