package kafka

import (
	"context"
	"errors"
	"fmt"

	kafkago "github.com/segmentio/kafka-go"
)

// Offsets reads the offsets of a consumer group in a topic. It is safe for concurrent use.
type Offsets struct {
	group, topic string
	client       *kafkago.Client
	closeClient  func()
	topics       *topicTable
}

// NewOffsets returns the offsets of a group. It connects at its first use.
func NewOffsets(cluster Cluster, group, topic string) (*Offsets, error) {
	if err := cluster.Validate(); err != nil {
		return nil, err
	}
	client, closeClient := cluster.client()
	return &Offsets{group: group, topic: topic, client: client, closeClient: closeClient, topics: newTopicTable(client)},
		nil
}

// Committed returns the offset of the next record by partition. It omits a partition without a finished record.
func (o *Offsets) Committed(ctx context.Context) (map[int]int64, error) {
	partitions, err := o.topics.get(ctx, o.topic, requestTimeout)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	res, err := o.client.OffsetFetch(ctx, &kafkago.OffsetFetchRequest{GroupID: o.group,
		Topics: map[string][]int{o.topic: partitions}})
	if err == nil {
		err = res.Error
	}
	if errors.Is(err, kafkago.GroupIdNotFound) { // the group has had no member yet
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("fetch offsets of %s: %w", o.group, err)
	}
	next := map[int]int64{}
	for _, p := range res.Topics[o.topic] {
		if p.Error != nil {
			return nil, fmt.Errorf("fetch offset of %s in %s/%d: %w", o.group, o.topic, p.Partition, p.Error)
		}
		if p.CommittedOffset >= 0 {
			next[p.Partition] = p.CommittedOffset
		}
	}
	return next, nil
}

// Close releases the connections.
func (o *Offsets) Close() error {
	o.closeClient()
	return nil
}
