package saliencyfilter_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/services/saliencyfilter"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	formationllm "github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ana = memory.Scope{Tenant: "acme", User: "ana"}
)

const dull = "small talk"

// byText drops turns with a dull text.
type byText struct {
	calls [][]string
	err   error
	short int
}

func (f *byText) Filter(_ context.Context, _ memory.Scope, turns, _ []memory.Turn) ([]memory.SaliencyDecision, error) {
	var ids []string
	out := []memory.SaliencyDecision{}
	for _, t := range turns {
		ids = append(ids, t.ID)
		d := memory.SaliencyDecision{Salient: t.Text != dull, Score: 0.9, Threshold: 0.5, PolicyVersion: "test-1"}
		if !d.Salient {
			d.Score = 0.1
		}
		out = append(out, d)
	}
	f.calls = append(f.calls, ids)
	return out[:len(out)-f.short], f.err
}

// outbox keeps the published messages.
type outbox struct {
	mu   sync.Mutex
	msgs []bus.Message
	err  error
}

func (o *outbox) Publish(_ context.Context, msgs ...bus.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.msgs = append(o.msgs, msgs...)
	}
	return o.err
}

func (o *outbox) Close() error { return nil }

type fixture struct {
	*saliencyfilter.Gate
	filter *byText
	out    *outbox
	reader *sdkmetric.ManualReader
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	tenants, err := tenant.Static(tenant.Entry{Tenant: tenant.Tenant{ID: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	r := &fixture{filter: &byText{}, out: &outbox{}, reader: sdkmetric.NewManualReader()}
	var counter metric.Int64Counter
	if counter, err = telemetry.MetricTurns.Counter(
		sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader)).Meter("test")); err != nil {
		t.Fatal(err)
	}
	r.Gate = &saliencyfilter.Gate{
		Tenants: tenants, Out: r.out, Now: func() time.Time { return now }, Decided: counter,
		Filters: func(tenant.Policy) (formation.Filter, error) { return r.filter, nil },
	}
	return r
}

// counted returns the counter's values by verdict.
func (r *fixture) counted(t *testing.T) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
				outcome, _ := p.Attributes.Value(telemetry.AttrOutcome)
				of, _ := p.Attributes.Value(telemetry.AttrTenant)
				out[of.AsString()+" "+outcome.AsString()] += p.Value
			}
		}
	}
	return out
}

func message(t *testing.T, e contract.SessionEvent) bus.Message {
	t.Helper()
	value, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return bus.Message{
		Topic: contract.TopicSessionEvents, Key: e.Key(), Value: value,
		Headers: []bus.Header{{Key: "traceparent", Value: []byte("00-" + e.EventID)}, {Key: "client", Value: []byte("app")}},
	}
}

func turn(scope memory.Scope, n int, text string) contract.SessionEvent {
	return contract.SessionEvent{
		Envelope: contract.Envelope{EventID: fmt.Sprintf("e%d", n), Scope: scope, SessionID: "s1"},
		Turn: &memory.Turn{
			ID: fmt.Sprintf("t%d", n), SessionID: "s1", Speaker: "Ana", Role: memory.RoleUser, Text: text,
			Time: now.Add(-time.Hour),
		},
	}
}

func closed(scope memory.Scope, n int) contract.SessionEvent {
	return contract.SessionEvent{
		Envelope: contract.Envelope{EventID: fmt.Sprintf("e%d", n), Scope: scope, SessionID: "s1"},
		ClosedAt: now.Add(-time.Minute),
	}
}

// read decodes the published messages.
func (o *outbox) read(t *testing.T) []contract.SalientEvent {
	t.Helper()
	var out []contract.SalientEvent
	for _, m := range o.msgs {
		if m.Topic != contract.TopicSalientTurns {
			t.Errorf("published on %s", m.Topic)
		}
		e, err := contract.DecodeSalientEvent(m.Key, m.Value, now)
		if err != nil {
			t.Fatalf("publishes what nobody can read: %v", err)
		}
		out = append(out, e)
	}
	return out
}

