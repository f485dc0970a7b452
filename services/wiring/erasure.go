package wiring

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/kafka"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/workflows/erasure"
)

// OpenErasureStores opens what keeps something of users beside bank and window. A further store is one more line.
func OpenErasureStores(
	b *BusClient, w Workflows, redis Redis, temporal client.Client, tel *telemetry.Telemetry,
) ([]erasure.Store, func() error, error) {
	traces, free, err := redis.openTraces(tel)
	if err != nil {
		return nil, nil, err
	}
	cluster := b.bus.Cluster(b.name)
	deadLetters, err := kafka.NewLog(cluster, contract.TopicDeadLetters)
	if err != nil {
		return nil, nil, errors.Join(err, free())
	}
	return []erasure.Store{
		erasure.NewDeadLetterStore(erasure.DeadLettersConfig{
			Join: func() (bus.Source, error) {
				return kafka.NewSource(kafka.SourceConfig{
					Cluster: cluster, Group: contract.GroupReplay, Topics: []string{contract.TopicDeadLetters}, MaxWait: 200 * time.Millisecond,
				})
			},
			Log: deadLetters, Out: b.raw, Instruments: b.ins,
		}),
		erasure.Histories{Client: temporal, Namespace: w.Namespace},
		traces,
	}, func() error { return errors.Join(deadLetters.Close(), free()) }, nil
}

// TransportTopic is a topic whose records leave with its retention alone.
type TransportTopic struct {
	Name string
	// Texts says that its records hold what users say; else they hold ids.
	Texts bool
	// RetentionMs is how long it keeps records, in milliseconds; -1 for ever, 0 not known.
	RetentionMs int64
}

// TransportTopics says what records may remain where no service reads them again.
func (c *BusClient) TransportTopics(ctx context.Context) ([]TransportTopic, error) {
	topics := []TransportTopic{
		{Name: contract.TopicSessionEvents, Texts: true}, {Name: contract.TopicSalientTurns, Texts: true},
		{Name: contract.TopicMemoryChanges}, {Name: contract.TopicFeedback},
	}
	for i := range topics {
		log, err := kafka.NewLog(c.bus.Cluster(c.name), topics[i].Name)
		if err != nil {
			return nil, err
		}
		topics[i].RetentionMs, err = log.Retention(ctx)
		if closeErr := log.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return nil, fmt.Errorf("ask for the retention of topics: %w", err)
		}
	}
	return topics, nil
}
