package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

func TestServiceAnswersForHealthMetricsAndItsRoutes(t *testing.T) {
	i := launch(t, serving(&runner.App{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	})}), nil)
	i.awaitStatus("/readyz", http.StatusOK)
	for path, want := range map[string]string{"/healthz": "alive", "/readyz": "ready", "/metrics": "go_goroutines",
		"/rpc": "HTTP/1.1"} {
		if status, body := i.get(path); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s answered %d %q", path, status, body)
		}
	}
	if err := i.end(); err != nil {
		t.Error(err)
	}
	if status, _ := i.get("/healthz"); status != 0 {
		t.Errorf("answers %d after its end", status)
	}
}

func TestMetricsAreServedElsewhereWhereTheyHaveAnAddress(t *testing.T) {
	i := launch(t, serving(&runner.App{}), map[string]string{runner.MetricsAddrVariable: "127.0.0.1:0"})
	i.awaitStatus("/readyz", http.StatusOK)
	if status, body := i.get("/metrics"); status != http.StatusNotFound || strings.Contains(body, "go_goroutines") {
		t.Errorf("the service's address answers %d %q", status, body)
	}
	_, after, _ := strings.Cut(i.log.String(), `"listening for metrics"`)
	line, _, _ := strings.Cut(after, "\n")
	addr := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line)
	res, err := i.client.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	body, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil || !strings.Contains(string(body), "go_goroutines") {
		t.Errorf("%d %q, %v", res.StatusCode, body, err)
	}
	if err := i.end(); err != nil {
		t.Error(err)
	}
	if res, err := i.client.Get("http://" + addr + "/metrics"); err == nil {
		_ = res.Body.Close()
		t.Error("metrics are served after the end")
	}
}

func TestEndFinishesRequestsThenBackgroundThenClosesInReverse(t *testing.T) {
	for name, protocol := range map[string]func(*http.Protocols){
		"HTTP/1.1":           func(p *http.Protocols) { p.SetHTTP1(true) },
		"HTTP/2 without TLS": func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
	} {
		t.Run(name, func(t *testing.T) {
			var log journal
			entered, release := make(chan struct{}), make(chan struct{})
			i := launch(t, serving(&runner.App{
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					close(entered)
					<-release
					log.add("request done " + r.Proto)
				}),
				Background: []runner.Task{{Name: "consume", Run: func(ctx context.Context) error {
					<-ctx.Done()
					log.add("background done")
					return ctx.Err()
				}}},
				Close: []runner.Step{log.step("store"), log.step("bus")},
			}), nil)
			i.awaitStatus("/readyz", http.StatusOK)
			transport := &http.Transport{Protocols: new(http.Protocols)}
			protocol(transport.Protocols)
			defer transport.CloseIdleConnections()
			answered := make(chan error, 1)
			go func() {
				resp, err := (&http.Client{Transport: transport}).Get(i.url + "/slow")
				if err == nil {
					err = resp.Body.Close()
				}
				answered <- err
			}()
			<-entered
			i.cancel()
			await(t, func() bool { return strings.Contains(i.log.String(), `"stopping"`) })
			close(release)
			if err := <-answered; err != nil {
				t.Errorf("open request was cut off: %v", err)
			}
			if err := <-i.result; err != nil {
				t.Error(err)
			}
			if len(log.events) != 4 || !strings.HasPrefix(log.events[0], "request done "+name[:6]) ||
				!slices.Equal(log.events[1:], []string{"background done", "close bus", "close store"}) {
				t.Errorf("order was %q", log.events)
			}
		})
	}
}

func TestReadinessGoesBeforeTheServerCloses(t *testing.T) {
	i := launch(t, serving(&runner.App{}), map[string]string{"MNEME_DRAIN_DELAY": "1s"})
	i.awaitStatus("/readyz", http.StatusOK)
	i.cancel()
	await(t, func() bool { return slices.Equal(i.failing(), []string{"shutdown"}) })
	if err := <-i.result; err != nil {
		t.Error(err)
	}
}

