package harness

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/kafka"
)

// Records returns all records of a topic up to its present ends, in order within each key.
func (s *System) Records(tb testing.TB, topic string) []bus.Message {
	tb.Helper()
	return RecordsAt(tb, s.Servers.Broker.Addr(), topic)
}

// RecordsAt is Records of a broker at an address.
func RecordsAt(tb testing.TB, broker, topic string) []bus.Message {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	source, err := kafka.NewSource(kafka.SourceConfig{
		Cluster: kafka.Cluster{Brokers: []string{broker}, ClientID: "harness"}, Group: "harness-" + uuid.NewString(),
		Topics: []string{topic}, MaxWait: 100 * time.Millisecond,
	})
	if err != nil {
		tb.Fatal(err)
	}
	out, err := readAll(ctx, source)
	if err = errors.Join(err, source.Close()); err != nil {
		tb.Fatalf("read %s: %v", topic, err)
	}
	return out
}

func readAll(ctx context.Context, source bus.Source) ([]bus.Message, error) {
	generation, err := source.Next(ctx)
	if err != nil {
		return nil, err
	}
	defer generation.Release()
	var out []bus.Message
	for _, p := range generation.Partitions() {
		end, err := generation.End(ctx, p)
		if err != nil {
			return nil, err
		}
		for next := int64(0); next < end; {
			fetched, err := generation.Fetch(ctx, p)
			if err != nil {
				return nil, fmt.Errorf("partition %d: %w", p.ID, err)
			}
			if len(fetched.Messages) == 0 && fetched.End >= end {
				break // the rest was truncated
			}
			for _, m := range fetched.Messages {
				next = m.Offset + 1
				m.Value, m.Key = append([]byte(nil), m.Value...), append([]byte(nil), m.Key...)
				out = append(out, m)
			}
		}
	}
	return out, nil
}
