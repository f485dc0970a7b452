package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"github.com/mneme-memory/mneme/shared/bus"
)

// readWait is how long a read waits for records that the broker reports.
const readWait = 500 * time.Millisecond

// emptyReads is the maximum number of empty reads. After it the rest of the partition counts as a gap, as
// compaction and transactions leave them. A broker that throttles also gives empty answers.
const emptyReads = 5

// moving is how long a request is repeated while its partition's leader moves. The client's table of leaders is at
// most metadataTTL old, and the brokers elect within seconds.
const moving = 2 * metadataTTL

// atLeader repeats a request to the leader of a partition while no broker is the leader.
func atLeader(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, moving+requestTimeout)
	defer cancel()
	started := time.Now()
	for {
		err := ask(ctx)
		if !errors.Is(err, kafkago.NotLeaderForPartition) && !errors.Is(err, kafkago.LeaderNotAvailable) ||
			time.Since(started) > moving {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// NewLog returns a topic as a log. It connects at its first use. A record must not be larger than MaxRecordBytes.
func NewLog(cluster Cluster, topic string) (bus.Log, error) {
	if err := cluster.Validate(); err != nil {
		return nil, err
	}
	client, closeClient := cluster.client()
	return &log{client: client, closeClient: closeClient, topic: topic, topics: newTopicTable(client)}, nil
}

type log struct {
	client      *kafkago.Client
	closeClient func()
	topic       string
	topics      *topicTable
}

// Partitions implements bus.Log.
func (l *log) Partitions(ctx context.Context) ([]int, error) {
	return l.topics.get(ctx, l.topic, requestTimeout)
}

// PartitionOf implements bus.Log. It uses the publisher's partitioning.
func (l *log) PartitionOf(ctx context.Context, key []byte) (int, error) {
	partitions, err := l.Partitions(ctx)
	if err != nil {
		return 0, err
	}
	return kafkago.Murmur2Balancer{}.Balance(kafkago.Message{Key: key}, partitions...), nil
}

// Bounds implements bus.Log.
func (l *log) Bounds(ctx context.Context, partition int) (first, end int64, err error) {
	err = atLeader(ctx, func(ctx context.Context) (err error) {
		first, end, err = l.bounds(ctx, partition)
		return err
	})
	return first, end, err
}

func (l *log) bounds(ctx context.Context, partition int) (first, end int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	res, err := l.client.ListOffsets(ctx, &kafkago.ListOffsetsRequest{Topics: map[string][]kafkago.OffsetRequest{
		l.topic: {kafkago.FirstOffsetOf(partition), kafkago.LastOffsetOf(partition)},
	}})
	if err != nil {
		return 0, 0, l.failed("find bounds", partition, err)
	}
	for _, p := range res.Topics[l.topic] {
		if p.Partition == partition {
			return p.FirstOffset, p.LastOffset, l.failed("find bounds", partition, p.Error)
		}
	}
	return 0, 0, l.failed("find bounds", partition, kafkago.UnknownTopicOrPartition)
}

// Read implements bus.Log.
func (l *log) Read(ctx context.Context, partition int, from int64) (msgs []bus.Message, next int64, err error) {
	for range emptyReads {
		var end int64
		err = atLeader(ctx, func(ctx context.Context) (err error) {
			msgs, end, err = l.fetch(ctx, partition, from)
			return err
		})
		if err != nil {
			return nil, from, l.failed("read", partition, err)
		}
		if n := len(msgs); n > 0 {
			return msgs, msgs[n-1].Offset + 1, nil
		}
		if from >= end {
			return nil, from, nil
		}
		next = end
	}
	return nil, next, nil
}

func (l *log) fetch(ctx context.Context, partition int, from int64) (msgs []bus.Message, end int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, readWait+requestTimeout)
	defer cancel()
	res, err := l.client.Fetch(ctx, &kafkago.FetchRequest{
		Topic: l.topic, Partition: partition, Offset: from, MinBytes: 1, MaxBytes: 2 * MaxRecordBytes, MaxWait: readWait,
		IsolationLevel: kafkago.ReadCommitted,
	})
	if err == nil {
		err = res.Error
	}
	if err != nil {
		return nil, 0, err
	}
	for {
		r, err := res.Records.ReadRecord()
		if errors.Is(err, io.EOF) {
			return msgs, res.HighWatermark, nil
		}
		if err != nil {
			return nil, 0, err
		}
		if r.Offset < from {
			continue // a batch begins before the requested offset
		}
		m, err := l.message(partition, r)
		if err != nil {
			return nil, 0, err
		}
		msgs = append(msgs, m)
	}
}

func (l *log) message(partition int, r *kafkago.Record) (bus.Message, error) {
	m := bus.Message{Topic: l.topic, Partition: partition, Offset: r.Offset, Time: r.Time}
	var err1, err2 error
	if r.Key != nil {
		m.Key, err1 = protocol.ReadAll(r.Key)
	}
	if r.Value != nil {
		m.Value, err2 = protocol.ReadAll(r.Value)
	}
	for _, h := range r.Headers {
		m.Headers = append(m.Headers, bus.Header{Key: h.Key, Value: h.Value})
	}
	return m, errors.Join(err1, err2)
}

// Cut implements bus.Log.
func (l *log) Cut(ctx context.Context, partition int, before int64) error {
	first, _, err := l.Bounds(ctx, partition)
	if err != nil || before <= first {
		return err
	}
	return atLeader(ctx, func(ctx context.Context) error { return l.cut(ctx, partition, before) })
}

func (l *log) cut(ctx context.Context, partition int, before int64) error {
	ctx, cancel := context.WithTimeout(ctx, 2*requestTimeout)
	defer cancel()
	res, err := l.client.Transport.RoundTrip(ctx, l.client.Addr, &deleteRecordsRequest{
		Topics: []deleteRecordsTopic{{
			Name:       l.topic,
			Partitions: []deleteRecordsPartition{{Index: int32(partition), Offset: before}}, //nolint:gosec // a small number
		}},
		TimeoutMs: int32(requestTimeout.Milliseconds()),
	})
	if err != nil {
		return l.failed("cut", partition, err)
	}
	answer, ok := res.(*deleteRecordsResponse)
	if !ok || len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
		return l.failed("cut", partition, errors.New("the answer is for another request"))
	}
	if code := answer.Topics[0].Partitions[0].ErrorCode; code != 0 {
		return l.failed("cut", partition, kafkago.Error(code))
	}
	return nil
}

