package booster_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/services/booster"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/window"
	"github.com/mneme-memory/mneme/shared/store/window/inmem"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ana = memory.Scope{Tenant: "acme", User: "ana"}
)

// failing is a window that fails on writes.
type failing struct{ window.Window }

func (failing) Append(context.Context, memory.Scope, []memory.Turn) error {
	return errors.New("redis is unavailable")
}

type fixture struct {
	*booster.Intake
	params  []consolidation.Params
	signals [][]consolidation.Event
	err     error
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	tenants, err := tenant.Static(tenant.Entry{Tenant: tenant.Tenant{ID: "acme", Policy: tenant.PolicyLLM}})
	if err != nil {
		t.Fatal(err)
	}
	win, err := inmem.New(window.Limits{Words: 1_000_000, Age: 24 * time.Hour, Idle: time.Hour}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &fixture{}
	r.Intake = &booster.Intake{Tenants: tenants, Window: win, Now: func() time.Time { return now }}
	r.Signal = func(_ context.Context, p consolidation.Params, events []consolidation.Event) error {
		r.params, r.signals = append(r.params, p), append(r.signals, events)
		return r.err
	}
	return r
}

func (r *fixture) window(t *testing.T) []string {
	t.Helper()
	turns, err := r.Window.Recent(t.Context(), ana, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, turn := range turns {
		ids = append(ids, turn.ID)
	}
	return ids
}

func (r *fixture) signalled() []string {
	ids := []string{}
	for _, events := range r.signals {
		for _, e := range events {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

func message(t *testing.T, e contract.SalientEvent, headers ...bus.Header) bus.Message {
	t.Helper()
	value, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return bus.Message{Topic: contract.TopicSalientTurns, Key: e.Key(), Value: value, Headers: headers}
}

func event(scope memory.Scope, n int) contract.SalientEvent {
	return contract.SalientEvent{Envelope: contract.Envelope{EventID: fmt.Sprintf("e%d", n), Scope: scope,
		SessionID: "s1"}}
}

func turn(scope memory.Scope, n int, text string) contract.SalientEvent {
	e := event(scope, n)
	e.Decision.DecidedAt = now.Add(-time.Second)
	e.Turn = &memory.Turn{
		ID: fmt.Sprintf("t%d", n), SessionID: "s1", Speaker: "Ana", Role: memory.RoleUser, Text: text,
		Time: now.Add(-time.Hour + time.Duration(n)*time.Second),
	}
	return e
}

func dropped(n int) contract.SalientEvent {
	e := event(ana, n)
	e.Dropped = &memory.Turn{ID: fmt.Sprintf("t%d", n), Time: now.Add(-time.Hour)}
	return e
}

// aside returns a dropped turn with its text.
func aside(n int, text string) contract.SalientEvent {
	e := turn(ana, n, text)
	e.Dropped, e.Turn = e.Turn, nil
	e.Decision = memory.SaliencyDecision{Score: 0.1, Threshold: 0.3, Mode: memory.SaliencyGate, DecidedAt: now}
	return e
}

func closed(n int) contract.SalientEvent {
	e := event(ana, n)
	e.ClosedAt = now.Add(-time.Minute)
	return e
}

func TestSalientTurnsReachTheWindowAndTheWorkflow(t *testing.T) {
	r := newFixture(t)
	batch := []bus.Message{
		message(t, turn(ana, 1, "I live in Porto.")), message(t, dropped(2)), message(t, turn(ana, 3, "I moved.")),
		message(t, closed(4)),
	}
	for range 2 { // delivery is at least once
		if err := r.Handle(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := r.window(t), []string{"t1", "t3"}; !reflect.DeepEqual(got, want) {
		t.Errorf("the window has %v, want %v", got, want)
	}
	if got, want := r.signalled(), []string{"e1", "e3", "e4", "e1", "e3", "e4"}; !reflect.DeepEqual(got, want) {
		t.Errorf("signalled %v, want all but what was dropped, each time: %v", got, want)
	}
	first := r.signals[0]
	if first[0].Turn == nil || first[0].Turn.Text != "I live in Porto." || first[0].SessionID != "s1" ||
		!first[0].DecidedAt.Equal(now.Add(-time.Second)) || !first[2].ClosedAt.Equal(now.Add(-time.Minute)) {
		t.Errorf("signalled %+v", first)
	}
	want := consolidation.Params{Scope: ana, Strategy: "salimory", Policy: "llm"}
	if !reflect.DeepEqual(r.params[0], want) {
		t.Errorf("signalled for %+v, want %+v", r.params[0], want)
	}
}

func erasure(n int) contract.SalientEvent {
	e := event(ana, n)
	e.SessionID, e.ErasedAt = "", now
	return e
}

// An erasure removes all earlier events, in its batch and in earlier batches. It removes no later event, however
// often it is delivered.
func TestAnErasureTakesEffectInOrder(t *testing.T) {
	r := newFixture(t)
	first := []bus.Message{message(t, turn(ana, 1, "I live in Porto."))}
	second := []bus.Message{
		message(t, turn(ana, 2, "I moved.")), message(t, closed(3)), message(t, erasure(4)),
		message(t, turn(ana, 5, "I swim.")),
		message(t, erasure(6)), message(t, turn(ana, 7, "I run.")),
	}
	third := []bus.Message{message(t, turn(ana, 8, "I dance."))}
	for range 2 {
		r.signals = nil
		for _, batch := range [][]bus.Message{first, second, third} {
			if err := r.Handle(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := r.window(t), []string{"t7", "t8"}; !reflect.DeepEqual(got, want) {
			t.Errorf("the window has %v, want %v", got, want)
		}
		if got, want := r.signalled(), []string{"e1", "e4", "e6", "e7", "e8"}; !reflect.DeepEqual(got, want) {
			t.Errorf("signalled %v, want both erasures and nothing between or before them: %v", got, want)
		}
	}
	for _, e := range r.signals[1] {
		if e.Erase != (e.ID == "e4" || e.ID == "e6") {
			t.Errorf("%s is signalled as %+v", e.ID, e)
		}
	}
}

func TestAnIdleTimeReachesTheWorkflow(t *testing.T) {
	r := newFixture(t)
	kept, left := turn(ana, 1, "I live in Porto."), aside(2, "Where do you live?")
	kept.IdleAfter, left.IdleAfter = 20*time.Second, time.Hour
	if err := r.Handle(t.Context(), []bus.Message{message(t, kept), message(t, left)}); err != nil {
		t.Fatal(err)
	}
	if got := r.signals[0]; got[0].IdleAfter != 20*time.Second || got[1].IdleAfter != time.Hour {
		t.Errorf("signalled %+v", got)
	}
}

// A dropped turn is read with its session only: it does not enter the window.
func TestADroppedTurnIsContext(t *testing.T) {
	r := newFixture(t)
	r.Window = failing{r.Window}
	long := strings.Repeat("é", memory.MaxTextBytes/2)
	if err := r.Handle(t.Context(), []bus.Message{message(t, aside(1, "Where do you live?")),
		message(t, aside(2, long))}); err != nil {
		t.Fatal(err)
	}
	if len(r.signals) != 1 || len(r.signals[0]) != 2 {
		t.Fatalf("signalled %+v", r.signals)
	}
	first, second := r.signals[0][0], r.signals[0][1]
	if !first.Context || first.Turn == nil || first.Turn.Text != "Where do you live?" || first.SessionID != "s1" ||
		first.Turn.Saliency.Score != 0.1 || first.Turn.Saliency.Salient {
		t.Errorf("signalled %+v, %+v", first, first.Turn)
	}
	if n := len(second.Turn.Text); n > 4<<10 || n < 4000 || !strings.HasPrefix(long, second.Turn.Text) {
		t.Errorf("%d bytes of a long turn are signalled", n)
	}
	if got := r.window(t); len(got) != 0 {
		t.Errorf("the window has %v", got)
	}
}

// A marked turn is formed like any other, and carries its mark. It does not enter the window.
func TestAMarkedTurnIsFormedAndNotShown(t *testing.T) {
	r := newFixture(t)
	marked, unrated := turn(ana, 1, "Ok."), turn(ana, 2, "Ok then.")
	marked.Decision = memory.SaliencyDecision{Score: 0.1, Threshold: 0.3, PolicyVersion: "f/1", Mode: memory.SaliencyMark,
		DecidedAt: now}
	unrated.Decision = memory.SaliencyDecision{Salient: true, PolicyVersion: "off", Mode: memory.SaliencyOff,
		DecidedAt: now}
	if err := r.Handle(t.Context(), []bus.Message{message(t, marked), message(t, unrated),
		message(t, turn(ana, 3, "I moved."))}); err != nil {
		t.Fatal(err)
	}
	if got, want := r.window(t), []string{"t2", "t3"}; !reflect.DeepEqual(got, want) {
		t.Errorf("the window has %v, want %v", got, want)
	}
	if got, want := r.signalled(), []string{"e1", "e2", "e3"}; !reflect.DeepEqual(got, want) {
		t.Fatalf("signalled %v, want %v", got, want)
	}
	for i, want := range []memory.SaliencyDecision{marked.Decision, unrated.Decision} {
		if got := r.signals[0][i]; got.Context || got.Turn.Saliency != want {
			t.Errorf("event %d is %+v with %+v, want %+v", i+1, got, got.Turn.Saliency, want)
		}
	}
}

func TestDroppedTurnsThatAnOlderFilterCutHaveNoEffect(t *testing.T) {
	r := newFixture(t)
	r.Window = failing{r.Window}
	if err := r.Handle(t.Context(), []bus.Message{message(t, dropped(1)), message(t, dropped(2))}); err != nil {
		t.Fatal(err)
	}
	if len(r.signals) != 0 {
		t.Errorf("signalled %v", r.signals)
	}
}

// Attributes count, too: many short turns may have long attributes.
func TestSignalsOfTurnsWithMetadataAreBounded(t *testing.T) {
	const maxSignal = 600 << 10
	r := newFixture(t)
	var batch []bus.Message
	for n := range 600 {
		e := turn(ana, n, "x")
		e.Turn.Metadata = map[string]any{"long": strings.Repeat("m", memory.MaxMetadataBytes-16)}
		batch = append(batch, message(t, e))
	}
	if err := r.Handle(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	for i, events := range r.signals {
		if size := len(events) * memory.MaxMetadataBytes; size > maxSignal {
			t.Errorf("signal %d holds %d bytes", i, size)
		}
	}
	if got := len(r.signalled()); got != 600 {
		t.Errorf("signalled %d events", got)
	}
}

func TestSignalsAreBounded(t *testing.T) {
	const maxSignal, turns = 600 << 10, 60
	r := newFixture(t)
	var batch []bus.Message
	var want []string
	for n := range turns {
		batch = append(batch, message(t, turn(ana, n, strings.Repeat("x", memory.MaxTextBytes))))
		want = append(want, fmt.Sprintf("e%d", n))
	}
	if err := r.Handle(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if got := r.signalled(); !reflect.DeepEqual(got, want) {
		t.Errorf("signalled %v, want every event once and in order", got)
	}
	for i, events := range r.signals {
		size := 0
		for _, e := range events {
			size += len(e.Turn.Text)
		}
		if size > maxSignal {
			t.Errorf("signal %d holds %d bytes", i, size)
		}
	}
	if most := turns * memory.MaxTextBytes / (256 << 10); len(r.signals) > most {
		t.Errorf("%d signals, want few large ones: at most %d", len(r.signals), most)
	}
}

func TestTheTraceOfAConsolidation(t *testing.T) {
	const (
		here   = "00-11111111111111111111111111111111-2222222222222222-01"
		sameAs = "00-11111111111111111111111111111111-3333333333333333-01"
		other  = "00-44444444444444444444444444444444-5555555555555555-01"
	)
	tests := []struct {
		name, own string
		want      string
	}{
		{"is the delivery's own span where that is in the event's trace", sameAs, here},
		{"is the event's where several came together", other, other},
		{"is the delivery's where the event has none", "", here},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newFixture(t)
			traceID, err1 := trace.TraceIDFromHex(here[3:35])
			spanID, err2 := trace.SpanIDFromHex(here[36:52])
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
				TraceID: traceID, SpanID: spanID, TraceFlags: trace.FlagsSampled,
			}))
			m := message(t, closed(1), bus.Header{Key: "traceparent", Value: []byte(tt.own)})
			if err := r.Handle(ctx, []bus.Message{m}); err != nil {
				t.Fatal(err)
			}
			if got := r.signals[0][0].TraceParent; got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestABatchThatFailsHasNoEffectBeyondWhatIsRepeatable(t *testing.T) {
	nobody := memory.Scope{Tenant: "nobody", User: "ana"}
	good := message(t, turn(ana, 1, "I live in Porto."))
	tests := []struct {
		name     string
		batch    []bus.Message
		with     func(*fixture)
		terminal bool
		field    string
		window   []string
		signals  int
	}{
		{name: "a record that is no event", batch: []bus.Message{good, {Key: good.Key, Value: []byte("?")}}, terminal: true,
			window: []string{}},
		{name: "a key of another user", batch: []bus.Message{good, {Key: []byte("acme/eva"), Value: good.Value}},
			terminal: true, field: "key",
			window: []string{}},
		{name: "an unknown tenant", batch: []bus.Message{message(t, turn(nobody, 1, "hi there"))}, terminal: true,
			field:  "tenant_id",
			window: []string{}},
		{name: "a window that is unavailable", batch: []bus.Message{good}, with: func(r *fixture) {
			r.Window = failing{r.Window}
		},
			window: []string{}},
		{name: "workflows that are unavailable", batch: []bus.Message{good},
			with:   func(r *fixture) { r.err = errors.New("temporal is unavailable") },
			window: []string{"t1"}, signals: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newFixture(t)
			if tt.with != nil {
				tt.with(r)
			}
			err := r.Handle(t.Context(), tt.batch)
			if err == nil || fault.IsTerminal(err) != tt.terminal || fault.Field(err) != tt.field {
				t.Errorf("got %v (field %q), want terminal %t, field %q", err, fault.Field(err), tt.terminal, tt.field)
			}
			if got := r.window(t); !reflect.DeepEqual(got, tt.window) {
				t.Errorf("the window has %v, want %v", got, tt.window)
			}
			if len(r.signals) != tt.signals {
				t.Errorf("%d signals were tried, want %d", len(r.signals), tt.signals)
			}
		})
	}
}
