package window_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/window"
	"github.com/mneme-memory/mneme/shared/store/window/inmem"
	"github.com/mneme-memory/mneme/shared/store/window/windowtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	limits = window.Limits{Words: 10, Age: time.Hour, Idle: time.Hour}
	scope  = memory.Scope{Tenant: "acme", User: "SECRETUSER"}
	errOff = errors.New("store is off")
)

// off is an unavailable window.
type off struct{}

func (off) Append(context.Context, memory.Scope, []memory.Turn) error { return errOff }
func (off) Keep(context.Context, memory.Scope, []window.Kept) error   { return errOff }
func (off) Retire(context.Context, memory.Scope, []string) error      { return errOff }
func (off) Erase(context.Context, memory.Scope) error                 { return errOff }
func (off) Reinstate(context.Context, memory.Scope) error             { return errOff }
func (off) Recent(context.Context, memory.Scope, time.Time) ([]memory.Turn, error) {
	return nil, errOff
}
func (off) Count(context.Context, memory.Scope) (window.Counts, error) {
	return window.Counts{}, errOff
}
func newInmem(t *testing.T, l window.Limits) window.Window {
	t.Helper()
	w, err := inmem.New(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// exercise makes one call of every kind and returns their joined errors.
func exercise(ctx context.Context, w window.Window) []error {
	_, recent := w.Recent(ctx, scope, time.Time{})
	_, count := w.Count(ctx, scope)
	return []error{
		w.Append(ctx, scope, []memory.Turn{{ID: "a", Text: "SECRETTEXT", Time: time.Unix(1, 0)}}),
		w.Keep(ctx, scope, []window.Kept{{Turn: memory.Turn{ID: "b", Text: "SECRETTEXT", Time: time.Unix(1, 0)},
			Until: time.Unix(2, 0)}}),
		recent, w.Retire(ctx, scope, []string{"a"}), count, w.Reinstate(ctx, scope), w.Erase(ctx, scope),
	}
}

func traced(w window.Window) (window.Window, *tracetest.SpanRecorder) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	return window.Traced(w, provider.Tracer("test")), recorder
}

func TestTracedConformance(t *testing.T) {
	windowtest.Run(t, func(t *testing.T, l window.Limits) windowtest.Backend {
		w, _ := traced(newInmem(t, l))
		return windowtest.Backend{Window: w}
	})
}

func TestTracedSpans(t *testing.T) {
	for name, c := range map[string]struct {
		next window.Window
		err  error
		code codes.Code
	}{
		"success": {next: newInmem(t, limits), code: codes.Unset},
		"failure": {next: off{}, err: errOff, code: codes.Error},
	} {
		t.Run(name, func(t *testing.T) {
			w, recorder := traced(c.next)
			for i, err := range exercise(t.Context(), w) {
				if !errors.Is(err, c.err) {
					t.Errorf("call %d: got error %v, want %v", i, err, c.err)
				}
			}
			var names []string
			for _, span := range recorder.Ended() {
				names = append(names, span.Name())
				if span.Status().Code != c.code {
					t.Errorf("%s: status %v, want %v", span.Name(), span.Status().Code, c.code)
				}
				for _, attr := range span.Attributes() {
					if strings.Contains(attr.Value.String(), "SECRET") {
						t.Errorf("%s: attribute %s has the user's id or the turn's text", span.Name(), attr.Key)
					}
				}
			}
			slices.Sort(names)
			want := []string{
				"memory.window.append", "memory.window.count", "memory.window.erase", "memory.window.keep",
				"memory.window.recent",
				"memory.window.reinstate", "memory.window.retire",
			}
			if !slices.Equal(names, want) {
				t.Errorf("got spans %v, want %v", names, want)
			}
		})
	}
}
