// Package wiring connects services to their systems from configuration: the bus, the workflow engine, the bank, the
// window, the tenants file and the models. All services share it, so that they connect alike.
package wiring

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/kafka"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// Bus configures the access to Kafka and the creation of topics.
type Bus struct {
	Brokers    []string      `env:"MNEME_KAFKA_BROKERS" envDefault:"127.0.0.1:9092" desc:"one or more of the brokers, host:port, comma-separated"`
	TLS        bool          `env:"MNEME_KAFKA_TLS" envDefault:"false" desc:"whether the brokers use TLS; certificates are verified"`
	SASL       string        `env:"MNEME_KAFKA_SASL" envDefault:"plain" oneof:"plain|scram-sha-256|scram-sha-512" desc:"SASL mechanism, if a user is set"`
	User       string        `env:"MNEME_KAFKA_USER" desc:"SASL user; empty for no user"`
	Password   config.Secret `env:"MNEME_KAFKA_PASSWORD" desc:"SASL password"`
	Partitions int           `env:"MNEME_KAFKA_PARTITIONS" envDefault:"24" desc:"partitions of a new topic; an existing topic keeps its number"`
	Replicas   int           `env:"MNEME_KAFKA_REPLICAS" envDefault:"0" desc:"replicas of a new topic; 0 is the broker's default"`
	InSync     int           `env:"MNEME_KAFKA_MIN_INSYNC_REPLICAS" envDefault:"0" desc:"min.insync.replicas of a new topic, and by mneme migrate of existing ones; 0 is the broker's default"`
	// Retention is per topic, because only some topics hold users' texts.
	Retention map[string]time.Duration `env:"MNEME_KAFKA_RETENTION" desc:"retention of topics, such as mneme.session-events:168h; set for new topics, and by mneme migrate for existing ones; other topics use the broker's default"`
	Workers   int                      `env:"MNEME_BUS_WORKERS" envDefault:"32" desc:"users that one consumer handles at the same time"`
	// MaxBatch is the maximum number of records of one user handled together.
	MaxBatch int `envDefault:"256"`
}

// Validate checks the limits that the types do not express.
func (b Bus) Validate() error {
	return errors.Join(
		config.Require(len(b.Brokers) > 0, "MNEME_KAFKA_BROKERS", b.Brokers, "at least one host:port"),
		config.Require(b.Partitions > 0, "MNEME_KAFKA_PARTITIONS", b.Partitions, "more than zero"),
		config.Require(b.Replicas >= 0, "MNEME_KAFKA_REPLICAS", b.Replicas, "zero or more"),
		config.Require(b.InSync >= 0 && (b.Replicas == 0 || b.InSync <= b.Replicas),
			"MNEME_KAFKA_MIN_INSYNC_REPLICAS", b.InSync, "zero or more, and no more than MNEME_KAFKA_REPLICAS"),
		b.checkRetention(),
		config.Require(b.Workers > 0, "MNEME_BUS_WORKERS", b.Workers, "more than zero"),
		config.Require((b.User == "") == (b.Password == ""), "MNEME_KAFKA_USER", b.User,
			"a user and MNEME_KAFKA_PASSWORD, or neither"),
	)
}

func (b Bus) checkRetention() error {
	var errs []error
	for topic, d := range b.Retention {
		errs = append(errs, config.Require(slices.Contains(topicNames, topic) && d >= time.Millisecond,
			"MNEME_KAFKA_RETENTION",
			fmt.Sprintf("%s:%s", topic, d), "a duration of more than zero for some of "+strings.Join(topicNames, ", ")))
	}
	return errors.Join(errs...)
}

// Cluster is the address of the brokers with credentials.
func (b Bus) Cluster(clientID string) kafka.Cluster {
	c := kafka.Cluster{Brokers: b.Brokers, ClientID: clientID, TLS: verified(b.TLS)}
	if b.User != "" {
		c.SASL = b.mechanism()
	}
	return c
}

// verified returns TLS with the authorities of the machine (SSL_CERT_FILE and SSL_CERT_DIR name others). It returns
// nil without TLS.
func verified(wanted bool) *tls.Config {
	if !wanted {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12}
}

func (b Bus) mechanism() sasl.Mechanism {
	algorithm := scram.SHA256
	switch b.SASL {
	case "scram-sha-512":
		algorithm = scram.SHA512
	case "scram-sha-256":
	default:
		return plain.Mechanism{Username: b.User, Password: b.Password.Reveal()}
	}
	m, err := scram.Mechanism(algorithm, b.User, b.Password.Reveal())
	if err != nil {
		return unusable{algorithm.Name(), err}
	}
	return m
}

// unusable is a mechanism that cannot be created, for example because SCRAM does not allow a character of the
// password.
type unusable struct {
	name string
	err  error
}

// Name implements sasl.Mechanism.
func (u unusable) Name() string { return u.name }

// Start implements sasl.Mechanism.
func (u unusable) Start(context.Context) (sasl.StateMachine, []byte, error) { return nil, nil, u.err }

var topicNames = []string{
	contract.TopicSessionEvents, contract.TopicSalientTurns, contract.TopicMemoryChanges, contract.TopicFeedback,
	contract.TopicDeadLetters,
}

// topics returns the topics of the contracts.
func (b Bus) topics() []kafka.Topic {
	var out []kafka.Topic
	for _, name := range topicNames {
		out = append(out, kafka.Topic{
			Name: name, Partitions: b.Partitions, Replicas: b.Replicas, InSync: b.InSync, Retention: b.Retention[name],
		})
	}
	return out
}

