package deltamem_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/deltamem"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// shownData is the data of the agent's last prompt.
type shownData struct {
	Turns []struct{ ID string }
	Steps []struct {
		Thought  string
		Searches []struct {
			Query string
			Found []string
		}
	}
	Memories []struct{ ID, Content string }
	Left     int `json:"searches_left"`
	AtOnce   int `json:"queries_at_once"`
}

func lastShown(t *testing.T, s *llmtest.Server) shownData {
	t.Helper()
	calls := s.Calls(model.RoleAgent)
	var out shownData
	if err := json.Unmarshal(calls[len(calls)-1].Data(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTurnsAreHeldAgainstNothingYet(t *testing.T) {
	s := llmtest.New(t)
	out, err := newFormer(t, s).Extract(t.Context(), session("I rent.", " ", strings.Repeat("é", 1000)))
	if err != nil || len(out) != 2 || s.Total() != 0 {
		t.Fatalf("got %+v, %v, %d calls", out, err, s.Total())
	}
	for _, c := range out {
		if c.Neighbours != formation.NoNeighbours || c.Content == "" || len(c.Content) > 512 || len(c.Sources) != 1 {
			t.Errorf("candidate %+v", c)
		}
	}
}

func TestTheAgentSeesItsTrail(t *testing.T) {
	s := llmtest.New(t)
	f := newFormer(t, s)
	b := bundle(t, f, "I moved to Porto.")
	script(t, s, search("where Ana lives", "Ana's flat"))
	v, err := f.Decide(t.Context(), b)
	if err != nil || len(v.Lookups) != 2 || v.Lookups[0].Text != "where Ana lives" || v.Lookups[0].K != 5 ||
		len(v.Operations) != 0 {
		t.Fatalf("got %+v, %v", v, err)
	}
	if d := lastShown(t, s); d.Left != 8 || d.AtOnce != 4 || len(d.Steps) != 0 || len(d.Memories) != 0 {
		t.Errorf("first shown %+v", d)
	}
	b.Memo, b.Found = v.Memo, []formation.Found{
		{Memories: []memory.Memory{stored("m-1", "Ana lives in Rome."), stored("m-2", "Ana rents.")}},
		{Memories: []memory.Memory{stored("m-2", "Ana rents.")}},
	}
	script(t, s, search("Porto"))
	if v, err = f.Decide(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	d := lastShown(t, s)
	if d.Left != 6 || len(d.Steps) != 1 || d.Steps[0].Thought != "May be known." || len(d.Memories) != 2 {
		t.Fatalf("then shown %+v", d)
	}
	if got := d.Steps[0].Searches; !slices.Equal(got[0].Found, []string{"m1", "m2"}) ||
		!slices.Equal(got[1].Found, []string{"m2"}) {
		t.Errorf("searches %+v", got)
	}
	script(t, s, finish(op("UPDATE", "m1", "Ana lives in Porto, before that in Rome.", "t1")))
	v, err = f.Decide(t.Context(), found(b, v))
	if err != nil || len(v.Operations) != 1 || v.Operations[0].Targets[0] != "m-1" || len(v.Memo) != 0 {
		t.Errorf("a memory of an earlier step: %+v, %v", v, err)
	}
}

func TestTheAgentStopsAtItsBounds(t *testing.T) {
	for name, c := range map[string]struct {
		bounds         deltamem.Bounds
		queries        int // in each step
		steps, queried int
	}{
		"the default's searches": {deltamem.DefaultBounds(), 4, 3, 8},
		"the default's steps":    {deltamem.DefaultBounds(), 1, 6, 5},
		"one step":               {deltamem.Bounds{Steps: 1, Searches: 8, AtOnce: 4, Found: 5}, 1, 1, 0},
		"no searches":            {deltamem.Bounds{Steps: 6, Searches: 0, AtOnce: 4, Found: 5}, 1, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t)
			n := 0
			s.Always(llmtest.Reply(func(call llmtest.Call) string {
				var d shownData
				if err := json.Unmarshal(call.Data(), &d); err != nil {
					return err.Error()
				}
				a := finish(op("ADD", "", "Ana rents.", "t1"))
				if d.Left > 0 {
					var queries []string
					for range min(c.queries, d.AtOnce) {
						n++
						queries = append(queries, "matter "+strconv.Itoa(n))
					}
					a = search(queries...)
				}
				out, _ := json.Marshal(a)
				return string(out)
			}))
			f := newFormerWithin(t, s, c.bounds)
			b := bundle(t, f, "I rent.")
			queried := 0
			v, err := f.Decide(t.Context(), b)
			for err == nil && len(v.Lookups) > 0 {
				queried += len(v.Lookups)
				v, err = f.Decide(t.Context(), found(b, v))
			}
			if err != nil || len(v.Operations) != 1 || s.Count(model.RoleAgent) != c.steps || queried != c.queried {
				t.Errorf("%+v, %v after %d steps and %d searches", v, err, s.Count(model.RoleAgent), queried)
			}
		})
	}
}

func TestQueriesThatAreRefused(t *testing.T) {
	many := search("a", "b", "c", "d", "e")
	mixed := search("a")
	mixed["operations"] = []object{op("ADD", "", "Ana rents.", "t1")}
	for name, bad := range map[string]object{
		"more than at once": many, "none": search(), "the same twice": search("Ana's job", "ana's  job"),
		"made before": search("Where Ana lives"),
		"empty":       search(" "), "long": search(strings.Repeat("a", 401)), "with operations": mixed, "with nothing": {
			"thought": "", "action": "search", "queries": []string{"a"}, "nothing": true, "operations": []object{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t)
			f := newFormer(t, s)
			b := searched(t, s, f, bundle(t, f, "I rent."))
			script(t, s, bad, bad)
			if v, err := f.Decide(t.Context(), b); !errors.Is(err, model.ErrMalformed) || v.Lookups != nil ||
				v.Operations != nil {
				t.Errorf("got %+v, %v", v, err)
			}
		})
	}
}

// An agent that goes on searching when there are no more searches is shown that once.
func TestNoMoreSearchesMeansFinish(t *testing.T) {
	s := llmtest.New(t)
	f := newFormerWithin(t, s, deltamem.Bounds{Steps: 6, Searches: 1, AtOnce: 4, Found: 5})
	b := searched(t, s, f, bundle(t, f, "I rent."))
	script(t, s, search("more"), finish(op("ADD", "", "Ana rents.", "t1")))
	v, err := f.Decide(t.Context(), b)
	if err != nil || len(v.Operations) != 1 {
		t.Fatalf("got %+v, %v", v, err)
	}
	calls := s.Calls(model.RoleAgent)
	if last := calls[len(calls)-1]; !last.IsRepair() || !strings.Contains(string(last.Raw), "no searches are left") {
		t.Error("the agent was not told")
	}
}

func TestAForeignMemoIsTerminal(t *testing.T) {
	s := llmtest.New(t)
	f := newFormer(t, s)
	good := searched(t, s, f, bundle(t, f, "I rent."))
	for name, change := range map[string]func(*formation.Bundle){
		"no JSON":     func(b *formation.Bundle) { b.Memo = json.RawMessage("{") },
		"no steps":    func(b *formation.Bundle) { b.Memo = json.RawMessage("{}") },
		"no results":  func(b *formation.Bundle) { b.Found = nil },
		"too many":    func(b *formation.Bundle) { b.Found = make([]formation.Found, 2) },
		"other sorts": func(b *formation.Bundle) { b.Memo = json.RawMessage(`{"steps":[{"searches":5}]}`) },
	} {
		b := good
		change(&b)
		if v, err := f.Decide(t.Context(), b); !fault.IsTerminal(err) {
			t.Errorf("%s: got %+v, %v", name, v, err)
		}
	}
}

func TestBoundsAreChecked(t *testing.T) {
	for _, b := range []deltamem.Bounds{{}, {Steps: 17, Searches: 8, AtOnce: 4, Found: 5},
		{Steps: 6, Searches: 65, AtOnce: 4, Found: 5}, {Steps: 6, Searches: 8, AtOnce: 17, Found: 5},
		{Steps: 6, Searches: 8, AtOnce: 4, Found: 21}} {
		if b.Validate() == nil {
			t.Errorf("%+v was accepted", b)
		}
	}
	if err := deltamem.DefaultBounds().Validate(); err != nil {
		t.Error(err)
	}
}

func TestStepsSearchesAndTokensAreOnTheSpan(t *testing.T) {
	s := llmtest.New(t)
	spans := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
	for _, f := range []formation.Former{newFormer(t, s), deltamem.NewEmbedded()} {
		b := bundle(t, f, "I moved to Porto.")
		ctx, first := tracer.Start(t.Context(), "first")
		v, err := f.Decide(ctx, b)
		first.End()
		if err != nil || len(v.Lookups) == 0 {
			t.Fatalf("got %+v, %v", v, err)
		}
		ctx, second := tracer.Start(t.Context(), "second")
		_, err = f.Decide(ctx, found(b, v))
		second.End()
		if err != nil {
			t.Fatal(err)
		}
		ended := spans.Ended()
		before, after := values(ended[len(ended)-2]), values(ended[len(ended)-1])
		if before["mneme.agent.steps"] != 1 || before["mneme.agent.searches"] != 1 || after["mneme.agent.steps"] != 2 ||
			after["mneme.agent.searches"] != 1 {
			t.Errorf("%T: %v, then %v", f, before, after)
		}
		if in := before["mneme.agent.tokens.input"]; (in > 0) != (after["mneme.agent.tokens.input"] > in) {
			t.Errorf("%T: tokens %v, then %v", f, before, after)
		}
	}
}

func values(span sdktrace.ReadOnlySpan) map[string]int64 {
	out := map[string]int64{}
	for _, a := range span.Attributes() {
		out[string(a.Key)] = a.Value.AsInt64()
	}
	return out
}
