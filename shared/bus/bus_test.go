package bus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/bustest"
	"github.com/mneme-memory/mneme/shared/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func instruments(t testing.TB, tel bus.Telemetry) *bus.Instruments {
	t.Helper()
	ins, err := bus.NewInstruments(tel)
	if err != nil {
		t.Fatal(err)
	}
	return ins
}

func TestChainPutsTheFirstMiddlewareOutermost(t *testing.T) {
	var calls []string
	named := func(name string) bus.Middleware {
		return func(next bus.Handler) bus.Handler {
			return func(ctx context.Context, batch []bus.Message) error {
				calls = append(calls, name)
				return next(ctx, batch)
			}
		}
	}
	h := bus.Chain(func(context.Context, []bus.Message) error {
		calls = append(calls, "handler")
		return nil
	}, named("outer"), named("inner"))
	if err := h(t.Context(), []bus.Message{{}}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"outer", "inner", "handler"}; !slices.Equal(calls, want) {
		t.Errorf("called %v, want %v", calls, want)
	}
}

func TestConfigNamesEveryFault(t *testing.T) {
	if err := bus.DefaultConfig("g").Validate(); err != nil {
		t.Errorf("the defaults are invalid: %v", err)
	}
	err := bus.Config{MaxBatch: 1, Workers: -1}.Validate()
	for _, field := range []string{"group", "workers", "max_batch_bytes", "max_in_flight", "max_in_flight_bytes",
		"commit_interval", "drain_timeout", "stop_timeout", "redeliver_delay", "lag_interval"} {
		if err == nil || !strings.Contains(err.Error(), field+":") {
			t.Errorf("%s is not named in %v", field, err)
		}
	}
	if strings.Contains(err.Error(), "max_batch:") {
		t.Errorf("max_batch is valid, yet named in %v", err)
	}
	if _, err := bus.NewConsumer(bus.Config{}, nil, nil, nil); !fault.IsTerminal(err) {
		t.Errorf("got %v, want a terminal error", err)
	}
}

func TestTimeoutBoundsAnAttempt(t *testing.T) {
	h := bus.Timeout(time.Millisecond)(func(ctx context.Context, _ []bus.Message) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if err := h(t.Context(), []bus.Message{{}}); !errors.Is(err, context.DeadlineExceeded) || fault.IsTerminal(err) {
		t.Errorf("got %v, want a retryable deadline error", err)
	}
	free := bus.Timeout(0)(func(ctx context.Context, _ []bus.Message) error {
		if _, ok := ctx.Deadline(); ok {
			return errors.New("there is a deadline")
		}
		return nil
	})
	if err := free(context.Background(), []bus.Message{{}}); err != nil {
		t.Error(err)
	}
}

func TestRecoverKeepsTheStackAndHidesWords(t *testing.T) {
	cause := errors.New("broken invariant")
	for _, c := range []struct {
		name   string
		value  any
		reason string
	}{
		{"a text", "the user's own words", "handler panicked with a string"},
		{"an error", cause, "handler panicked: broken invariant"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := bus.Recover()(func(context.Context, []bus.Message) error { panic(c.value) })(t.Context(), []bus.Message{{}})
			var p *bus.PanicError
			if !errors.As(err, &p) || err.Error() != c.reason || !bytes.Contains(p.Stack, []byte("bus_test.go")) {
				t.Errorf("got %v", err)
			}
			if fault.IsTerminal(err) {
				t.Error("a single panic is terminal")
			}
		})
	}
	terminal := bus.Recover()(func(context.Context, []bus.Message) error { panic(fault.Terminal("f", "x")) })
	if err := terminal(t.Context(), []bus.Message{{}}); err == nil || fault.IsTerminal(err) {
		t.Errorf("a panic with a terminal error counts as one: %v", err)
	}
}

func TestRetryStops(t *testing.T) {
	ins := instruments(t, bus.Telemetry{})
	retry := bus.Retry(bus.RetryConfig{Initial: time.Microsecond, Max: time.Millisecond, Panics: 1}, ins)
	calls := 0
	ctx, cancel := context.WithCancel(t.Context())
	err := retry(func(context.Context, []bus.Message) error {
		if calls++; calls == 5 {
			cancel()
		}
		return errors.New("unavailable")
	})(ctx, []bus.Message{{Topic: "t"}})
	if err == nil || fault.IsTerminal(err) || calls != 5 {
		t.Errorf("at the end of the context: %d calls, %v", calls, err)
	}
	calls = 0
	err = retry(func(context.Context, []bus.Message) error {
		calls++
		return fault.Terminal("field", "wrong")
	})(t.Context(), []bus.Message{{Topic: "t"}})
	if !fault.IsTerminal(err) || fault.Field(err) != "field" || calls != 1 {
		t.Errorf("at a terminal error: %d calls, %v", calls, err)
	}
}

