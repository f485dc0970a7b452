package wiring

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/sdk/client"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/kafka"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/decisions"
	"github.com/mneme-memory/mneme/shared/store/idempotency"
	"github.com/mneme-memory/mneme/shared/store/items"
	"github.com/mneme-memory/mneme/shared/store/mem0state"
	"github.com/mneme-memory/mneme/shared/store/records"
	"github.com/mneme-memory/mneme/shared/store/webhooks"
	"github.com/mneme-memory/mneme/workflows/erasure"
)

// Webhooks names the consumer group that delivers memory changes, so that an erasure can wait for it.
type Webhooks struct {
	// Group is the consumer group that reads memory changes for webhooks. An erasure waits for it, so it is the same
	// in all services.
	Group string `envDefault:"mneme-webhooks"`
}

// Groups are the consumer groups that an erasure waits for. A caller that only counts does not need them.
type Groups struct{ Attribution, Webhooks string }

// OpenErasureStores opens every store with users' data, except bank and window. They are erased in this order, and
// counted. A new store needs one more line here.
func OpenErasureStores(
	b *BusClient, w Workflows, redis Redis, temporal client.Client, groups Groups, tel *telemetry.Telemetry,
) ([]erasure.Store, func() error, error) {
	o := &opened{bus: b, redis: redis, tel: tel}
	shared := o.client()
	deliveries := webhooks.New(shared, webhooks.Options{})
	stores := []erasure.Store{
		erasure.Redis{Label: "answers and notes of requests", Erasable: idempotency.New(shared, idempotency.Options{})},
		erasure.Redis{Label: "verbatim items", Erasable: items.New(shared, items.Options{})},
		erasure.Redis{Label: "state of mem0's API", Erasable: mem0state.New(shared, mem0state.Options{})},
		erasure.Redis{Label: "decisions kept for the filter", Erasable: decisions.New(shared, decisions.Options{})},
		erasure.Redis{Label: "records of models", Erasable: o.records(shared)},
		o.traces(),
		o.deadLetters(),
		erasure.Deliveries{Consumer: o.consumer(groups.Webhooks, contract.TopicMemoryChanges), Kept: deliveries},
		erasure.Attribution{Consumer: o.consumer(groups.Attribution, contract.TopicSalientTurns)},
		erasure.Histories{Client: temporal, Namespace: w.Namespace, DeleteAfter: w.DeleteAfter},
	}
	if o.err != nil {
		return nil, nil, errors.Join(o.err, o.free())
	}
	return stores, o.free, nil
}

// opened opens stores until one fails, and frees their resources.
type opened struct {
	bus   *BusClient
	redis Redis
	tel   *telemetry.Telemetry
	frees []func() error
	err   error
}

func (o *opened) free() error {
	var errs []error
	for _, free := range slices.Backward(o.frees) {
		errs = append(errs, free())
	}
	return errors.Join(errs...)
}

// add records a function that frees an opened store, or the error of opening it.
func (o *opened) add(free func() error, err error) {
	if err != nil {
		o.err = errors.Join(o.err, err)
		return
	}
	o.frees = append(o.frees, free)
}

func (o *opened) client() goredis.UniversalClient {
	c, err := o.redis.client(o.tel)
	if err != nil {
		o.add(nil, err)
		return nil
	}
	o.add(c.Close, nil)
	return c
}

func (o *opened) records(redis goredis.UniversalClient) *records.Store {
	s, err := records.New(redis, records.Options{})
	o.err = errors.Join(o.err, err)
	return s
}

func (o *opened) traces() erasure.Store {
	s, free, err := o.redis.openTraces(o.tel)
	o.add(free, err)
	return s
}

func (o *opened) log(topic string) bus.Log {
	log, err := o.bus.Log(topic)
	if err != nil {
		o.add(nil, err)
		return nil
	}
	o.add(log.Close, nil)
	return log
}

func (o *opened) deadLetters() erasure.Store {
	letters, free, err := o.bus.OpenDeadLetters()
	o.add(free, err)
	return erasure.NewDeadLetterStore(erasure.DeadLettersConfig{
		Join: letters.Join, Log: letters.Log, Out: o.bus.raw, Instruments: o.bus.ins,
	})
}

func (o *opened) consumer(group, topic string) erasure.Consumer {
	offsets, err := kafka.NewOffsets(o.bus.bus.Cluster(o.bus.name), group, topic)
	if err != nil {
		o.add(nil, err)
		return erasure.Consumer{}
	}
	o.add(offsets.Close, nil)
	return erasure.Consumer{Log: o.log(topic), Committed: offsets.Committed}
}

// OpenRecords opens the kept records of model calls. It does not wait for Redis.
func (r Redis) OpenRecords(o records.Options, tel *telemetry.Telemetry) (*records.Store, func() error, error) {
	return openOver(r, tel, func(c goredis.UniversalClient) (*records.Store, error) { return records.New(c, o) })
}

// TransportTopic is a topic that loses records by its retention only.
type TransportTopic struct {
	Name string
	// Texts marks records with users' texts. Other records hold ids.
	Texts bool
	// RetentionMs is the retention in milliseconds; -1 means for ever, 0 means unknown.
	RetentionMs int64
}

// TransportTopics returns the topics with records that may remain although no service reads them again.
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
