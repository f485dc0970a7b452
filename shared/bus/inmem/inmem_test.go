package inmem_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/bustest"
	"github.com/mneme-memory/mneme/shared/bus/inmem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	broker := inmem.NewBroker()
	bustest.Run(t, bustest.Transport{
		CreateTopic: func(_ testing.TB, name string, partitions int) { broker.CreateTopic(name, partitions) },
		Source: func(_ testing.TB, group string, topics ...string) (bus.Source, func()) {
			m := broker.Source(group, topics...)
			return m, m.Kill
		},
		SourceFromEnd: func(_ testing.TB, group string, topics ...string) bus.Source {
			return broker.SourceFromEnd(group, topics...)
		},
		Publisher: func(testing.TB) bus.Publisher { return broker.Publisher() },
		Log:       func(_ testing.TB, topic string) bus.Log { return broker.Log(topic) },
		Committed: func(_ testing.TB, group string, p bus.Partition) int64 {
			if next, ok := broker.Committed(group)[p]; ok {
				return next
			}
			return -1
		},
		Restart: func(_ testing.TB, during func()) {
			broker.Stop()
			during()
			broker.Start()
		},
	})
}
