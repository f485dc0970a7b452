package e2e_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/mneme-memory/mneme/local/cli"
	"github.com/mneme-memory/mneme/local/command"
)

// TestMigrate creates the topics and other resources of services in the shared system, twice. The second run sets
// another retention.
func TestMigrate(t *testing.T) {
	servers := shared.Servers
	for name, value := range map[string]string{
		"MNEME_KAFKA_BROKERS": servers.Broker.Addr(), "MNEME_TEMPORAL_ADDR": servers.Temporal.Addr(),
		"MNEME_TEMPORAL_NAMESPACE": "migrated",
		"MNEME_WEAVIATE_HTTP":      servers.Weaviate.HTTP(), "MNEME_WEAVIATE_GRPC": servers.Weaviate.GRPC(),
		"MNEME_WEAVIATE_PREFIX": "Migrated",
		"MNEME_KAFKA_RETENTION": "mneme.feedback:240h",
	} {
		t.Setenv(name, value)
	}
	namespaces, err := client.NewNamespaceClient(client.Options{HostPort: servers.Temporal.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	defer namespaces.Close()
	for retention, days := range map[string]int{"72h": 3, "120h": 5} {
		var out, errOut bytes.Buffer
		if code := cli.Execute(t.Context(), []string{"migrate", "--temporal-retention", retention}, &out,
			&errOut); code != command.ExitOK {
			t.Fatalf("exit code %d: %s", code, errOut.String())
		}
		for _, want := range []string{"kafka: topics", "weaviate: collections Migrated*", "temporal: namespace migrated"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is missing in %q", want, out.String())
			}
		}
		found, err := namespaces.Describe(t.Context(), "migrated")
		if err != nil {
			t.Fatal(err)
		}
		if got := found.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(); got != time.Duration(days)*24*time.Hour {
			t.Errorf("histories are kept %s, want %s", got, retention)
		}
	}
	res, err := shared.HTTP().Get("http://" + servers.Weaviate.HTTP() + "/v1/schema/MigratedMemory")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("the collection of memories: %s", res.Status)
	}
}

func TestMigrateTellsWhatIsWrong(t *testing.T) {
	for wrong, args := range map[string][]string{
		`--skip is "redis", want some of kafka, weaviate, temporal`: {"--skip", "redis"},
		"want 24h0m0s or more": {"--skip", "kafka,weaviate", "--temporal-retention", "1h"},
	} {
		var out, errOut bytes.Buffer
		if code := cli.Execute(t.Context(), append([]string{"migrate"}, args...), &out, &errOut); code != command.ExitUsage {
			t.Errorf("%v: exit code %d", args, code)
		}
		if !strings.Contains(errOut.String(), wrong) {
			t.Errorf("%v: %q is missing in %q", args, wrong, errOut.String())
		}
	}
}
