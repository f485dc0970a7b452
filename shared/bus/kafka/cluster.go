// Package kafka is the bus on Apache Kafka, or on a system with its protocol.
package kafka

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"

	"github.com/mneme-memory/mneme/shared/fault"
)

// MaxRecordBytes is the largest record that the publisher accepts by default and that the topics made by
// EnsureTopics take. A 2 MiB record wrapped as a dead letter fits easily.
const MaxRecordBytes = 4 << 20

const (
	dialTimeout = 5 * time.Second
	// requestTimeout bounds requests that a broker answers at once.
	requestTimeout = 5 * time.Second
	// metadataTTL is how long a client uses its information about topics and their leaders.
	metadataTTL = 5 * time.Second
)

// Cluster has the addresses and the security settings of the brokers.
type Cluster struct {
	// Brokers are addresses (host:port) of some of the brokers. The client discovers the others.
	Brokers []string
	// ClientID names this client in the brokers' logs and quotas.
	ClientID string
	// TLS encrypts the connections. nil leaves them in clear text.
	TLS *tls.Config
	// SASL authenticates the client. nil does not.
	SASL sasl.Mechanism
	// Dial makes the network connections. nil dials TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Validate checks the settings without a connection. Its errors are terminal.
func (c Cluster) Validate() error {
	if len(c.Brokers) == 0 {
		return fault.Terminal("brokers", "at least one address is needed")
	}
	for _, b := range c.Brokers {
		if _, _, err := net.SplitHostPort(b); err != nil {
			return fault.Terminal("brokers", "%q is not host:port", b)
		}
	}
	return nil
}

func (c Cluster) dial() func(context.Context, string, string) (net.Conn, error) {
	if c.Dial != nil {
		return c.Dial
	}
	d := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	return d.DialContext
}

// client returns a client with a separate transport, and a function that closes it. The context ends the
// transport's goroutines, even if a late request starts some after that.
func (c Cluster) client() (*kafkago.Client, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	transport := &kafkago.Transport{
		Context: ctx, Dial: c.dial(), DialTimeout: dialTimeout, ClientID: c.ClientID,
		TLS: c.TLS, SASL: c.SASL, MetadataTTL: metadataTTL, IdleTimeout: 30 * time.Second,
	}
	return &kafkago.Client{Addr: kafkago.TCP(c.Brokers...), Transport: transport}, func() {
		cancel()
		transport.CloseIdleConnections()
	}
}

func (c Cluster) dialer(dial func(context.Context, string, string) (net.Conn, error)) *kafkago.Dialer {
	return &kafkago.Dialer{
		ClientID: c.ClientID, Timeout: dialTimeout, DialFunc: dial, TLS: c.TLS, SASLMechanism: c.SASL,
	}
}

// Topic is a topic to be made.
type Topic struct {
	// Name is the topic's name.
	Name string
	// Partitions is the number of partitions, greater than 0. An existing topic keeps its number, because more
	// partitions would move keys and break their order.
	Partitions int
	// Replicas is how many brokers hold each record. 0 means the broker's default.
	Replicas int
	// Retention is how long records are kept. 0 means the broker's default.
	Retention time.Duration
	// InSync is how many brokers must hold a record before it is acknowledged. 0 means the broker's default.
	InSync int
}

// limits are the settings of a topic that may change while it is in use.
func (t Topic) limits() map[string]string {
	out := map[string]string{}
	if t.Retention > 0 {
		out["retention.ms"] = fmt.Sprint(t.Retention.Milliseconds())
	}
	if t.InSync > 0 {
		out["min.insync.replicas"] = fmt.Sprint(t.InSync)
	}
	return out
}

// EnsureTopics makes the topics that do not exist. Many callers may call it at once and repeatedly. Existing topics
// stay unchanged, and need no right to make topics.
func EnsureTopics(ctx context.Context, cluster Cluster, topics ...Topic) error {
	if err := cluster.Validate(); err != nil {
		return err
	}
	req := &kafkago.CreateTopicsRequest{}
	for _, t := range topics {
		if t.Name == "" || t.Partitions <= 0 {
			return fault.Terminal("topics", "%q needs a name and at least one partition", t.Name)
		}
		req.Topics = append(req.Topics, topicConfig(t))
	}
	client, closeClient := cluster.client()
	defer closeClient()
	res, err := client.CreateTopics(ctx, req)
	if err != nil {
		return fmt.Errorf("create topics: %w", err)
	}
	for name, err := range res.Errors {
		if errors.Is(err, kafkago.TopicAuthorizationFailed) { // also the answer for existing topics
			if _, missing := newTopicTable(client).ask(ctx, name); missing == nil {
				continue
			}
		}
		if err != nil && !errors.Is(err, kafkago.TopicAlreadyExists) {
			return fmt.Errorf("create topic %s: %w", name, err)
		}
	}
	return nil
}

func topicConfig(t Topic) kafkago.TopicConfig {
	replicas := cmp.Or(t.Replicas, -1)
	config := kafkago.TopicConfig{
		Topic: t.Name, NumPartitions: t.Partitions, ReplicationFactor: replicas,
		// A batch of one record is a little larger than the record.
		ConfigEntries: []kafkago.ConfigEntry{
			{ConfigName: "max.message.bytes", ConfigValue: fmt.Sprint(MaxRecordBytes + 64<<10)},
		},
	}
	for name, value := range t.limits() {
		config.ConfigEntries = append(config.ConfigEntries, kafkago.ConfigEntry{ConfigName: name, ConfigValue: value})
	}
	return config
}

// LimitTopics gives existing topics the retention and the in-sync replicas that are not 0. Their other settings
// stay unchanged.
func LimitTopics(ctx context.Context, cluster Cluster, topics ...Topic) error {
	req := &kafkago.IncrementalAlterConfigsRequest{}
	for _, t := range topics {
		resource := kafkago.IncrementalAlterConfigsRequestResource{ResourceType: kafkago.ResourceTypeTopic,
			ResourceName: t.Name}
		for name, value := range t.limits() {
			resource.Configs = append(resource.Configs, kafkago.IncrementalAlterConfigsRequestConfig{
				Name: name, Value: value, ConfigOperation: kafkago.ConfigOperationSet,
			})
		}
		if len(resource.Configs) > 0 {
			req.Resources = append(req.Resources, resource)
		}
	}
	if len(req.Resources) == 0 {
		return nil
	}
	if err := cluster.Validate(); err != nil {
		return err
	}
	client, closeClient := cluster.client()
	defer closeClient()
	res, err := client.IncrementalAlterConfigs(ctx, req)
	if err != nil {
		return fmt.Errorf("limit topics: %w", err)
	}
	for _, r := range res.Resources {
		if r.Error != nil {
			return fmt.Errorf("limit topic %s: %w", r.ResourceName, r.Error)
		}
	}
	return nil
}

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
