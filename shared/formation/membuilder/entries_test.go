package membuilder_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/membuilder"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// known is a bundle with memories of each kind: m1 and m2 are the role's own.
func known(role model.Role) formation.Bundle {
	memories := []memory.Memory{
		stored("e-1", memory.KindEpisodic, "2024-01-07: Ana ran a race."),
		stored("e-2", memory.KindEpisodic, "2024-03-03: Ana ran another race."),
		stored("s-1", memory.KindSemantic, "Eva is Ana's sister."), stored("s-2", memory.KindFact, "Ana rents."),
		stored("p-1", memory.KindProcedural, "How Ana brews coffee | Steps: 1. Press."),
		stored("p-2", memory.KindProcedural, "How Ana sleeps | Steps: 1. Lie."),
	}
	return bundle([]string{"I ran a race last Saturday, Eva.", "I now pour my coffee."}, memories...)
}

func TestEventsBeginWithTheirTime(t *testing.T) {
	for name, tc := range map[string]struct {
		op      object
		content string
		when    memory.EventTime
	}{
		"a day, in the speaker's words": {
			operation(model.RoleEpisodic, "date", "2024-05-04", "said", "last Saturday", "details", "It rained."),
			"2024-05-04: Ana ran a race. | It rained.",
			memory.EventTime{Time: date(2024, 5, 4), Precision: memory.PrecisionDay, Expression: "last Saturday"},
		},
		"words that were not said": {
			operation(model.RoleEpisodic, "date", "2024-05-04", "said", "last Sunday"),
			"2024-05-04: Ana ran a race.", memory.EventTime{Time: date(2024, 5, 4), Precision: memory.PrecisionDay},
		},
		"a month": {
			operation(model.RoleEpisodic, "date", "2024-04"), "2024-04: Ana ran a race.",
			memory.EventTime{Time: date(2024, 4, 1), Precision: memory.PrecisionMonth},
		},
		"a year": {
			operation(model.RoleEpisodic, "date", "2023"), "2023: Ana ran a race.",
			memory.EventTime{Time: date(2023, 1, 1), Precision: memory.PrecisionYear},
		},
		"a range": {
			operation(model.RoleEpisodic, "action", "MERGE", "targets", []string{"m1", "m2"}, "date", "2024-01-07", "until",
				"2024-05-04", "summary", "Ana ran three races."),
			"2024-01-07 to 2024-05-04: Ana ran three races.",
			memory.EventTime{Time: date(2024, 1, 7), End: date(2024, 5, 4), Precision: memory.PrecisionDay},
		},
		"a range of one day": {
			operation(model.RoleEpisodic, "action", "MERGE", "targets", []string{"m1", "m2"}, "date", "2024-01-07", "until",
				"2024-01-07"),
			"2024-01-07: Ana ran a race.", memory.EventTime{Time: date(2024, 1, 7), Precision: memory.PrecisionDay},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, w, err := decide(t, llmtest.New(t), known(model.RoleEpisodic), model.RoleEpisodic, operations(tc.op))
			if err != nil || len(w.Put) != 1 || w.Put[0].Content != tc.content ||
				!reflect.DeepEqual(w.Put[0].EventTime, tc.when) {
				t.Errorf("got %+v, %v", w.Put, err)
			}
		})
	}
}

func date(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

func TestNewVersionsNameTheirPredecessors(t *testing.T) {
	for name, tc := range map[string]struct {
		role model.Role
		op   object
		want []string
		kind memory.Kind
	}{
		"episodic update": {model.RoleEpisodic, operation(model.RoleEpisodic, "action", "UPDATE", "targets", []string{"m1"}),
			[]string{"e-1"},
			memory.KindEpisodic},
		"semantic update": {model.RoleSemantic, operation(model.RoleSemantic, "action", "UPDATE", "why", "more", "targets",
			[]string{"m1"}),
			[]string{"s-1"}, memory.KindSemantic},
		"a fact's update": {model.RoleSemantic, operation(model.RoleSemantic, "action", "UPDATE", "why", "changed", "targets",
			[]string{"m2"}),
			[]string{"s-2"}, memory.KindSemantic},
		"procedure update": {model.RoleProcedural,
			operation(model.RoleProcedural, "action", "UPDATE", "targets", []string{"m1"}),
			[]string{"p-1"}, memory.KindProcedural},
		"episodic merge": {
			model.RoleEpisodic, operation(model.RoleEpisodic, "action", "MERGE", "targets", []string{"m2", "m1"}, "until",
				"2024-06-01"), []string{"e-1", "e-2"}, memory.KindEpisodic,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, w, err := decide(t, llmtest.New(t), known(tc.role), tc.role, operations(tc.op))
			if err != nil || len(w.Put) != 1 {
				t.Fatalf("got %+v, %v", w, err)
			}
			m := w.Put[0]
			if !slices.Equal(m.Predecessors, tc.want) || m.Version != 2 || m.Kind != tc.kind || m.Strategy != "membuilder" ||
				!m.ValidFrom.Equal(day) {
				t.Errorf("wrote %+v", m)
			}
			if len(w.Close) != len(tc.want) || w.Close[0].Status != memory.StatusSuperseded {
				t.Errorf("closed %+v: the old version must stay as the past", w.Close)
			}
		})
	}
}

