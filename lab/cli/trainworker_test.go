package cli_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/mneme-memory/mneme/lab/cli"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
)

var tinyPolicy = []string{"train", "policy", "--persons", "2", "--sessions", "2", "--group", "2", "--weak", "--held",
	"0"}

// Workers train the same policy file as one process.
func TestWorkersTrainTheSamePolicy(t *testing.T) {
	temporal, err := servers.StartTemporal(t.Context(), process.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = temporal.Stop(context.Background()) })
	store, err := servers.StartEmbeddedRedis(t.Context(), process.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Stop(context.Background()) })
	to := []string{"--temporal", temporal.Addr(), "--redis", store.Addr()}
	run := func(ctx context.Context, args ...string) (code int, said string) {
		var out, errOut bytes.Buffer
		code = cli.Execute(ctx, args, &out, &errOut)
		return code, out.String() + errOut.String()
	}
	policy := func(ctx context.Context, more ...string) (int, string) {
		return run(ctx, append(append([]string{}, tinyPolicy...), more...)...)
	}

	// The waiting command may end while there is no worker: the training continues.
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan string, 1)
	go func() { _, said := policy(ctx, to...); waiting <- said }()
	for deadline := time.Now().Add(time.Minute); trainings(t, temporal.Addr(), "") == 0; {
		if time.Now().After(deadline) {
			t.Fatal("no training has begun")
		}
	}
	cancel()
	if said := <-waiting; !strings.Contains(said, "goes on") {
		t.Errorf("who was interrupted said %q", said)
	}
	code, said := policy(t.Context(), append(to, "--seed", "2", "--cancel")...)
	if code != command.ExitUsage || !strings.Contains(said, "no training") {
		t.Errorf("what does not run is cancelled with %d: %s", code, said)
	}

	// A command that restarts an ending training gets an error at once.
	ctx, cancel = context.WithCancel(t.Context())
	go func() { _, said := policy(ctx, append(to, "--seed", "4")...); waiting <- said }()
	for deadline := time.Now().Add(time.Minute); trainings(t, temporal.Addr(), "") < 2; {
		if time.Now().After(deadline) {
			t.Fatal("no training has begun")
		}
	}
	cancel()
	<-waiting
	code, said = policy(t.Context(), append(to, "--seed", "4", "--cancel")...)
	if code != command.ExitOK || !strings.Contains(said, "cancelled") {
		t.Errorf("a training is cancelled with %d: %s", code, said)
	}
	if code, said := policy(t.Context(), append(to, "--seed", "4")...); code == command.ExitOK ||
		!strings.Contains(said, "not ended yet") {
		t.Errorf("what is ending was begun again: %d, %s", code, said)
	}

	working, stop := context.WithCancel(t.Context())
	stopped := make(chan string, 2)
	for range 2 {
		go func() {
			code, said := run(working, append([]string{"train", "worker", "--parallel", "1"}, to...)...)
			if code == command.ExitOK {
				said = ""
			}
			stopped <- said
		}()
	}
	dir := t.TempDir()
	alone, together := filepath.Join(dir, "alone.json"), filepath.Join(dir, "together.json")
	if code, said := policy(t.Context(), "--out", alone); code != command.ExitOK ||
		!strings.Contains(said, "learned from 4 sessions") {
		t.Fatalf("exit code %d: %s", code, said)
	}
	code, said = policy(t.Context(), append(to, "--out", together)...)
	if code != command.ExitOK || !strings.Contains(said, "learned from 4 sessions") {
		t.Fatalf("exit code %d: %s", code, said)
	}
	if n := trainings(t, temporal.Addr(), ""); n != 2 {
		t.Errorf("%d trainings were begun, want the first to be found again", n)
	}

	// A cancellation deletes a finished training that no command fetched.
	ctx, cancel = context.WithCancel(t.Context())
	go func() { _, said := policy(ctx, append(to, "--seed", "3")...); waiting <- said }()
	for deadline := time.Now().Add(time.Minute); trainings(t, temporal.Addr(), "") < 3; {
		if time.Now().After(deadline) {
			t.Fatal("no second training has begun")
		}
	}
	cancel()
	<-waiting
	for deadline := time.Now().Add(5 * time.Minute); trainings(t, temporal.Addr(), `ExecutionStatus = "Completed"`) < 2; {
		if time.Now().After(deadline) {
			t.Fatal("the second training has not ended")
		}
	}
	if n := kept(t, store.Addr()); n == 0 {
		t.Error("nothing is kept of a training that nobody came for")
	}
	if code, said := policy(t.Context(), append(to, "--seed", "3", "--cancel")...); code != command.ExitOK ||
		!strings.Contains(said, "is over") {
		t.Errorf("a training that is over is cancelled with %d: %s", code, said)
	}
	if n := kept(t, store.Addr()); n != 0 {
		t.Errorf("%d trainings are kept after a cancellation", n)
	}
	stop()
	for range 2 {
		if said := <-stopped; said != "" {
			t.Errorf("a worker ended with: %s", said)
		}
	}
	want, err := os.ReadFile(alone)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(together); err != nil || !bytes.Equal(got, want) {
		t.Errorf("another policy, %v:\n%s\n%s", err, got, want)
	}
}

// kept counts the trainings with checkpoints.
func kept(t *testing.T, addr string) int {
	t.Helper()
	r := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = r.Close() }()
	keys, err := r.Keys(t.Context(), "mneme:checkpoint:*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return len(keys)
}

// trainings counts the trainings of a query.
func trainings(t *testing.T, addr, query string) int64 {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{HostPort: addr,
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	counted, err := c.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: query})
	if err != nil {
		t.Fatal(err)
	}
	return counted.GetCount()
}

func TestTrainingByWorkersRefusesWhatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		line []string
		code int
		want string
	}{
		"cancel without a server": {append(tinyPolicy, "--cancel"), command.ExitUsage, "--temporal"},
		"a number of parts":       {[]string{"train", "worker", "--parallel", "-1"}, command.ExitUsage, "--parallel"},
		"no Redis to be reached": {append(tinyPolicy, "--temporal", "127.0.0.1:1", "--redis", "127.0.0.1:1"),
			command.ExitUnreachable, "redis"},
		"no Redis that is known": {[]string{"train", "worker", "--data-dir", t.TempDir()}, command.ExitUnreachable,
			"--redis"},
		"an update too large": {append(tinyPolicy, "--temporal", "127.0.0.1:1", "--together", "6000", "--persons", "6000"),
			command.ExitUsage,
			"--together"},
		"options that are checked": {append(tinyPolicy, "--temporal", "127.0.0.1:1", "--group", "1"), command.ExitUsage,
			"group"},
	} {
		var out, errOut bytes.Buffer
		if code := cli.Execute(t.Context(), c.line, &out, &errOut); code != c.code ||
			!strings.Contains(errOut.String(), c.want) {
			t.Errorf("%s: exit code %d, %s", name, code, &errOut)
		}
	}
}