func TestAnswersEndTheirConnectionsBeforeTheServerCloses(t *testing.T) {
	for name, protocol := range protocols {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := launch(t, serving(&runner.App{Handler: http.NotFoundHandler()}), map[string]string{"MNEME_DRAIN_DELAY": "2s"})
			i.awaitStatus("/readyz", http.StatusOK)
			client := clientOf(t, protocol)
			reused := func() (again bool) {
				trace := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
					GotConn: func(c httptrace.GotConnInfo) { again = c.Reused },
				})
				req, err := http.NewRequestWithContext(trace, http.MethodPost, i.url+"/rpc", nil)
				if err != nil {
					t.Fatal(err)
				}
				res, err := client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, res.Body); errors.Join(err, res.Body.Close()) != nil {
					t.Error(err)
				}
				return again
			}
			if reused() || !reused() {
				t.Error("a connection is not kept while the service is ready")
			}
			i.cancel()
			await(t, func() bool { return slices.Equal(i.failing(), []string{"shutdown"}) })
			await(t, func() bool { return !reused() })
			if err := <-i.result; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBuildIsRetriedWhileADependencyIsAway(t *testing.T) {
	var unavailable atomic.Bool
	unavailable.Store(true)
	i := launch(t, define(func(context.Context, own, *telemetry.Telemetry) (*runner.App, error) {
		if unavailable.Load() {
			return nil, runner.Need("weaviate", errors.New("connection refused"))
		}
		return &runner.App{Handler: http.NotFoundHandler()}, nil
	}), map[string]string{"MNEME_START_RETRY_MAX": "5ms"})
	await(t, func() bool { return slices.Equal(i.failing(), []string{"weaviate"}) })
	if status, _ := i.get("/healthz"); status != http.StatusOK {
		t.Errorf("not alive while waiting: %d", status)
	}
	if status, _ := i.get("/rpc"); status != http.StatusServiceUnavailable {
		t.Errorf("routes answered %d while starting", status)
	}
	await(t, func() bool { return strings.Count(i.log.String(), "not started yet") >= 2 })
	unavailable.Store(false)
	i.awaitStatus("/readyz", http.StatusOK)
	i.awaitStatus("/rpc", http.StatusNotFound)
	if err := i.end(); err != nil {
		t.Error(err)
	}
}

