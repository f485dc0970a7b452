package harness

import (
	"context"
	"strings"
	"testing"
	"time"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/kafka"
	"github.com/mneme-memory/mneme/shared/contract"
)

func (s *System) deadLetterSource() (bus.Source, error) {
	return kafka.NewSource(kafka.SourceConfig{
		Cluster: kafka.Cluster{Brokers: []string{s.Servers.Broker.Addr()}, ClientID: contract.GroupReplay},
		Group:   contract.GroupReplay,
		Topics:  []string{contract.TopicDeadLetters}, MaxWait: 100 * time.Millisecond,
	})
}

// DeadLetters returns the waiting dead letters with the key prefix: "tenant/" or "tenant/user".
func (s *System) DeadLetters(tb testing.TB, keyPrefix string) []*mnemev1.DeadLetter {
	tb.Helper()
	s.readingDeadLetters.Lock()
	defer s.readingDeadLetters.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	source, err := s.deadLetterSource()
	if err != nil {
		tb.Fatal(err)
	}
	deadLetters, err := bus.DeadLetters(ctx, bus.ReplayConfig{KeyPrefix: keyPrefix}, source)
	if err != nil {
		tb.Fatalf("list dead letters: %v", err)
	}
	return deadLetters
}

// AwaitDeadLetter waits for such a dead letter with a text in its reason, and returns it.
func (s *System) AwaitDeadLetter(tb testing.TB, keyPrefix, reason string) *mnemev1.DeadLetter {
	tb.Helper()
	var found *mnemev1.DeadLetter
	Await(tb, "there is a dead letter of "+keyPrefix+" that says "+reason, func(context.Context) (bool, error) {
		for _, l := range s.DeadLetters(tb, keyPrefix) {
			if strings.Contains(l.GetReason(), reason) {
				found = l
				return true, nil
			}
		}
		return false, nil
	})
	return found
}

// Replay moves those dead letters back to their topics, as `mneme replay` does.
func (s *System) Replay(tb testing.TB, keyPrefix string) bus.ReplayResult {
	tb.Helper()
	s.readingDeadLetters.Lock()
	defer s.readingDeadLetters.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	source, err := s.deadLetterSource()
	if err != nil {
		tb.Fatal(err)
	}
	result, err := bus.Replay(ctx, bus.ReplayConfig{KeyPrefix: keyPrefix}, source, s.busClient.Raw(),
		s.busClient.Instruments())
	if err != nil {
		tb.Fatalf("replay: %v", err)
	}
	return result
}
