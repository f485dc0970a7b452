package deltamem_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// finished runs a session of three turns to its end and applies the result. A search has found the memories before.
func finished(t *testing.T, memories []memory.Memory, answers ...object) ([]memory.Operation, memory.Write, error) {
	t.Helper()
	s := llmtest.New(t)
	f := newFormer(t, s)
	b := searched(t, s, f, bundle(t, f, "I moved to Porto.", "I rent.", "Nice weather."), memories...)
	script(t, s, answers...)
	v, err := formationtest.DecideWhole(t.Context(), f, b)
	if err != nil {
		return v.Operations, memory.Write{}, err
	}
	w, err := memory.Plan(scope, v.Operations, memories, day)
	if err != nil {
		t.Fatalf("the operations cannot be applied: %v", err)
	}
	return v.Operations, w, nil
}

func TestTheThreeOperations(t *testing.T) {
	add := op("ADD", "", "Ana got a cat on 3 May.", "t2", "t1", "t2")
	add["event_date"], add["event_precision"], add["keywords"] = "2024-05-03", "day", []string{"pet"}
	known := []memory.Memory{stored("m-1", "Ana lives in Rome."), stored("m-2", "Ana rents.")}
	out, w, err := finished(t, known, finish(add, op("UPDATE", "m1", "Ana lives in Porto, before that in Rome.", "t1"),
		op("NONE", "m2", "", "t2")))
	if err != nil || !slices.Equal(kinds(out), []memory.OpKind{memory.OpAdd, memory.OpUpdate, memory.OpNone,
		memory.OpNone}) {
		t.Fatalf("got %+v, %v", out, err)
	}
	m := out[0].New
	if m.ID != memory.DeriveID(scope, []string{"turn-a", "turn-b"}, 0) ||
		!slices.Equal(m.Sources, []string{"turn-a", "turn-b"}) ||
		!m.ValidFrom.Equal(day.Add(time.Minute)) || m.Strategy != "deltamem" || m.SessionID != "s1" ||
		m.EventTime.Precision != memory.PrecisionDay {
		t.Errorf("added %+v", m)
	}
	if m := out[1].New; m.Slot != "ana/home" || m.Topic != "home" || m.EventTime.Time.IsZero() ||
		!slices.Contains(m.Keywords, "city") || !m.ValidFrom.Equal(day) {
		t.Errorf("an update loses what its target told: %+v", m)
	}
	if o := out[2]; !slices.Equal(o.Targets, []string{"m-2"}) || o.Reason != "already known" {
		t.Errorf("none is %+v", o)
	}
	if o := out[3]; !slices.Equal(o.Sources, []string{"turn-c"}) || o.Reason != "nothing worth keeping" {
		t.Errorf("the turn of no operation is %+v", o)
	}
	if len(w.Put) != 2 || len(w.Close) != 1 || w.Close[0].Status != memory.StatusSuperseded {
		t.Errorf("write is %+v", w)
	}
}

