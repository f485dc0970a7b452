package wiring_test

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/config"
)

func TestTopicsAreMadeOverSASL(t *testing.T) {
	for given, mechanism := range map[string]string{"plain": "PLAIN", "scram-sha-256": "SCRAM-SHA-256",
		"scram-sha-512": "SCRAM-SHA-512"} {
		t.Run(given, func(t *testing.T) {
			brokers, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(),
				kfake.Superuser(mechanism, "mneme", "hush"))
			if err != nil {
				t.Fatal(err)
			}
			defer brokers.Close()
			environ := map[string]string{
				"MNEME_KAFKA_BROKERS": brokers.ListenAddrs()[0], "MNEME_KAFKA_SASL": given, "MNEME_KAFKA_USER": "mneme",
				"MNEME_KAFKA_PASSWORD":   "hush",
				"MNEME_KAFKA_PARTITIONS": "3", "MNEME_KAFKA_REPLICAS": "1", "MNEME_KAFKA_MIN_INSYNC_REPLICAS": "1",
				"MNEME_KAFKA_RETENTION": "mneme.session-events:24h",
			}
			migrate := func() error {
				m, err := config.Load[wiring.Migration](environ)
				if err != nil {
					t.Fatal(err)
				}
				return m.Topics(t.Context(), "test")
			}
			if err := migrate(); err != nil {
				t.Fatal(err)
			}
			environ["MNEME_KAFKA_RETENTION"] = "mneme.session-events:1h,mneme.dead-letters:48h"
			environ["MNEME_KAFKA_PARTITIONS"] = "5"
			if err := migrate(); err != nil {
				t.Fatal(err)
			}
			for topic, retention := range map[string]string{
				contract.TopicSessionEvents: "3600000", contract.TopicDeadLetters: "172800000", contract.TopicFeedback: "",
			} {
				set := brokers.TopicInfo(topic).Configs["retention.ms"]
				if (set == nil) != (retention == "") || set != nil && *set != retention {
					t.Errorf("%s: retention.ms is %v, want %q", topic, set, retention)
				}
				if got := len(brokers.PartitionInfos(topic)); got != 3 {
					t.Errorf("%s has %d partitions, want the 3 it was made with", topic, got)
				}
			}
			environ["MNEME_KAFKA_PASSWORD"] = "wrong"
			if err := migrate(); err == nil {
				t.Error("a wrong password was taken")
			}
		})
	}
}

func TestNamespacesWithoutHistoryAreRefused(t *testing.T) {
	m, err := config.Load[wiring.Migration](nil)
	if err != nil {
		t.Fatal(err)
	}
	err = m.RegisterNamespace(t.Context(), time.Hour, newTelemetry(t))
	if !fault.IsTerminal(err) || !strings.Contains(err.Error(), "24h") {
		t.Errorf("got %v", err)
	}
}