func TestProceduresHaveNumberedSteps(t *testing.T) {
	op := operation(model.RoleProcedural, "steps", []string{" Grind\n20 g. ", "Pour."}, "context", "On Sundays.",
		"sources", []string{"t2"})
	_, w, err := decide(t, llmtest.New(t), known(model.RoleProcedural), model.RoleProcedural, operations(op))
	if err != nil || len(w.Put) != 1 || w.Put[0].Content != "How Ana brews coffee | Steps: 1. Grind 20 g. 2. Pour. | Context: On Sundays." {
		t.Errorf("got %+v, %v", w.Put, err)
	}
}

func TestCommonKnowledgeIsSkipped(t *testing.T) {
	skip := func(why string, targets ...string) object {
		return operation(model.RoleSemantic, "action", "SKIP", "why", why, "content", "", "targets",
			append([]string{}, targets...))
	}
	again := operation(model.RoleSemantic) // repeats the stored text word for word
	v, w, err := decide(t, llmtest.New(t), known(model.RoleSemantic), model.RoleSemantic,
		operations(skip("common"), skip("known", "m1"), again))
	if err != nil || len(v.Operations) != 3 || len(w.Put)+len(w.Close) != 0 {
		t.Fatalf("got %+v, %v", v, err)
	}
	for i, want := range [][]string{nil, {"s-1"}, {"s-1"}} {
		if op := v.Operations[i]; op.Kind != memory.OpNone || !slices.Equal(op.Targets, want) || len(op.Sources) == 0 {
			t.Errorf("operation %d is %+v", i, op)
		}
	}
}

func TestInvalidActionsAreRepairedOnceThenFail(t *testing.T) {
	type invalid map[string][]object
	both := func(role model.Role) invalid {
		return invalid{
			"an undefined action":       {operation(role, "action", "DELETE", "targets", []string{"m1"})},
			"no sources":                {operation(role, "sources", []string{})},
			"an unknown source":         {operation(role, "sources", []string{"t9"})},
			"an update of nothing":      {operation(role, "action", "UPDATE", "why", "more")},
			"an update of two":          {operation(role, "action", "UPDATE", "why", "more", "targets", []string{"m1", "m2"})},
			"an update of another kind": {operation(role, "action", "UPDATE", "why", "more", "targets", []string{"m4"})},
			"an unknown target":         {operation(role, "action", "UPDATE", "why", "more", "targets", []string{"m30"})},
			"an addition with a target": {operation(role, "targets", []string{"m1"})},
			"one memory twice": {
				operation(role, "action", "UPDATE", "why", "more", "targets", []string{"m1"}),
				operation(role, "action", "UPDATE", "why", "more", "targets", []string{"m1"}),
			},
			"a topic without end": {operation(role, "topic", filled(200))},
		}
	}
	more := map[model.Role]invalid{
		model.RoleEpisodic: {
			"no date":                {operation(model.RoleEpisodic, "date", "")},
			"a relative date":        {operation(model.RoleEpisodic, "date", "last week")},
			"a date that is none":    {operation(model.RoleEpisodic, "date", "2024-13-01")},
			"no summary":             {operation(model.RoleEpisodic, "summary", " ")},
			"a range of an addition": {operation(model.RoleEpisodic, "until", "2024-06-01")},
			"a merge of one": {operation(model.RoleEpisodic, "action", "MERGE", "targets", []string{"m1"}, "until",
				"2024-06-01")},
			"a merge of one, twice": {operation(model.RoleEpisodic, "action", "MERGE", "targets", []string{"m1", "m1"},
				"until", "2024-06-01")},
			"a merge without a range": {operation(model.RoleEpisodic, "action", "MERGE", "targets", []string{"m1", "m2"})},
			"a range that ends before": {operation(model.RoleEpisodic, "action", "MERGE", "targets", []string{"m1", "m2"},
				"until", "2024-01-01")},
			"a range of two forms": {operation(model.RoleEpisodic, "action", "MERGE", "targets", []string{"m1", "m2"},
				"until", "2024-06")},
		},
		model.RoleSemantic: {
			"a merge":               {operation(model.RoleSemantic, "action", "MERGE", "targets", []string{"m1", "m2"})},
			"no content":            {operation(model.RoleSemantic, "content", "")},
			"a skip of what is new": {operation(model.RoleSemantic, "action", "SKIP", "content", "")},
			"an addition of known":  {operation(model.RoleSemantic, "why", "known")},
			"a skip with content":   {operation(model.RoleSemantic, "action", "SKIP", "why", "common")},
			"a skip of two memories": {operation(model.RoleSemantic, "action", "SKIP", "why", "known", "content", "", "targets",
				[]string{"m1", "m2"})},
		},
		model.RoleProcedural: {
			"no steps":       {operation(model.RoleProcedural, "steps", []string{})},
			"an empty step":  {operation(model.RoleProcedural, "steps", []string{"Grind.", " "})},
			"no description": {operation(model.RoleProcedural, "description", "")},
			"a skip":         {operation(model.RoleProcedural, "action", "SKIP")},
		},
	}
	for _, role := range entry {
		for _, list := range []invalid{both(role), more[role]} {
			for name, ops := range list {
				t.Run(string(role)+"/"+name, func(t *testing.T) { repairedOnce(t, role, operations(ops...)) })
			}
		}
		t.Run(string(role)+"/nothing, yet operations", func(t *testing.T) {
			repairedOnce(t, role, object{"nothing": true, "operations": []object{operation(role)}})
		})
	}
}