func TestSentencesOfOneTurnAreEntriesOfTheirOwn(t *testing.T) {
	out, w, err := finished(t, nil, finish(op("ADD", "", "Ana left Rome.", "t1"),
		op("ADD", "", "Ana lives in Porto.", "t1")))
	if err != nil || len(w.Put) != 2 || out[0].New.ID == out[1].New.ID {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestNothingIsSaidTwice(t *testing.T) {
	known := []memory.Memory{stored("m-1", "Ana lives in Rome."), stored("m-2", "Ana lives in Porto.")}
	for name, c := range map[string]struct {
		ops  []object
		want []memory.OpKind
	}{
		"what was found": {[]object{op("ADD", "", "ana lives in  Rome", "t1")},
			[]memory.OpKind{memory.OpNone, memory.OpNone}},
		"what was just added": {[]object{op("ADD", "", "Ana rents.", "t1"), op("ADD", "", "Ana rents.", "t2")},
			[]memory.OpKind{memory.OpAdd, memory.OpNone, memory.OpNone}},
		"an update to the same": {[]object{op("UPDATE", "m1", "Ana lives in Rome.", "t1")},
			[]memory.OpKind{memory.OpNone, memory.OpNone}},
		"an update to another": {[]object{op("UPDATE", "m1", "Ana lives in Porto.", "t1")},
			[]memory.OpKind{memory.OpMerge, memory.OpNone}},
		"an update to a fresh one": {[]object{op("ADD", "", "Ana rents.", "t1"), op("UPDATE", "m1", "Ana rents.", "t2")},
			[]memory.OpKind{memory.OpAdd, memory.OpMerge, memory.OpNone}},
		"what was just replaced": {
			[]object{op("UPDATE", "m1", "Ana left Rome.", "t1"), op("ADD", "", "Ana lives in Rome.", "t2")},
			[]memory.OpKind{memory.OpUpdate, memory.OpAdd, memory.OpNone},
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, w, err := finished(t, known, finish(c.ops...))
			if err != nil || !slices.Equal(kinds(out), c.want) {
				t.Fatalf("got %+v, %v", out, err)
			}
			held := map[string]int{}
			for _, m := range w.Put {
				if m.Status == memory.StatusActive {
					held[m.Content]++
				}
			}
			for content, n := range held {
				if n > 1 {
					t.Errorf("%q is written %d times", content, n)
				}
			}
		})
	}
}

func TestOperationsThatAreRefused(t *testing.T) {
	known := []memory.Memory{stored("m-1", "Ana lives in Rome."), stored("m-2", "Ana lives in Porto.")}
	twice := finish(op("UPDATE", "m1", "Ana left.", "t1"), op("UPDATE", "m1", "Ana came.", "t2"))
	merged := finish(op("UPDATE", "m1", "Ana lives in Porto.", "t1"), op("UPDATE", "m2", "Ana left.", "t2"))
	queries := finish(op("ADD", "", "Ana rents.", "t1"))
	queries["queries"] = []string{"more"}
	unsaid := finish()
	unsaid["nothing"] = false
	both := finish(op("ADD", "", "Ana rents.", "t1"))
	both["nothing"] = true
	for name, bad := range map[string]object{
		"a memory never seen":         finish(op("UPDATE", "m3", "Ana left.", "t1")),
		"an id instead of an alias":   finish(op("UPDATE", "m-1", "Ana left.", "t1")),
		"none of a memory never seen": finish(op("NONE", "m9", "", "t1")),
		"update without target":       finish(op("UPDATE", "", "Ana left.", "t1")),
		"add with target":             finish(op("ADD", "m1", "Ana left.", "t1")), "updated twice": twice,
		"updated after a merger":  merged,
		"no sources":              finish(op("ADD", "", "Ana rents.")),
		"an unknown turn":         finish(op("ADD", "", "Ana rents.", "t4")),
		"none of an unknown turn": finish(op("NONE", "m1", "", "turn-a")), "no content": finish(op("ADD", "", " ", "t1")),
		"delete": finish(op("DELETE", "m1", "", "t1")), "with queries": queries, "nothing, but not in so many words": unsaid,
		"nothing and something": both,
	} {
		t.Run(name, func(t *testing.T) {
			if out, _, err := finished(t, known, bad, bad); !errors.Is(err, model.ErrMalformed) || out != nil {
				t.Errorf("got %+v, %v", out, err)
			}
		})
	}
}

func TestNothingSaidInSoManyWords(t *testing.T) {
	out, w, err := finished(t, nil, finish())
	if err != nil || !slices.Equal(kinds(out), []memory.OpKind{memory.OpNone}) || len(out[0].Sources) != 3 ||
		len(w.Put) != 0 {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestOneWrongOperationFailsAlone(t *testing.T) {
	s := llmtest.New(t)
	f := newFormer(t, s)
	bad := finish(op("ADD", "m9", "Ana left.", "t1"), op("ADD", "", "Ana rents.", "t2"))
	script(t, s, bad, bad)
	v, err := f.Decide(t.Context(), bundle(t, f, "I left.", "I rent.", "Ok."))
	if err != nil || len(v.Failed) != 1 || !slices.Equal(v.Failed[0].Sources, []string{"turn-a"}) ||
		s.Count(model.RoleAgent) != 2 {
		t.Fatalf("failed %+v, %v after %d calls", v.Failed, err, s.Count(model.RoleAgent))
	}
	if len(v.Operations) != 2 || v.Operations[0].New == nil || v.Operations[0].New.Content != "Ana rents." ||
		!slices.Equal(v.Operations[1].Sources, []string{"turn-c"}) {
		t.Errorf("operations %+v", v.Operations)
	}
}