func TestEachSessionEventBecomesOneSalientEventInOrder(t *testing.T) {
	r := newFixture(t)
	batch := []bus.Message{
		message(t, turn(ana, 1, "I live in Porto.")), message(t, turn(ana, 2, dull)),
		message(t, closed(ana, 3)), message(t, turn(ana, 4, "I moved to Braga.")),
	}
	if err := r.Handle(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	got := r.out.read(t)
	if len(got) != len(batch) {
		t.Fatalf("%d salient events of %d session events", len(got), len(batch))
	}
	for i, e := range got {
		if want := fmt.Sprintf("e%d", i+1); e.EventID != want || e.Scope != ana || e.SessionID != "s1" {
			t.Errorf("event %d is %+v, want %s of %v", i, e.Envelope, want, ana)
		}
		if !reflect.DeepEqual(r.out.msgs[i].Headers, batch[i].Headers) {
			t.Errorf("event %d has headers %v, want those it came with", i, r.out.msgs[i].Headers)
		}
	}
	if got[0].Turn == nil || got[0].Turn.Text != "I live in Porto." || got[0].Decision.Score != 0.9 ||
		got[0].Decision.PolicyVersion != "test-1" {
		t.Errorf("the salient turn is %+v", got[0])
	}
	if got[1].Dropped == nil || got[1].Dropped.ID != "t2" || got[1].Decision.Score != 0.1 ||
		got[1].Decision.Threshold != 0.5 {
		t.Errorf("the dropped turn is %+v", got[1])
	}
	if !got[2].ClosedAt.Equal(now.Add(-time.Minute)) {
		t.Errorf("the end is %+v", got[2])
	}
	if want := [][]string{{"t1", "t2", "t4"}}; !reflect.DeepEqual(r.filter.calls, want) {
		t.Errorf("the filter was asked %v, want once for all turns: %v", r.filter.calls, want)
	}
	if got, want := r.counted(t), map[string]int64{"acme salient": 2, "acme dropped": 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}

// A dropped turn keeps its text, because the former reads it with the other turns of its session.
// Producers other than the gateway publish long turns unchanged.
func TestALongTurnGoesOnShortened(t *testing.T) {
	r := newFixture(t)
	long := turn(ana, 1, strings.Repeat("x", memory.MaxTurnBytes))
	if err := r.Handle(t.Context(), []bus.Message{message(t, long)}); err != nil {
		t.Fatal(err)
	}
	if got := r.out.read(t); len(got) != 1 || len(got[0].Turn.Text) > memory.MaxTextBytes {
		t.Errorf("%d events", len(got))
	}
}

func TestADroppedTurnGoesOnAsContext(t *testing.T) {
	r := newFixture(t)
	e := turn(ana, 1, dull)
	e.Turn.Caption, e.Turn.Speaker, e.IdleAfter = "a picture of nothing", "Anastasia", time.Minute
	if err := r.Handle(t.Context(), []bus.Message{message(t, e)}); err != nil {
		t.Fatal(err)
	}
	got := r.out.read(t)
	if len(got) != 1 || got[0].Turn != nil || got[0].Dropped == nil || !reflect.DeepEqual(*got[0].Dropped, *e.Turn) ||
		got[0].IdleAfter != time.Minute {
		t.Errorf("published %+v, want %+v dropped", got, *e.Turn)
	}
}

func TestOnlyAGateDrops(t *testing.T) {
	for _, c := range []struct {
		mode    memory.SaliencyMode
		strat   tenant.Strategy
		dropped bool
		salient bool
		asked   int
		counted map[string]int64
	}{
		{memory.SaliencyGate, "", true, false, 1, map[string]int64{"acme salient": 1, "acme dropped": 1}},
		{"", tenant.StrategySalimory, true, false, 1, map[string]int64{"acme salient": 1, "acme dropped": 1}},
		{memory.SaliencyMark, "", false, false, 1, map[string]int64{"acme salient": 1, "acme marked": 1}},
		{"", tenant.StrategyRMM, false, false, 1, map[string]int64{"acme salient": 1, "acme marked": 1}},
		{memory.SaliencyGate, tenant.StrategyRMM, true, false, 1, map[string]int64{"acme salient": 1, "acme dropped": 1}},
		{memory.SaliencyOff, "", false, true, 0, map[string]int64{"acme unrated": 2}},
	} {
		t.Run(string(c.mode)+" "+string(c.strat), func(t *testing.T) {
			r := newFixture(t)
			var err error
			entry := tenant.Entry{Tenant: tenant.Tenant{ID: "acme", Strategy: c.strat, Saliency: c.mode}}
			if r.Tenants, err = tenant.Static(entry); err != nil {
				t.Fatal(err)
			}
			in := []bus.Message{message(t, turn(ana, 1, "I live in Porto.")), message(t, turn(ana, 2, dull))}
			if err := r.Handle(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			got := r.out.read(t)
			if len(got) != 2 || got[0].Turn == nil || !got[0].Decision.Salient {
				t.Fatalf("published %+v", got)
			}
			d := got[1].Decision
			if (got[1].Dropped != nil) != c.dropped || d.Salient != c.salient || (c.mode != "" && d.Mode != c.mode) ||
				d.DecidedAt.IsZero() {
				t.Errorf("the dull turn is %+v", got[1])
			}
			if scored := d.Score == 0.1 && d.PolicyVersion == "test-1"; scored != (c.asked > 0) {
				t.Errorf("the decision is %+v, and the filter was asked %d times", d, c.asked)
			}
			if len(r.filter.calls) != c.asked {
				t.Errorf("the filter was asked %v", r.filter.calls)
			}
			if got := r.counted(t); !reflect.DeepEqual(got, c.counted) {
				t.Errorf("counted %v, want %v", got, c.counted)
			}
		})
	}
}

// A tenant without a filter needs no model.
func TestWhoWantsNoFilterNeedsNone(t *testing.T) {
	r := newFixture(t)
	entry := tenant.Entry{Tenant: tenant.Tenant{ID: "acme", Policy: tenant.PolicyLLM, Saliency: memory.SaliencyOff}}
	tenants, err := tenant.Static(entry)
	if err != nil {
		t.Fatal(err)
	}
	r.Tenants = tenants
	r.Filters = func(tenant.Policy) (formation.Filter, error) { return nil, errors.New("no model is set") }
	if err := r.Handle(t.Context(), []bus.Message{message(t, turn(ana, 1, dull))}); err != nil {
		t.Fatal(err)
	}
	if got := r.out.read(t); len(got) != 1 || got[0].Turn == nil || got[0].Decision.PolicyVersion != "off" {
		t.Errorf("published %+v", got)
	}
}

func TestTheEndOfASessionNeedsNoFilter(t *testing.T) {
	r := newFixture(t)
	r.Filters = func(tenant.Policy) (formation.Filter, error) { return nil, errors.New("no model") }
	if err := r.Handle(t.Context(), []bus.Message{message(t, closed(ana, 1))}); err != nil {
		t.Fatal(err)
	}
	if got := r.out.read(t); len(got) != 1 || got[0].ClosedAt.IsZero() {
		t.Errorf("published %+v", got)
	}
}

func TestAnErasureIsPassedOnInItsPlace(t *testing.T) {
	r := newFixture(t)
	erase := contract.SessionEvent{Envelope: contract.Envelope{EventID: "e2", Scope: ana}, ErasedAt: now}
	batch := []bus.Message{message(t, turn(ana, 1, "I live in Porto.")), message(t, erase),
		message(t, turn(ana, 3, "I moved to Braga."))}
	var forgotten []memory.Scope
	away := errors.New("the store is away")
	r.Forget = func(_ context.Context, scope memory.Scope) error {
		forgotten = append(forgotten, scope)
		return away
	}
	if err := r.Handle(t.Context(), batch); !errors.Is(err, away) || len(r.out.msgs) != 0 {
		t.Errorf("with what is not forgotten: %v, %d published", err, len(r.out.msgs))
	}
	away = nil
	if err := errors.Join(r.Handle(t.Context(), batch[:1]), r.Handle(t.Context(), batch)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(forgotten, []memory.Scope{ana, ana}) || len(r.filter.calls) != 3 {
		t.Errorf("forgotten %v, asked %v", forgotten, r.filter.calls)
	}
	r.out.msgs = r.out.msgs[1:]
	got := r.out.read(t)
	if len(got) != 3 || got[0].Turn == nil || got[2].Turn == nil || !got[1].ErasedAt.Equal(now) ||
		got[1].EventID != "e2" ||
		got[1].SessionID != "" {
		t.Errorf("published %+v", got)
	}
}

func TestTheFilterIsThatOfTheTenantsPolicy(t *testing.T) {
	r := newFixture(t)
	var err error
	r.Tenants, err = tenant.Static(tenant.Entry{Tenant: tenant.Tenant{ID: "acme", Policy: tenant.PolicyLLM}})
	if err != nil {
		t.Fatal(err)
	}
	var asked []tenant.Policy
	r.Filters = func(p tenant.Policy) (formation.Filter, error) {
		asked = append(asked, p)
		return saliency.NewTrained(), nil
	}
	batch := []bus.Message{message(t, turn(ana, 1, "I am allergic to peanuts.")), message(t, turn(ana, 2, "Ok."))}
	if err := r.Handle(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if want := []tenant.Policy{tenant.PolicyLLM}; !reflect.DeepEqual(asked, want) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
	if got := r.out.read(t); got[0].Turn == nil || got[1].Dropped == nil {
		t.Errorf("the embedded filter's verdicts are not taken: %+v", got)
	}
}

func TestOnlyTurnsThatAModelIsAskedAboutWaitForMore(t *testing.T) {
	r := newFixture(t)
	r.Gather = time.Second
	said := message(t, turn(ana, 1, "I live in Porto."))
	for name, tc := range map[string]struct {
		tenant tenant.Tenant
		m      bus.Message
		want   time.Duration
	}{
		"a turn":               {tenant.Tenant{ID: "acme", Policy: tenant.PolicyLLM}, said, time.Second},
		"no model":             {tenant.Tenant{ID: "acme", Policy: tenant.PolicyEmbedded}, said, 0},
		"nothing is rated":     {tenant.Tenant{ID: "acme", Policy: tenant.PolicyLLM, Saliency: memory.SaliencyOff}, said, 0},
		"the end of a session": {tenant.Tenant{ID: "acme", Policy: tenant.PolicyLLM}, message(t, closed(ana, 2)), 0},
		"what is no event": {tenant.Tenant{ID: "acme", Policy: tenant.PolicyLLM},
			bus.Message{Key: said.Key, Value: []byte("?")}, 0},
		"an unknown tenant": {tenant.Tenant{ID: "other", Policy: tenant.PolicyLLM}, said, 0},
	} {
		var err error
		if r.Tenants, err = tenant.Static(tenant.Entry{Tenant: tc.tenant}); err != nil {
			t.Fatal(err)
		}
		if got := r.Wait(tc.m); got != tc.want {
			t.Errorf("%s waits %s, want %s", name, got, tc.want)
		}
	}
}

func TestNothingOfABatchIsPublishedWhenItFails(t *testing.T) {
	good := message(t, turn(ana, 1, "I live in Porto."))
	nobody := memory.Scope{Tenant: "nobody", User: "ana"}
	tests := []struct {
		name     string
		first    bus.Message // valid if empty
		bad      bus.Message
		with     func(*fixture)
		terminal bool
		field    string
		text     string
	}{
		{name: "a record that is no event", bad: bus.Message{Key: good.Key, Value: []byte("{}")}, terminal: true,
			text: "SessionEvent"},
		{name: "an empty record", bad: bus.Message{Key: good.Key}, terminal: true, text: "empty"},
		{name: "a key of another user", bad: bus.Message{Key: []byte("acme/eva"), Value: good.Value}, terminal: true,
			field: "key"},
		{name: "a turn from the future", bad: message(t, func() contract.SessionEvent {
			e := turn(ana, 2, "hello")
			e.Turn.Time = now.Add(48 * time.Hour)
			return e
		}()), terminal: true, field: "turn.time"},
		{name: "an unknown tenant", first: message(t, turn(nobody, 1, "hello")), bad: message(t, turn(nobody, 2, "hello")),
			terminal: true, field: "tenant_id"},
		{name: "a filter that fails", with: func(r *fixture) {
			r.filter.err = errors.New("model is unavailable")
		}, text: "model is unavailable"},
		{name: "a filter that leaves turns out", with: func(r *fixture) {
			r.filter.short = 1
		}, text: "1 decisions on 2 turns"},
		{name: "a policy that is not there", with: func(r *fixture) {
			r.Filters = func(tenant.Policy) (formation.Filter, error) { return nil, errors.New("no model is set") }
		}, text: "no model is set"},
		{name: "a bus that is unavailable", with: func(r *fixture) { r.out.err = errors.New("brokers are unavailable") },
			text: "brokers are unavailable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newFixture(t)
			if tt.first.Key == nil {
				tt.first = good
			}
			if tt.bad.Key == nil {
				tt.bad = message(t, turn(ana, 2, "hello"))
			}
			if tt.with != nil {
				tt.with(r)
			}
			err := r.Handle(t.Context(), []bus.Message{tt.first, tt.bad})
			if err == nil || fault.IsTerminal(err) != tt.terminal || fault.Field(err) != tt.field {
				t.Errorf("got %v (field %q), want terminal %t, field %q", err, fault.Field(err), tt.terminal, tt.field)
			}
			if err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %q, want it to say %q", err, tt.text)
			}
			if len(r.out.msgs) != 0 {
				t.Errorf("%d records were published", len(r.out.msgs))
			}
			if got := r.counted(t); len(got) != 0 {
				t.Errorf("counted %v", got)
			}
		})
	}
}

// A turn without a usable model answer becomes a dead letter after few requests, and other turns do not.
func TestATurnWithoutAUsableAnswerIsADeadLetterAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		step llmtest.Step
		most int // of one request
	}{
		"cut off": {llmtest.Truncated(), 2}, "filtered": {llmtest.Filtered(), 2}, "refused": {llmtest.Refusal(), 2},
		"empty": {llmtest.EmptyText(), 3}, "malformed": {llmtest.Text("no"), 3}, "rejected": {llmtest.Status(413), 2},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t)
			server.Always(func(w http.ResponseWriter, req *http.Request, c llmtest.Call) {
				if strings.Contains(c.User(), "odd") {
					tc.step(w, req, c)
					return
				}
				llmtest.FakeModel()(w, req, c)
			})
			filter, err := formationllm.NewFilter(server.Client(t), formationllm.DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			r, dead := newFixture(t), &outbox{}
			r.Filters = func(tenant.Policy) (formation.Filter, error) { return filter, nil }
			ins, err := bus.NewInstruments(bus.Telemetry{})
			if err != nil {
				t.Fatal(err)
			}
			handle, err := bus.Standard(bus.StandardConfig{Handler: "filter", DeadLetters: "dead"}, dead, ins, r.Handle)
			if err != nil {
				t.Fatal(err)
			}
			batch := []bus.Message{
				message(t, turn(ana, 1, "I live in Porto")), message(t, turn(ana, 2, "I am odd")),
				message(t, turn(ana, 3, "I have two sons")),
				message(t, turn(ana, 4, "I love green tea")), message(t, closed(ana, 5)),
			}
			if err := handle(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			for _, alone := range [][]bus.Message{
				{message(t, turn(ana, 6, "I am odder"))}, {message(t, turn(ana, 7, "oddest")), message(t, closed(ana, 8))},
			} {
				if err := handle(t.Context(), alone); err != nil {
					t.Fatal(err)
				}
			}
			if len(dead.msgs) != 3 || len(r.out.read(t)) != 5 {
				t.Errorf("%d dead letters, %d events passed on; want the odd turns, and the others", len(dead.msgs),
					len(r.out.msgs))
			}
			sent := map[string]int{}
			for _, c := range server.Calls(llm.RoleFilter) {
				if sent[string(c.Raw)]++; sent[string(c.Raw)] > tc.most && c.Data() != nil {
					t.Errorf("a request was sent %d times", sent[string(c.Raw)])
				}
			}
		})
	}
}

