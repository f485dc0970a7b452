package utilizer_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/tenant"
)

var (
	now            = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	acme           = tenant.Tenant{ID: "acme", Strategy: tenant.StrategySalimory, Policy: tenant.PolicyEmbedded}
	errUnavailable = fmt.Errorf("10.1.2.3:6379: %w", syscall.ECONNREFUSED)
	traceHex       = "0123456789abcdef0123456789abcdef"
)

var where = utilizer.Request{User: "ana", Query: "Where does Ana live?", Candidates: 3, Memories: 2, WordBudget: 100}

func contents(ms []memory.Memory) []string {
	out := []string{}
	for _, m := range ms {
		out = append(out, m.Content)
	}
	return out
}

func TestRecall(t *testing.T) {
	r := newRecaller(t)
	spans := tracetest.NewSpanRecorder()
	r.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
	got, err := r.Recall(t.Context(), acme, where)
	if err != nil {
		t.Fatal(err)
	}
	e := got.Evidence
	if len(e.Memories) != 2 || e.Query.Text != where.Query || !e.Query.Now.Equal(now) || e.WordBudget != 100 {
		t.Errorf("the evidence is %+v", e)
	}
	for i, m := range e.Memories {
		if want := float64(100 - i); got.Scores[m.ID] != want {
			t.Errorf("%q has the score %v, want the ranker's: %v", m.Content, got.Scores[m.ID], want)
		}
	}
	if len(e.Window) != 1 || e.Window[0].ID != "t9" {
		t.Errorf("the window is %+v", e.Window)
	}
	if len(got.Profile.Sections) == 0 || len(got.Profile.Cited) == 0 || len(got.Degraded) != 0 || got.ID == "" {
		t.Errorf("got %+v", got)
	}
	span := spans.Ended()[0]
	if got.TraceID != span.SpanContext().TraceID().String() {
		t.Errorf("the trace is %s", got.TraceID)
	}
	if links := span.Links(); len(links) != 1 || links[0].SpanContext.TraceID().String() != traceHex {
		t.Errorf("links to %v, want once to the trace that formed what is shown", links)
	}
	understood := map[attribute.Key]string{
		telemetry.AttrIntent: "present", telemetry.AttrWants: `["name","interrogative","fact"]`,
	}
	for _, a := range span.Attributes() {
		if want, ok := understood[a.Key]; ok && a.Value.String() == want {
			delete(understood, a.Key)
		}
		if strings.Contains(a.Value.String(), "Porto") || strings.Contains(a.Value.String(), "live") {
			t.Errorf("the span tells %s: %s", a.Key, a.Value.String())
		}
	}
	if len(understood) > 0 {
		t.Errorf("the span lacks %v among %v", understood, span.Attributes())
	}
}

