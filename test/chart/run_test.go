//go:build chart

package chart_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/test/harness"
)

// The key of the tenant, and the shared secret of the services.
const (
	key    = "mneme_0123456789abcdef"
	secret = "sixteen bytes it is"
)

// installation runs the rendered chart as processes, with the containers' settings only.
type installation struct {
	all      objects
	programs string
	// addrs are the addresses of components, in place of their Services' names.
	addrs map[string]string
	// tenants is the file in place of the mounted Secret of tenants.
	tenants string
}

// environ returns a container's environment, with addresses on this machine.
func (i installation) environ(component string) []string {
	values, _ := i.all.settings(component)
	values["MNEME_HTTP_ADDR"], values["MNEME_METRICS_ADDR"] = i.addrs[component], "127.0.0.1:0"
	values["MNEME_INTERNAL_SECRET"], values["MNEME_API_KEY"] = secret, key
	if values["MNEME_TENANTS_FILE"] != "" {
		values["MNEME_TENANTS_FILE"] = i.tenants
	}
	var out []string
	for name, value := range values {
		for called, addr := range i.addrs {
			value = strings.NewReplacer("mneme-"+called+":8080", addr, "mneme-"+called+":80", addr).Replace(value)
		}
		out = append(out, name+"="+value)
	}
	return out
}

// job runs a job of the chart to its end.
func (i installation) job(t *testing.T, kind, component string) {
	t.Helper()
	container := maps(at[[]any](i.all.of(kind)[component].pod(), "containers"))[0]
	var args []string
	for _, a := range at[[]any](container, "args") {
		args = append(args, a.(string))
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(i.programs, "mneme"), args...)
	cmd.Env = i.environ(component)
	for _, e := range maps(at[[]any](container, "env")) {
		if e["name"] == "MNEME_URL" {
			cmd.Env = append(cmd.Env, "MNEME_URL=http://"+i.addrs["gateway"])
		}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", component, err, out)
	}
}

// start starts a component and stops it in order at the test's end.
func (i installation) start(t *testing.T, component, program string) {
	t.Helper()
	running, end := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(running, filepath.Join(i.programs, program))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	grace := at[int](i.all.of("Deployment")[component].pod(), "terminationGracePeriodSeconds")
	cmd.WaitDelay = time.Duration(grace) * time.Second // then the process is killed
	cmd.Env = i.environ(component)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end()
		// The context's error means that the process exited well, and only after its signal.
		if err := cmd.Wait(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s did not end well when it was told to: %v", component, err)
		}
		if t.Failed() {
			t.Logf("%s:\n%s", component, complaints.String())
		}
	})
}

// TestWhatIsRenderedRuns runs the migration, all components and the chart's test with real servers.
func TestWhatIsRenderedRuns(t *testing.T) {
	t.Parallel()
	servers, sum := harness.StartServers(t), sha256.Sum256([]byte(key))
	tenant := map[string]any{"id": "acme", "api_keys": []string{"sha256:" + hex.EncodeToString(sum[:])}}
	programs, err := harness.Programs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := installation{programs: programs, addrs: map[string]string{}, tenants: filepath.Join(t.TempDir(), "tenants.yaml")}
	i.all = render(t, valuesOf(t, map[string]any{
		"kafka":    map[string]any{"brokers": []string{servers.Broker.Addr()}, "partitions": 4, "replicas": 1},
		"redis":    map[string]any{"addresses": []string{servers.Redis.Addr()}},
		"temporal": map[string]any{"address": servers.Temporal.Addr(), "namespace": "chart"},
		"weaviate": map[string]any{"http": servers.Weaviate.HTTP(), "grpc": servers.Weaviate.GRPC()},
		"tenants":  map[string]any{"list": []any{tenant}},
		"test":     map[string]any{"enabled": true, "existingSecret": "key"},
		"drain":    map[string]any{"delaySeconds": 0},
	}))
	for _, o := range i.all {
		if content := at[string](o, "stringData", "tenants.yaml"); content != "" {
			if err := os.WriteFile(i.tenants, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	i.job(t, "Job", "migrate")
	for _, list := range components {
		for _, component := range list {
			addr, err := harness.FreeAddr()
			if err != nil {
				t.Fatal(err)
			}
			i.addrs[component] = addr
		}
	}
	for program, list := range components {
		for _, component := range list {
			i.start(t, component, program)
		}
	}
	for component, addr := range i.addrs {
		harness.Await(t, component+" is ready", func(ctx context.Context) (bool, error) { return ready(ctx, addr), nil })
	}
	i.job(t, "Pod", "test")
}

// ready sends the request of the readiness probe.
func ready(ctx context.Context, addr string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/readyz", nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}