// Retention implements bus.Log.
func (l *log) Retention(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	retention := kafkago.DescribeConfigRequestResource{
		ResourceType: kafkago.ResourceTypeTopic, ResourceName: l.topic, ConfigNames: []string{"retention.ms"},
	}
	res, err := l.client.DescribeConfigs(ctx, &kafkago.DescribeConfigsRequest{
		Resources: []kafkago.DescribeConfigRequestResource{retention},
	})
	if err != nil {
		return 0, fmt.Errorf("describe %s: %w", l.topic, err)
	}
	for _, r := range res.Resources {
		if r.Error != nil {
			return 0, fmt.Errorf("describe %s: %w", l.topic, r.Error)
		}
		for _, entry := range r.ConfigEntries {
			if entry.ConfigName == "retention.ms" {
				return strconv.ParseInt(entry.ConfigValue, 10, 64)
			}
		}
	}
	return 0, nil
}

func (l *log) failed(what string, partition int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s/%d: %w", what, l.topic, partition, err)
}

// Close implements bus.Log.
func (l *log) Close() error {
	l.closeClient()
	return nil
}

// kafka-go does not support DeleteRecords, but its registry accepts further messages. The registration must come
// before any connection, so it is here and not at the use.
func init() { protocol.Register(&deleteRecordsRequest{}, &deleteRecordsResponse{}) }

// deleteRecordsRequest asks the leader of one partition to remove the records before an offset.
type deleteRecordsRequest struct {
	Topics    []deleteRecordsTopic `kafka:"min=v0,max=v1"`
	TimeoutMs int32                `kafka:"min=v0,max=v1"`
}

type deleteRecordsTopic struct {
	Name       string                   `kafka:"min=v0,max=v1"`
	Partitions []deleteRecordsPartition `kafka:"min=v0,max=v1"`
}

type deleteRecordsPartition struct {
	Index  int32 `kafka:"min=v0,max=v1"`
	Offset int64 `kafka:"min=v0,max=v1"`
}

// ApiKey implements protocol.Message.
//
//lint:ignore ST1003 the interface's name
func (*deleteRecordsRequest) ApiKey() protocol.ApiKey { return protocol.DeleteRecords }

// Broker implements protocol.BrokerMessage: the request goes to the leader of its first partition.
func (r *deleteRecordsRequest) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	topic := r.Topics[0]
	for _, p := range cluster.Topics[topic.Name].Partitions {
		if p.ID == topic.Partitions[0].Index {
			return cluster.Brokers[p.Leader], nil
		}
	}
	return protocol.Broker{ID: -1}, protocol.ErrNoPartition
}

type deleteRecordsResponse struct {
	ThrottleTimeMs int32                        `kafka:"min=v0,max=v1"`
	Topics         []deleteRecordsTopicResponse `kafka:"min=v0,max=v1"`
}

type deleteRecordsTopicResponse struct {
	Name       string                           `kafka:"min=v0,max=v1"`
	Partitions []deleteRecordsPartitionResponse `kafka:"min=v0,max=v1"`
}

type deleteRecordsPartitionResponse struct {
	Index        int32 `kafka:"min=v0,max=v1"`
	LowWatermark int64 `kafka:"min=v0,max=v1"`
	ErrorCode    int16 `kafka:"min=v0,max=v1"`
}

// ApiKey implements protocol.Message.
//
//lint:ignore ST1003 the interface's name
func (*deleteRecordsResponse) ApiKey() protocol.ApiKey { return protocol.DeleteRecords }

var _ protocol.BrokerMessage = (*deleteRecordsRequest)(nil)