// A model that never answers usably does not stall its partition. An unavailable model loses no record.
func TestRetryGivesUpOnUnusableAnswersAlone(t *testing.T) {
	cfg := bus.RetryConfig{Initial: time.Microsecond, Max: time.Millisecond, Panics: 1, Unusable: 3}
	calls := 0
	err := bus.Retry(cfg, instruments(t, bus.Telemetry{}))(func(context.Context, []bus.Message) error {
		if calls++; calls%2 == 0 {
			return errors.New("unavailable")
		}
		return fmt.Errorf("filter turns: %w", fault.ErrUnusableAnswer)
	})(t.Context(), []bus.Message{{Topic: "t"}})
	if !fault.IsTerminal(err) || !errors.Is(err, fault.ErrUnusableAnswer) || calls != 5 {
		t.Errorf("%d calls, %v; want a terminal error at the third unusable answer", calls, err)
	}
}

// Retry makes no attempt before the time in a fault.LaterError.
func TestRetryWaitsAsLongAsItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		err := bus.Retry(bus.DefaultRetryConfig(),
			instruments(t, bus.Telemetry{}))(func(context.Context, []bus.Message) error {
			if at = append(at, time.Now()); len(at) > 1 {
				return nil
			}
			return fmt.Errorf("filter turns: %w", &fault.LaterError{After: 2 * time.Minute, Err: fault.ErrUnavailable})
		})(t.Context(), []bus.Message{{Topic: "t"}})
		if err != nil || len(at) != 2 || at[1].Sub(at[0]) != 2*time.Minute {
			t.Errorf("tried at %v, %v; want a second attempt after two minutes", at, err)
		}
	})
}

// Retry soon gives up on an answer that would come again. It gives up on a batch at once, and tries each of its
// records alone.
func TestRetryDoesNotAskForTheSameAgain(t *testing.T) {
	cfg := bus.RetryConfig{Initial: time.Microsecond, Max: time.Millisecond, Panics: 1, Unusable: 3}
	unusable := fault.ErrUnusableAnswer
	for name, tc := range map[string]struct {
		err            error
		records, calls int
	}{
		"one record": {unusable, 1, 3}, "several": {unusable, 2, 1},
		"one that is refused": {errors.Join(unusable, fault.ErrAskLess), 1, 2},
	} {
		calls := 0
		err := bus.Retry(cfg, instruments(t, bus.Telemetry{}))(func(context.Context, []bus.Message) error {
			calls++
			return tc.err
		})(t.Context(), make([]bus.Message, tc.records))
		if !fault.IsTerminal(err) || calls != tc.calls {
			t.Errorf("%s: %d calls, %v; want %d and a terminal error", name, calls, err, tc.calls)
		}
	}
}

func TestStandardNeedsItsParts(t *testing.T) {
	if _, err := bus.Standard(bus.StandardConfig{}, nil, nil, nil); !fault.IsTerminal(err) {
		t.Errorf("got %v, want a terminal error", err)
	}
}

func TestDeadLetterIDIsStableAndDistinct(t *testing.T) {
	if got, want := bus.DeadLetterID("t", 1, 23), bus.DeadLetterID("t", 1, 23); got != want {
		t.Errorf("%s and %s for one record", got, want)
	}
	seen := make(map[string]bool)
	for _, id := range []string{
		bus.DeadLetterID("t", 1, 23), bus.DeadLetterID("t", 12, 3), bus.DeadLetterID("t/1", 2, 3),
		bus.DeadLetterID("t", 1, 2),
	} {
		if seen[id] {
			t.Errorf("%s names two records", id)
		}
		seen[id] = true
	}
}

// refusingSource can never join.
type refusingSource struct{ closed bool }

func (s *refusingSource) Next(context.Context) (bus.Generation, error) {
	return nil, fault.Terminal("group", "not allowed")
}

func (s *refusingSource) Close() error {
	s.closed = true
	return nil
}