func TestWaitingForADependencyEndsWhenAsked(t *testing.T) {
	i := launch(t, define(func(context.Context, own, *telemetry.Telemetry) (*runner.App, error) {
		return nil, errors.New("connection refused")
	}), nil)
	await(t, func() bool { return strings.Contains(i.log.String(), "not started yet") })
	if err := i.end(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestTerminalBuildErrorEndsAtOnce(t *testing.T) {
	calls := 0
	i := launch(t, define(func(context.Context, own, *telemetry.Telemetry) (*runner.App, error) {
		calls++
		return nil, runner.Need("bank", fmt.Errorf("open: %w", fault.Terminal("embedding", "dimension is 3, expected 4")))
	}), nil)
	err := <-i.result
	if !fault.IsTerminal(err) || calls != 1 {
		t.Errorf("ended with %v after %d attempts", err, calls)
	}
	if strings.Contains(i.log.String(), "dimension") {
		t.Errorf("the returned error was logged too:\n%s", i.log)
	}
}

func TestFailingBackgroundTaskEndsTheService(t *testing.T) {
	for name, run := range map[string]func(context.Context) error{
		"error": func(context.Context) error { return errors.New("lost the lease") },
		"panic": func(context.Context) error { panic("lost the lease") },
	} {
		t.Run(name, func(t *testing.T) {
			var log journal
			i := launch(t, serving(&runner.App{
				Background: []runner.Task{
					{Name: "lead", Run: run},
					{Name: "follow", Run: func(ctx context.Context) error { <-ctx.Done(); log.add("followed"); return nil }},
					{Name: "once", Run: func(context.Context) error { return nil }},
				},
				Close: []runner.Step{log.step("store")},
			}), nil)
			err := <-i.result
			if err == nil || !strings.Contains(err.Error(), "background task lead") ||
				!strings.Contains(err.Error(), "lost the lease") {
				t.Errorf("ended with %v", err)
			}
			if !slices.Equal(log.events, []string{"followed", "close store"}) {
				t.Errorf("order was %q", log.events)
			}
		})
	}
}

func TestStagesThatHangAreGivenUp(t *testing.T) {
	var log journal
	release := make(chan struct{})
	hang := func(context.Context) error { <-release; return nil }
	i := launch(t, serving(&runner.App{
		Background: []runner.Task{{Name: "deaf", Run: hang}},
		Close:      []runner.Step{log.step("first"), {Name: "stuck too", Run: hang}, {Name: "stuck", Run: hang}},
	}), map[string]string{"MNEME_SHUTDOWN_TIMEOUT": "20ms"})
	i.awaitStatus("/readyz", http.StatusOK)
	err := i.end()
	close(release)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "still running deaf") ||
		!strings.Contains(err.Error(), "close stuck") {
		t.Errorf("ended with %v", err)
	}
	if !slices.Equal(log.events, []string{"close first"}) {
		t.Errorf("order was %q", log.events)
	}
}

// TestClosingHasTheTimeOfOneStage runs two steps that hang. Together they take no longer than one alone.
func TestClosingHasTheTimeOfOneStage(t *testing.T) {
	var first, second time.Time // the times of their abandonment
	hang := func(given *time.Time) func(context.Context) error {
		return func(ctx context.Context) error { *given, _ = ctx.Deadline(); <-ctx.Done(); return ctx.Err() }
	}
	i := launch(t, serving(&runner.App{Close: []runner.Step{{Name: "b", Run: hang(&second)},
		{Name: "a", Run: hang(&first)}}}),
		map[string]string{"MNEME_SHUTDOWN_TIMEOUT": "20ms"})
	i.awaitStatus("/readyz", http.StatusOK)
	if err := i.end(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ended with %v", err)
	}
	if first.IsZero() || !first.Equal(second) {
		t.Errorf("the steps had time until %v and %v, want the same", first, second)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	i := launch(t, serving(&runner.App{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
	})}), map[string]string{"MNEME_HTTP_MAX_BODY": "8"})
	i.awaitStatus("/readyz", http.StatusOK)
	for body, want := range map[string]int{"12345678": http.StatusOK, "123456789": http.StatusRequestEntityTooLarge} {
		resp, err := i.client.Post(i.url+"/rpc", "text/plain", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close() != nil || resp.StatusCode != want {
			t.Errorf("%d bytes answered %d", len(body), resp.StatusCode)
		}
	}
	if err := i.end(); err != nil {
		t.Error(err)
	}
}

func TestRunRefusesWhatCannotWork(t *testing.T) {
	taken := launch(t, serving(&runner.App{}), nil)
	for name, c := range map[string]struct {
		service runner.Service
		environ map[string]string
		want    string
	}{
		"wrong value": {serving(&runner.App{}), map[string]string{"MNEME_HTTP_ADDR": "nowhere"}, "MNEME_HTTP_ADDR"},
		"port in use": {serving(&runner.App{}),
			map[string]string{"MNEME_HTTP_ADDR": strings.TrimPrefix(taken.url, "http://")}, "listen on"},
		"no app": {serving(nil), map[string]string{}, "no app"},
		"unknown default": {runner.Define("x", "", builder(nil), runner.Default("MNEME_NOBODY", "1")), map[string]string{},
			"MNEME_NOBODY"},
	} {
		err := runner.Run(t.Context(), c.service, runner.Options{Environ: c.environ, Stderr: io.Discard})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "wrong value" && !errors.Is(err, config.ErrInvalid) {
			t.Errorf("%s: %v is not ErrInvalid", name, err)
		}
	}
	if err := taken.end(); err != nil {
		t.Error(err)
	}
}
