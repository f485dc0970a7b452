package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// TestMain also is the main of a service, for tests that need a separate process.
func TestMain(m *testing.M) {
	if os.Getenv("MNEME_TEST_CHILD") != "" {
		runner.Main(stubborn())
		return
	}
	goleak.VerifyTestMain(m)
}

type own struct {
	Topic string `env:"MNEME_TEST_TOPIC" envDefault:"events" desc:"topic read"`
}

type builder func(ctx context.Context, cfg own, tel *telemetry.Telemetry) (*runner.App, error)

func define(build builder) runner.Service {
	return runner.Define("probe", "Does nothing much.", build, runner.Default(runner.AddrVariable, "127.0.0.1:0"))
}

func serving(app *runner.App) runner.Service {
	return define(func(context.Context, own, *telemetry.Telemetry) (*runner.App, error) { return app, nil })
}

// output collects log lines of several goroutines.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// instance is a service running in the test.
type instance struct {
	t      *testing.T
	url    string
	log    *output
	cancel context.CancelFunc
	result chan error
	client *http.Client
}

func launch(t *testing.T, s runner.Service, environ map[string]string) *instance {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	transport := &http.Transport{DisableKeepAlives: true}
	i := &instance{t: t, log: &output{}, cancel: cancel, result: make(chan error, 1),
		client: &http.Client{Transport: transport}}
	addr := make(chan string, 1)
	if environ == nil {
		environ = map[string]string{}
	}
	go func() {
		i.result <- runner.Run(ctx, s, runner.Options{Environ: environ, Stderr: i.log, OnListen: func(a string) {
			addr <- a
		}})
	}()
	select {
	case a := <-addr:
		i.url = "http://" + a
	case err := <-i.result:
		t.Fatalf("ended before it listened: %v", err)
	}
	t.Cleanup(cancel)
	return i
}

// get returns status and body. Status 0 means no answer.
func (i *instance) get(path string) (int, string) {
	i.t.Helper()
	resp, err := i.client.Get(i.url + path)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(body)
}

// failing is the dependency that /readyz names.
func (i *instance) failing() []string {
	_, body := i.get("/readyz")
	var reply struct{ Failing []string }
	if json.Unmarshal([]byte(body), &reply) != nil {
		return nil
	}
	return reply.Failing
}

func (i *instance) awaitStatus(path string, want int) {
	i.t.Helper()
	await(i.t, func() bool { status, _ := i.get(path); return status == want })
}

// end asks the service to end and returns the result.
func (i *instance) end() error {
	i.cancel()
	return <-i.result
}

// await polls until ok. Its limit is so long that only a real fault fails.
func await(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it did not happen")
		}
	}
}

// journal records the order of events.
type journal struct {
	mu     sync.Mutex
	events []string
}

func (j *journal) add(event string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, event)
}

func (j *journal) step(name string) runner.Step {
	return runner.Step{Name: name, Run: func(context.Context) error { j.add("close " + name); return nil }}
}
