package bank_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/bank/inmem"
)

var ana = memory.Scope{Tenant: "acme", User: "ana-the-user"}

// traced returns a bank with data from every method, and the exporter of its spans.
func traced(t *testing.T) (bank.Bank, *tracetest.InMemoryExporter) {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	b := inmem.New(2)
	err := b.Write(t.Context(), ana, memory.Write{
		Put: []memory.Memory{{
			ID: "m1", Content: "Ana swims secretly", RecordedAt: time.Unix(1, 0), Status: memory.StatusActive,
			Vector: memory.Vector{1, 0},
		}},
		Turns: []memory.Turn{{ID: "t1", Text: "I swim secretly"}}, Session: &memory.SessionRecord{SessionID: "s1"},
	})
	err = errors.Join(err, b.WriteDropped(t.Context(), ana, []memory.Dropped{{TurnID: "d1"}}))
	one := memory.Scope{Tenant: ana.Tenant, User: "one"}
	if err = errors.Join(err, b.Write(t.Context(), one, memory.Write{Turns: []memory.Turn{{ID: "t1"}}})); err != nil {
		t.Fatal(err)
	}
	return bank.Traced(b, provider.Tracer("test")), spans
}

// methods calls every method; each finds one thing.
func methods(b bank.Bank) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"write":   func(ctx context.Context) error { return b.Write(ctx, ana, memory.Write{}) },
		"get":     func(ctx context.Context) error { _, err := b.Get(ctx, ana, "m1"); return err },
		"list":    func(ctx context.Context) error { _, err := b.List(ctx, ana, bank.ListOptions{}); return err },
		"history": func(ctx context.Context) error { _, err := b.History(ctx, ana, "m1"); return err },
		"search": func(ctx context.Context) error {
			_, err := b.Search(ctx, ana, bank.Query{Text: "secretly"})
			return err
		},
		"turns":   func(ctx context.Context) error { _, err := b.Turns(ctx, ana, []string{"t1"}); return err },
		"session": func(ctx context.Context) error { _, _, err := b.Session(ctx, ana, "s1"); return err },
		"owner":   func(ctx context.Context) error { _, err := b.Owner(ctx, ana.Tenant, "m1"); return err },
		"list_turns": func(ctx context.Context) error {
			_, err := b.ListTurns(ctx, ana, bank.PageOptions{})
			return err
		},
		"list_sessions": func(ctx context.Context) error {
			_, err := b.ListSessions(ctx, ana, bank.PageOptions{})
			return err
		},
		"write_dropped": func(ctx context.Context) error { return b.WriteDropped(ctx, ana, nil) },
		"dropped": func(ctx context.Context) error {
			_, err := b.Dropped(ctx, ana, []string{"d1"})
			return err
		},
		"erase_talk": func(ctx context.Context) error {
			return b.EraseTalk(ctx, memory.Scope{Tenant: ana.Tenant, User: "nobody"}, time.Time{})
		},
		"erase_dropped": func(ctx context.Context) error {
			return b.EraseDropped(ctx, memory.Scope{Tenant: ana.Tenant, User: "nobody"})
		},
		"count": func(ctx context.Context) error {
			_, err := b.Count(ctx, memory.Scope{Tenant: ana.Tenant, User: "one"})
			return err
		},
		"erase": func(ctx context.Context) error { return b.Erase(ctx, memory.Scope{Tenant: ana.Tenant, User: "nobody"}) },
	}
}

func TestTracedMakesOneSpanPerCall(t *testing.T) {
	b, spans := traced(t)
	for name, call := range methods(b) {
		spans.Reset()
		if err := call(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := spans.GetSpans()
		if len(got) != 1 || got[0].Name != "memory.bank."+name || got[0].SpanKind != trace.SpanKindClient ||
			got[0].Status.Code != codes.Unset {
			t.Errorf("%s: got spans %+v", name, got)
			continue
		}
		attributes := attributesOf(got[0])
		want := []string{"db.operation.name=" + name, "db.system.name=inmem"}
		if returns := !slices.Contains([]string{"write", "write_dropped", "erase", "erase_talk", "erase_dropped", "ping"},
			name); returns {
			want = append(want, "db.response.returned_rows=1")
		}
		for _, a := range want {
			if !slices.Contains(attributes, a) {
				t.Errorf("%s: %v lacks %s", name, attributes, a)
			}
		}
	}
}

func TestTracedRecordsErrorsAndNoText(t *testing.T) {
	b, spans := traced(t)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range methods(b) {
		spans.Reset()
		if err := call(cancelled); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want the bank's own error", name, err)
		}
		if got := spans.GetSpans(); len(got) != 1 || got[0].Status.Code != codes.Error || len(got[0].Events) != 1 {
			t.Errorf("%s: got spans %+v, want one with its error", name, got)
		}
		if err := call(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if all := fmt.Sprintf("%+v", spans.GetSpans()); strings.Contains(all, "secretly") || strings.Contains(all, ana.User) {
			t.Errorf("%s: the span tells of the user: %s", name, all)
		}
	}
}

func TestTracedTakesNotFoundForAnAnswer(t *testing.T) {
	b, spans := traced(t)
	if _, err := b.Get(t.Context(), ana, "none"); !errors.Is(err, bank.ErrNotFound) {
		t.Errorf("got %v, want %v", err, bank.ErrNotFound)
	}
	got := spans.GetSpans()
	if len(got) != 1 || got[0].Status.Code != codes.Unset ||
		!slices.Contains(attributesOf(got[0]), "db.response.returned_rows=0") {
		t.Errorf("got spans %+v, want one that is no error", got)
	}
}

func attributesOf(s tracetest.SpanStub) []string {
	var out []string
	for _, a := range s.Attributes {
		out = append(out, string(a.Key)+"="+a.Value.String())
	}
	return out
}
