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
	"github.com/mneme-memory/mneme/shared/store/decisions"
	"github.com/mneme-memory/mneme/shared/store/records"
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
	kept, freeKept, err := redis.OpenDecisions(decisions.Options{}, tel)
	if err != nil {
		return nil, nil, errors.Join(err, deadLetters.Close(), free())
	}
	recorded, freeRecorded, err := redis.OpenRecords(records.Options{}, tel)
	if err != nil {
		return nil, nil, errors.Join(err, freeKept(), deadLetters.Close(), free())
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
		erasure.Histories{Client: temporal, Namespace: w.Namespace, DeleteAfter: w.DeleteAfter},
		traces,
		FilterDecisions{kept},
		ModelRecords{recorded},
	}, func() error { return errors.Join(deadLetters.Close(), freeRecorded(), freeKept(), free()) }, nil
}

// OpenDecisions opens what is kept of the decisions of a filter that asks a model. It does not wait for Redis.
func (r Redis) OpenDecisions(o decisions.Options, tel *telemetry.Telemetry) (*decisions.Store, func() error, error) {
	client, err := r.client(tel)
	if err != nil {
		return nil, nil, err
	}
	return decisions.New(client, o), client.Close, nil
}

// OpenRecords opens what is kept of calls of models. It does not wait for Redis.
func (r Redis) OpenRecords(o records.Options, tel *telemetry.Telemetry) (*records.Store, func() error, error) {
	client, err := r.client(tel)
	if err != nil {
		return nil, nil, err
	}
	store, err := records.New(client, o)
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return store, client.Close, nil
}

// ModelRecords are what is kept of calls of models, as a store to be erased. They are erased also where nothing is recorded by now.
type ModelRecords struct{ Store *records.Store }

var _ erasure.Store = ModelRecords{}

// Name implements erasure.Store.
func (ModelRecords) Name() string { return "records of models" }

// Erase implements erasure.Store.
func (m ModelRecords) Erase(ctx context.Context, r erasure.Request) error {
	return m.Store.Forget(ctx, r.Scope)
}

// Count implements erasure.Store.
func (m ModelRecords) Count(ctx context.Context, r erasure.Request) (int, error) {
	return m.Store.Count(ctx, r.Scope)
}

// FilterDecisions are what is kept of the decisions of a filter that asks a model, as a store to be erased.
type FilterDecisions struct{ Store *decisions.Store }

var _ erasure.Store = FilterDecisions{}

// Name implements erasure.Store.
func (FilterDecisions) Name() string { return "decisions kept for the filter" }

// Erase implements erasure.Store. What came after the request goes, too: a model is asked again at worst.
func (d FilterDecisions) Erase(ctx context.Context, r erasure.Request) error {
	return d.Store.Forget(ctx, r.Scope)
}

// Count implements erasure.Store.
func (d FilterDecisions) Count(ctx context.Context, r erasure.Request) (int, error) {
	return d.Store.Count(ctx, r.Scope)
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