// EnsureTopics creates the topics of the contracts that do not exist.
func (b Bus) EnsureTopics(ctx context.Context, clientID string) error {
	return runner.Need("kafka", kafka.EnsureTopics(ctx, b.Cluster(clientID), b.topics()...))
}

// BusClient is a service's connection to the bus.
type BusClient struct {
	bus  Bus
	name string
	raw  bus.Publisher
	ins  *bus.Instruments
	// Publisher publishes with the trace context.
	Publisher bus.Publisher
}

// Open creates the topics and a publisher. The caller closes the client.
func (b Bus) Open(ctx context.Context, name string, tel *telemetry.Telemetry) (*BusClient, error) {
	if err := b.EnsureTopics(ctx, name); err != nil {
		return nil, err
	}
	ins, err := bus.NewInstruments(bus.Telemetry{Tracer: tel.Tracer, Meter: tel.Meter, Log: tel.Log,
		Propagator: tel.Propagator})
	if err != nil {
		return nil, err
	}
	raw, err := kafka.NewPublisher(kafka.PublisherConfig{Cluster: b.Cluster(name)})
	if err != nil {
		return nil, err
	}
	return &BusClient{bus: b, name: name, raw: raw, ins: ins, Publisher: bus.TracedPublisher(raw, ins)}, nil
}

// Consume returns the task that consumes a topic as a group, with the usual chain around h. A new group begins at the
// oldest record.
func (c *BusClient) Consume(topic, group string, h bus.Handler) (runner.Task, error) {
	return c.ConsumeGathered(topic, group, nil, h)
}

// ConsumeGathered is Consume with a wait for more records of the same key. gather sets the wait, see bus.Config.
func (c *BusClient) ConsumeGathered(
	topic, group string, gather func(bus.Message) time.Duration, h bus.Handler,
) (runner.Task, error) {
	return c.consume(kafka.SourceConfig{Group: group, Topics: []string{topic}}, gather, h)
}

// ConsumeNew is Consume for future records: a new group begins at the end of the topic.
func (c *BusClient) ConsumeNew(topic, group string, h bus.Handler) (runner.Task, error) {
	return c.consume(kafka.SourceConfig{Group: group, Topics: []string{topic}, FromEnd: true}, nil, h)
}

func (c *BusClient) consume(
	from kafka.SourceConfig, gather func(bus.Message) time.Duration, h bus.Handler,
) (runner.Task, error) {
	group := from.Group
	standard := bus.StandardConfig{Group: group, Handler: c.name, DeadLetters: contract.TopicDeadLetters}
	chain, err := bus.Standard(standard, c.raw, c.ins, h)
	if err != nil {
		return runner.Task{}, err
	}
	from.Cluster = c.bus.Cluster(c.name)
	source, err := kafka.NewSource(from)
	if err != nil {
		return runner.Task{}, err
	}
	cfg := bus.DefaultConfig(group)
	cfg.Workers, cfg.MaxBatch, cfg.Gather = c.bus.Workers, c.bus.MaxBatch, gather
	cfg.MaxInFlight = max(cfg.MaxInFlight, 4*cfg.MaxBatch)
	consumer, err := bus.NewConsumer(cfg, source, chain, c.ins)
	if err != nil {
		return runner.Task{}, errors.Join(err, source.Close())
	}
	return runner.Task{Name: "consume " + strings.Join(from.Topics, ", "), Run: consumer.Run}, nil
}

// Raw returns the publisher without trace context, for callers that add their own.
func (c *BusClient) Raw() bus.Publisher { return c.raw }

// Instruments returns the client's instruments, for other users of the bus.
func (c *BusClient) Instruments() *bus.Instruments { return c.ins }

// Close closes the publisher.
func (c *BusClient) Close() error { return c.Publisher.Close() }

// DeadLetters is the topic of dead letters, for consumers in the group of the replay.
type DeadLetters struct {
	Log bus.Log
	// Offsets are the offsets up to which letters were replayed or erased.
	Offsets *kafka.Offsets
	// Join creates a membership in the group.
	Join func() (bus.Source, error)
}

// OpenDeadLetters opens the dead letters. It does not wait for Kafka. The returned function frees them.
func (c *BusClient) OpenDeadLetters() (DeadLetters, func() error, error) {
	log, err := c.Log(contract.TopicDeadLetters)
	if err != nil {
		return DeadLetters{}, nil, err
	}
	cluster := c.bus.Cluster(c.name)
	offsets, err := kafka.NewOffsets(cluster, contract.GroupReplay, contract.TopicDeadLetters)
	if err != nil {
		return DeadLetters{}, nil, errors.Join(err, log.Close())
	}
	join := func() (bus.Source, error) {
		return kafka.NewSource(kafka.SourceConfig{
			Cluster: cluster, Group: contract.GroupReplay, Topics: []string{contract.TopicDeadLetters},
			MaxWait: 200 * time.Millisecond,
		})
	}
	return DeadLetters{Log: log, Offsets: offsets, Join: join}, func() error {
		return errors.Join(log.Close(), offsets.Close())
	}, nil
}

// Log opens a topic as a log. It does not wait for Kafka. The caller closes the log.
func (c *BusClient) Log(topic string) (bus.Log, error) {
	return kafka.NewLog(c.bus.Cluster(c.name), topic)
}