// An event id that repeats with another text gets the first decision.
func TestTheFirstDecisionOnAnEventStands(t *testing.T) {
	r := newFixture(t)
	first, second := turn(ana, 1, dull), turn(ana, 1, "I live in Porto.")
	if err := r.Handle(t.Context(), []bus.Message{message(t, first), message(t, second)}); err != nil {
		t.Fatal(err)
	}
	if len(r.out.msgs) != 2 || len(r.filter.calls) != 1 || len(r.filter.calls[0]) != 1 {
		t.Fatalf("%d events, the filter was asked %v", len(r.out.msgs), r.filter.calls)
	}
	for i, m := range r.out.msgs {
		e, err := contract.DecodeSalientEvent(m.Key, m.Value, now)
		if err != nil || e.Dropped == nil {
			t.Errorf("event %d is %+v, %v, want it dropped", i, e, err)
		}
	}
}

// The first decision on a turn id in a batch also stands, for all event ids of the turn. It includes its time.
func TestTheFirstDecisionOnATurnIDStands(t *testing.T) {
	r := newFixture(t)
	r.Now = func() time.Time { return now.Add(1500 * time.Microsecond) }
	first, second := turn(ana, 1, dull), turn(ana, 2, "I live in Porto.")
	second.Turn.ID = first.Turn.ID
	if err := r.Handle(t.Context(), []bus.Message{message(t, first), message(t, second)}); err != nil {
		t.Fatal(err)
	}
	for i, e := range r.out.read(t) {
		if e.Dropped == nil || !e.Decision.DecidedAt.Equal(now.Add(time.Millisecond)) {
			t.Errorf("event %d is %+v, want it dropped, with the time in milliseconds", i, e)
		}
	}
}
