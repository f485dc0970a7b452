package wiring

import (
	"errors"
	"time"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/kafka"
	"github.com/mneme-memory/mneme/shared/contract"
)

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
