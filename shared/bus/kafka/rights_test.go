package kafka_test

import (
	"errors"
	"strings"
	"testing"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mneme-memory/mneme/shared/bus/kafka"
)

// TestTopicsThatExistNeedNoRightToMakeThem calls with the rights of a service that may not make topics.
func TestTopicsThatExistNeedNoRightToMakeThem(t *testing.T) {
	right := func(name string) kfake.ACL {
		return kfake.ACL{
			Resource: kmsg.ACLResourceTypeTopic, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral,
			Operation: kmsg.ACLOperationDescribe, Allow: true,
		}
	}
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "there"), kfake.EnableSASL(), kfake.EnableACLs(),
		kfake.User("PLAIN", "service", "secret", right("there"), right("absent")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	cluster := kafka.Cluster{Brokers: c.ListenAddrs(), SASL: plain.Mechanism{Username: "service", Password: "secret"}}
	if err := kafka.EnsureTopics(t.Context(), cluster, kafka.Topic{Name: "there", Partitions: 1}); err != nil {
		t.Errorf("a topic that exists: %v", err)
	}
	err = kafka.EnsureTopics(t.Context(), cluster, kafka.Topic{Name: "absent", Partitions: 1})
	if !errors.Is(err, kafkago.TopicAuthorizationFailed) || !strings.Contains(err.Error(), "absent") {
		t.Errorf("a topic that does not exist: %v", err)
	}
}