func TestAUserWithoutMemoriesHasAnEmptyProfile(t *testing.T) {
	r := newRecaller(t)
	r.Ranker = unavailableRanker{} // the ranker is not called without candidates
	for name, tt := range map[string]struct {
		tenant tenant.Tenant
		user   string
	}{"another user": {acme, "eva"}, "the same user of another tenant": {tenant.Tenant{ID: "beta"}, "ana"}} {
		t.Run(name, func(t *testing.T) {
			q := where
			q.User = tt.user
			got, err := r.Recall(t.Context(), tt.tenant, q)
			if err != nil || len(got.Profile.Sections) != 0 || len(got.Degraded) != 0 || len(got.Evidence.Memories) != 0 {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestWhatIsAwayIsLeftOutAndSaid(t *testing.T) {
	// priors returns the order of the shared prior: the reverse of the order from reversing, with the same length.
	priors := func(t *testing.T) []string {
		q := where
		q.Memories = q.Candidates
		got, err := newRecaller(t).Recall(t.Context(), acme, q)
		if err != nil {
			t.Fatal(err)
		}
		out := contents(got.Evidence.Memories)
		slices.Reverse(out)
		return out[:where.Memories]
	}
	tests := []struct {
		name     string
		change   func(*utilizer.Recaller)
		degraded []string
		window   int
		prior    bool
	}{
		{"the window", func(r *utilizer.Recaller) {
			r.Window = unavailableWindow{}
		}, []string{"window_unavailable"}, 0, false},
		{"a window that does not answer", func(r *utilizer.Recaller) {
			r.Window, r.WindowTimeout = slowWindow{}, 50*time.Millisecond // the core block has this time, too
		}, []string{"window_unavailable"}, 0, false},
		{"the reranker", func(r *utilizer.Recaller) {
			r.Ranker = unavailableRanker{}
		}, []string{"reranker_unavailable"}, 1, true},
		{"a reranker that does not answer", func(r *utilizer.Recaller) {
			r.Ranker, r.RankTimeout = slowRanker{}, time.Millisecond
		}, []string{"reranker_unavailable"}, 1, true},
		{"the model", func(r *utilizer.Recaller) {
			r.Policies = func(tenant.Policy) (recall.Profiler, recall.Generator, error) {
				return unavailableProfiler{}, nil, nil
			}
		}, []string{"model_unavailable"}, 1, false},
		{"all of them", func(r *utilizer.Recaller) {
			r.Window, r.Ranker = unavailableWindow{}, unavailableRanker{}
			r.Policies = func(tenant.Policy) (recall.Profiler, recall.Generator, error) {
				return unavailableProfiler{}, nil, nil
			}
		}, []string{"window_unavailable", "reranker_unavailable", "model_unavailable"}, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRecaller(t)
			tt.change(r)
			got, err := r.Recall(t.Context(), acme, where)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Degraded) != len(tt.degraded) {
				t.Fatalf("says %q, want %q", got.Degraded, tt.degraded)
			}
			for i, want := range tt.degraded {
				if !strings.Contains(got.Degraded[i], want) || strings.Contains(got.Degraded[i], "10.1.2.3") {
					t.Errorf("says %q, want %q and nothing internal", got.Degraded[i], want)
				}
			}
			if len(got.Evidence.Window) != tt.window || len(got.Profile.Cited) != 2 {
				t.Errorf("window %v, cited %v", got.Evidence.Window, contents(got.Profile.Cited))
			}
			if order := contents(got.Evidence.Memories); tt.prior && !reflect.DeepEqual(order, priors(t)) {
				t.Errorf("shows %q, want the order of the shared start: %q", order, priors(t))
			}
		})
	}
}

// without makes the bank unavailable, and the index cache, too.
func without(t *testing.T, r *utilizer.Recaller) {
	r.Bank = unavailableBank{}
	r.Indexes = newIndexCache(t, r.Bank, roomy)
}

func TestRecallFailsWithoutWhatItCannotDoWithout(t *testing.T) {
	tests := []struct {
		name   string
		change func(*utilizer.Recaller)
	}{
		{"the bank", func(r *utilizer.Recaller) { without(t, r) }},
		{"the bank, while the window does not answer", func(r *utilizer.Recaller) { without(t, r); r.Window = slowWindow{} }},
		{"the embedder", func(r *utilizer.Recaller) { r.Embedder = unavailableEmbedder{} }},
		{"the tenant's policy", func(r *utilizer.Recaller) {
			r.Policies = func(tenant.Policy) (recall.Profiler, recall.Generator, error) { return nil, nil, errUnavailable }
		}},
		{"any profile", func(r *utilizer.Recaller) {
			r.Policies = func(tenant.Policy) (recall.Profiler, recall.Generator, error) {
				return unavailableProfiler{}, nil, nil
			}
			r.Fallback = unavailableProfiler{}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRecaller(t)
			tt.change(r)
			if got, err := r.Recall(t.Context(), acme, where); !errors.Is(err, errUnavailable) || got.ID != "" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// leaving cancels its caller while it writes the profile.
type leaving struct{ cancel context.CancelFunc }

func (l leaving) Profile(ctx context.Context, _ memory.Scope, _ recall.Evidence) (recall.Profile, error) {
	l.cancel()
	return recall.Profile{}, ctx.Err()
}

func TestNobodyIsAnsweredWhoHasLeft(t *testing.T) {
	r := newRecaller(t)
	ctx, cancel := context.WithCancel(t.Context())
	r.Policies = func(tenant.Policy) (recall.Profiler, recall.Generator, error) { return leaving{cancel}, nil, nil }
	if got, err := r.Recall(ctx, acme, where); !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// blocking writes no profile and waits for its timeout.
type blocking struct{}

func (blocking) Profile(ctx context.Context, _ memory.Scope, _ recall.Evidence) (recall.Profile, error) {
	<-ctx.Done()
	return recall.Profile{}, ctx.Err()
}

func TestASlowModelIsGivenUpInTime(t *testing.T) {
	table() // before the bubble
	profiler()
	modelled := tenant.Tenant{ID: "acme", Strategy: tenant.StrategySalimory, Policy: tenant.PolicyLLM}
	synctest.Test(t, func(t *testing.T) {
		r := newRecaller(t)
		r.Reserve = 50 * time.Millisecond
		r.Policies = func(tenant.Policy) (recall.Profiler, recall.Generator, error) { return blocking{}, nil, nil }
		for _, deadline := range []time.Duration{time.Second, r.Reserve} { // the second leaves the model no time at all
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			got, err := r.Recall(ctx, modelled, where)
			if err != nil || ctx.Err() != nil || len(got.Profile.Cited) != 2 {
				t.Errorf("got %+v, %v; the caller's context: %v", got, err, ctx.Err())
			}
			if len(got.Degraded) != 1 || got.Degraded[0] != "model_too_slow" {
				t.Errorf("says %q", got.Degraded)
			}
			cancel()
		}
	})
}

func TestAPolicyWithoutAModelHasAllTheTimeThereIs(t *testing.T) {
	r := newRecaller(t)
	r.Reserve = time.Hour
	r.Policies = func(tenant.Policy) (recall.Profiler, recall.Generator, error) {
		return profiler(), nil, nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if got, err := r.Recall(ctx, acme, where); err != nil || len(got.Degraded) != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}