func repairedOnce(t *testing.T, role model.Role, bad object) {
	s := llmtest.New(t)
	v, _, err := decide(t, s, known(role), role, bad, bad)
	if !errors.Is(err, model.ErrMalformed) || v.Operations != nil || s.Count(role) != 2 {
		t.Errorf("got %+v, %v after %d calls", v, err, s.Count(role))
	}
	s = llmtest.New(t)
	if _, _, err := decide(t, s, known(role), role, bad, operations(operation(role))); err != nil || s.Count(role) != 2 {
		t.Errorf("repaired: %v after %d calls", err, s.Count(role))
	}
}

func TestOneWrongActionFailsAlone(t *testing.T) {
	for _, role := range entry {
		s := llmtest.New(t)
		wrong := operation(role, "sources", []string{"t2"}, "topic", strings.Repeat("x", 200))
		bad := text(t, operations(operation(role), wrong))
		quiet(t, s, role)
		s.Script(role, bad, bad)
		v, err := newFormer(t, s).Decide(t.Context(), known(role))
		if err != nil || len(v.Failed) != 1 || !slices.Equal(v.Failed[0].Sources, []string{"turn-b"}) || s.Count(role) != 2 {
			t.Errorf("%s: failed %+v, %v after %d calls", role, v.Failed, err, s.Count(role))
		}
		if !slices.ContainsFunc(v.Operations, func(o memory.Operation) bool {
			return slices.Equal(o.Sources, []string{"turn-a"})
		}) {
			t.Errorf("%s: operations %+v, want the right one among them", role, v.Operations)
		}
	}
}

// The record of a call names the entries by the ids that a recall returns.
func TestRecordsNameTheEntriesThatWereWritten(t *testing.T) {
	s := llmtest.New(t)
	var mu sync.Mutex
	recorded := map[model.Role]memory.Touch{}
	client, err := model.NewClient(s.Config(), model.Deps{Record: func(_ context.Context, r model.Record) {
		mu.Lock()
		defer mu.Unlock()
		recorded[r.Role] = r.Touch
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	former, err := membuilder.NewLLM(client, llm.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	s.Script(model.RoleCore, text(t, none()))
	for _, role := range entry {
		other := operation(role, "summary", "Ana won it.", "content", "Eva lives in Porto.", "description",
			"How Ana serves coffee")
		s.Script(role, text(t, operations(operation(role), other)))
	}
	b := bundle([]string{"I ran a race with Eva, and brewed coffee."})
	v, err := former.Decide(t.Context(), b)
	if err != nil || len(v.Operations) != 2*len(entry) {
		t.Fatalf("operations %+v, %v", v.Operations, err)
	}
	apply(t, b, v) // refuses an id that comes twice
	for i, role := range entry {
		if want := memory.Touched(scope, v.Operations[2*i:2*i+2]); !reflect.DeepEqual(recorded[role], want) {
			t.Errorf("%s: recorded %+v, want %+v", role, recorded[role], want)
		}
	}
}

// A memory that a refused action names stays available for a later correct action.
func TestAnActionThatIsWrongClosesNothing(t *testing.T) {
	s := llmtest.New(t)
	wrong := operation(model.RoleSemantic, "action", "UPDATE", "why", "more", "targets", []string{"m1"}, "content", " ")
	right := operation(model.RoleSemantic, "action", "UPDATE", "why", "changed", "targets", []string{"m1"}, "sources",
		[]string{"t2"})
	answer := text(t, operations(wrong, with(right, "content", "Eva is Ana's aunt.")))
	quiet(t, s, model.RoleSemantic)
	s.Script(model.RoleSemantic, answer, answer)
	b := known(model.RoleSemantic)
	v, err := newFormer(t, s).Decide(t.Context(), b)
	if err != nil || len(v.Failed) != 1 || !slices.Equal(v.Failed[0].Sources, []string{"turn-a"}) {
		t.Fatalf("failed %+v, %v, want the first alone", v.Failed, err)
	}
	w := apply(t, b, v)
	if len(w.Put) != 1 || w.Put[0].Content != "Eva is Ana's aunt." || len(w.Close) != 1 || w.Close[0].ID != "s-1" {
		t.Errorf("write %+v, want the second action's", w)
	}
}
