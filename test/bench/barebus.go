package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	kafkago "github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/kafka"
)

// bareBus is a bare producer and group consumer of kafka-go on the same brokers, with the same guarantees as Mneme's.
// All replicas acknowledge, keys keep their order, and commits happen periodically.
type bareBus struct {
	writer *kafkago.Writer
	reader *kafkago.Reader
}

const (
	bareBatch    = 1000
	bareCommits  = 250 * time.Millisecond
	bareMaxBytes = 1 << 20
)

// openBareBus creates a separate topic with the same number of partitions as Mneme's, and joins a group on it. The
// limit of records per producer request is batch. It is 1 for latency and bareBatch for throughput.
func openBareBus(ctx context.Context, s *system, batch int) (*bareBus, error) {
	topic := "bench." + uuid.NewString()
	made := kafka.Topic{Name: topic, Partitions: s.Bus.Partitions, Replicas: 1}
	if err := kafka.EnsureTopics(ctx, s.Bus.Cluster("bench"), made); err != nil {
		return nil, err
	}
	b := &bareBus{
		writer: &kafkago.Writer{
			Addr: kafkago.TCP(s.Bus.Brokers...), Topic: topic, Balancer: kafkago.Murmur2Balancer{},
			RequiredAcks: kafkago.RequireAll,
			BatchSize:    batch, BatchTimeout: time.Millisecond, BatchBytes: bareMaxBytes,
			Transport: &kafkago.Transport{}, // the default transport is shared and may not know the topic yet
		},
		reader: kafkago.NewReader(kafkago.ReaderConfig{
			Brokers: s.Bus.Brokers, GroupID: topic, Topic: topic, MinBytes: 1, MaxBytes: bareMaxBytes,
			MaxWait: 500 * time.Millisecond, CommitInterval: bareCommits, StartOffset: kafkago.FirstOffset,
			QueueCapacity: bareBatch,
		}),
	}
	// The first record waits until the group has formed. Later ones do not wait.
	if err := b.pass(ctx, []kafkago.Message{{Key: []byte("first"), Value: []byte("first")}}); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Close leaves the group.
func (b *bareBus) Close() error {
	err := errors.Join(b.writer.Close(), b.reader.Close())
	b.writer.Transport.(*kafkago.Transport).CloseIdleConnections()
	return err
}

// pass produces records and consumes the same number.
func (b *bareBus) pass(ctx context.Context, msgs []kafkago.Message) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := b.writer.WriteMessages(ctx, msgs...); err != nil {
			return fmt.Errorf("produce: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		for range msgs {
			m, err := b.reader.FetchMessage(ctx)
			if err != nil {
				return fmt.Errorf("consume: %w", err)
			}
			if err := b.reader.CommitMessages(ctx, m); err != nil {
				return fmt.Errorf("commit: %w", err)
			}
		}
		return nil
	})
	return g.Wait()
}

func bare(msgs []bus.Message) []kafkago.Message {
	out := make([]kafkago.Message, len(msgs))
	for i, m := range msgs {
		out[i] = kafkago.Message{Key: m.Key, Value: m.Value}
	}
	return out
}