func TestRunReturnsWhenTheConfigurationCanNeverWork(t *testing.T) {
	src := new(refusingSource)
	c, err := bus.NewConsumer(bus.DefaultConfig("g"), src, func(context.Context, []bus.Message) error { return nil },
		instruments(t, bus.Telemetry{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context()); !fault.IsTerminal(err) || !src.closed {
		t.Errorf("got %v, source closed: %v", err, src.closed)
	}
}

// run starts a consumer on an embedded broker. It returns a function that stops the consumer and gives its error.
func run(t *testing.T, broker *bustest.Broker, cfg bus.Config, h bus.Handler, ins *bus.Instruments) func() error {
	t.Helper()
	c, err := bus.NewConsumer(cfg, broker.Source(cfg.Group, "t"), h, ins)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- c.Run(ctx) }()
	return func() error {
		cancel()
		select {
		case err := <-result:
			return err
		case <-time.After(30 * time.Second):
			t.Fatal("the consumer does not return")
			return nil
		}
	}
}

func TestRunReportsHandlersThatIgnoreTheirContext(t *testing.T) {
	broker := bustest.StartBroker(t, 1, "t")
	cfg := bus.DefaultConfig("g")
	cfg.DrainTimeout, cfg.StopTimeout = time.Millisecond, time.Millisecond
	started, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	stop := run(t, broker, cfg, func(context.Context, []bus.Message) error {
		close(started)
		<-release
		return nil
	}, instruments(t, bus.Telemetry{}))
	if err := broker.Publisher().Publish(t.Context(), bus.Message{Topic: "t", Key: []byte("k")}); err != nil {
		t.Fatal(err)
	}
	<-started
	if err := stop(); err == nil {
		t.Error("Run does not report that a handler is still running")
	}
	if got := broker.Committed("g", bus.Partition{Topic: "t"}); got != -1 {
		t.Errorf("committed %d for a handler that has not returned", got)
	}
}

func TestABareHandlerIsCalledAgainAfterAnError(t *testing.T) {
	broker := bustest.StartBroker(t, 1, "t")
	cfg := bus.DefaultConfig("g")
	cfg.RedeliverDelay = time.Millisecond
	var log bytes.Buffer
	done := make(chan struct{})
	calls := 0
	stop := run(t, broker, cfg, func(_ context.Context, batch []bus.Message) error {
		if calls++; calls < 3 {
			return fault.Terminal("", "there are no dead letters here")
		}
		close(done)
		return nil
	}, instruments(t, bus.Telemetry{Log: slog.New(slog.NewTextHandler(&log, nil))}))
	if err := broker.Publisher().Publish(t.Context(),
		bus.Message{Topic: "t", Key: []byte("k"), Value: []byte("words")}); err != nil {
		t.Fatal(err)
	}
	<-done
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got := broker.Committed("g", bus.Partition{Topic: "t"}); got != 1 {
		t.Errorf("committed %d, want 1", got)
	}
	if !strings.Contains(log.String(), "redelivering") || strings.Contains(log.String(), "words") {
		t.Errorf("the log says\n%s", log.String())
	}
}

func FuzzHeaderCarrier(f *testing.F) {
	f.Add("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "other", []byte("x"))
	f.Add("", "", "", []byte(nil))
	f.Add("traceparent", "\x00\xff", "traceparent", []byte("00-00-00-00"))
	f.Fuzz(func(t *testing.T, key, value, other string, raw []byte) {
		original := []bus.Header{{Key: other, Value: raw}, {Key: key, Value: raw}, {Key: other, Value: raw}}
		headers := original[:2:3] // spare capacity, which Set must not write to
		c := bus.HeaderCarrier{Headers: &headers}
		propagation.TraceContext{}.Extract(context.Background(), c)
		c.Set(key, value)
		if got := c.Get(key); got != value {
			t.Errorf("set %q, got %q", value, got)
		}
		count := 0
		for _, h := range headers {
			if h.Key == key {
				count++
			}
		}
		if count != 1 || !slices.Contains(c.Keys(), key) {
			t.Errorf("%d headers %q, keys %q", count, key, c.Keys())
		}
		if key != other && c.Get(other) != string(raw) {
			t.Errorf("header %q was changed to %q", other, c.Get(other))
		}
		if original[1].Key != key || !bytes.Equal(original[1].Value, raw) || original[2].Key != other {
			t.Error("the caller's headers were changed")
		}
	})
}
