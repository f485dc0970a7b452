package salimory_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// decideOn runs the manager on an answer and applies the result, which must always be applicable.
func decideOn(t *testing.T, b formation.Bundle, answer object) ([]memory.Operation, memory.Write) {
	t.Helper()
	s := llmtest.New(t)
	s.Script(model.RoleManager, text(t, answer))
	out, err := operations(t.Context(), newFormer(t, s), b)
	if err != nil {
		t.Fatal(err)
	}
	if n := s.Count(model.RoleManager); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
	var existing []memory.Memory
	for _, r := range b.Related {
		existing = append(existing, r.Memories...)
	}
	w, err := memory.Plan(scope, out, existing, day)
	if err != nil {
		t.Fatalf("the operations cannot be applied: %v", err)
	}
	return out, w
}

func TestDecideAddsCompleteEntries(t *testing.T) {
	b := bundle([]string{"Ana lives in Porto."})
	c := &b.Related[0].Candidate
	c.Topic, c.Slot, c.Keywords, c.Sources = "home", "ana/home", []string{"city"}, []string{"turn-a"}
	out, w := decideOn(t, b, ops(op("c1", "ADD", "ignored, the candidate's own words count")))
	want := memory.Memory{
		ID: memory.DeriveID(scope, []string{"turn-a"}, 0), Kind: memory.KindFact, Content: "Ana lives in Porto.",
		Topic: "home", Slot: "ana/home",
		Keywords: []string{"city"}, ValidFrom: day, Status: memory.StatusActive, Sources: []string{"turn-a"}, SessionID: "s1",
		Strategy: "salimory", PolicyVersion: "salimory/llm/salimory-extractor.v6+salimory-manager.v5/scripted",
	}
	if len(out) != 1 || !reflect.DeepEqual(*out[0].New, want) {
		t.Errorf("got %+v\nwant %+v", out[0].New, want)
	}
	if len(w.Put) != 1 || len(w.Close) != 0 {
		t.Errorf("write is %+v", w)
	}
}

func TestDecideUpdatesAndMergesWithoutLosing(t *testing.T) {
	b := bundle([]string{"x", "y"}, stored("m-1", "Ana lives in Lisbon."), stored("m-2", "Ana rents."))
	out, w := decideOn(t, b, ops(
		op("c1", "UPDATE", "Ana lives in Porto, before that in Lisbon.", "m1"),
		op("c2", "MERGE", "Ana rents in Porto, before that in Lisbon.", "c1", "m2"),
	))
	first, second := out[0].New, out[1].New
	if first.Slot != "ana/home" || first.EventTime.Precision != memory.PrecisionYear ||
		!slices.Equal(first.Keywords, []string{"city"}) {
		t.Errorf("the update lost what the old version told: %+v", first)
	}
	if !slices.Equal(out[1].Targets, []string{first.ID, "m-2"}) ||
		second.Content != "Ana rents in Porto, before that in Lisbon." {
		t.Errorf("merge is %+v", out[1])
	}
	if len(w.Put) != 2 || w.Put[0].Status != memory.StatusSuperseded || w.Put[1].Version != 3 || len(w.Close) != 2 {
		t.Errorf("write is %+v", w)
	}
}

func TestDecideEndsWhatRestedOnWhatIsOver(t *testing.T) {
	b := bundle([]string{"Ana sold her goats.", "Ana left the bakery in May because of her back."},
		stored("m-1", "Ana has goats."), stored("m-2", "Ana delivers milk."), stored("m-3", "Ana works at a bakery."))
	out, w := decideOn(t, b, ops(ending(op("c1", "UPDATE", "Ana sold her goats.", "m1"), "m2"),
		ending(op("c2", "ADD", ""), "m3")))
	var kinds []memory.OpKind
	for _, o := range out {
		kinds = append(kinds, o.Kind)
		if len(o.Sources) != 1 || o.Reason == "" {
			t.Errorf("operation is %+v, want sources and a reason", o)
		}
	}
	if !slices.Equal(kinds, []memory.OpKind{memory.OpDelete, memory.OpUpdate, memory.OpDelete, memory.OpAdd}) {
		t.Fatalf("operations are %v", kinds)
	}
	closed := map[string]memory.Status{}
	for _, c := range w.Close {
		closed[c.ID] = c.Status
	}
	want := map[string]memory.Status{"m-1": memory.StatusSuperseded, "m-2": memory.StatusRetracted,
		"m-3": memory.StatusRetracted}
	if !reflect.DeepEqual(closed, want) || len(w.Put) != 2 ||
		w.Put[1].Content != "Ana left the bakery in May because of her back." {
		t.Errorf("write is %+v", w)
	}
}

func TestANewVersionHasTheKindSlotAndDateThatWereDecidedOn(t *testing.T) {
	with := func(fields ...string) object {
		o := op("c1", "UPDATE", "new", "m1")
		for i := 0; i < len(fields); i += 2 {
			o[fields[i]] = fields[i+1]
		}
		return o
	}
	wedding := memory.EventTime{Time: time.Date(2026, 6, 27, 0, 0, 0, 0, time.UTC), Precision: memory.PrecisionDay}
	for name, c := range map[string]struct {
		said object
		kind memory.Kind
		slot string
		at   memory.EventTime
	}{
		"nothing": {with(), memory.KindPreference, "ana/home", stored("m-1", "").EventTime},
		"same":    {with("kind", "same"), memory.KindPreference, "ana/home", stored("m-1", "").EventTime},
		"all": {
			with("kind", "episodic", "slot", " Ana/Wedding", "event_date", "2026-06-27", "event_precision", "day"),
			memory.KindEpisodic, "ana/wedding", wedding,
		},
		"cleared": {with("slot", "none", "event_date", "none", "event_precision", "none"), memory.KindPreference, "",
			memory.EventTime{}},
		"precision": {with("event_precision", "day"), memory.KindPreference, "ana/home", stored("m-1", "").EventTime},
	} {
		old := stored("m-1", "old")
		old.Kind = memory.KindPreference // a version stays in the store of the one before, whatever the candidate is
		out, _ := decideOn(t, bundle([]string{"new"}, old), ops(c.said))
		if got := out[0].New; got.Kind != c.kind || got.Slot != c.slot || got.EventTime != c.at {
			t.Errorf("%s: got %s %q %+v", name, got.Kind, got.Slot, got.EventTime)
		}
	}
}

func TestDecideDeletesAndLeavesAlone(t *testing.T) {
	b := bundle([]string{"Ana gave up tennis.", "Ana rents."}, stored("m-1", "Ana plays tennis."),
		stored("m-2", "Ana rents."))
	out, w := decideOn(t, b, ops(op("c2", "NONE", "", "m2", "m1"), op("c1", "DELETE", "", "m1")))
	if out[0].Kind != memory.OpNone || !slices.Equal(out[0].Targets, []string{"m-2"}) || out[0].New != nil {
		t.Errorf("none is %+v", out[0])
	}
	if out[1].New != nil || len(w.Close) != 1 || w.Close[0].ID != "m-1" || w.Close[0].Status != memory.StatusRetracted {
		t.Errorf("delete is %+v, write %+v", out[1], w)
	}
	for _, o := range out {
		if len(o.Sources) != 1 || o.Reason == "" {
			t.Errorf("operation is %+v, want sources and a reason", o)
		}
	}
}

func TestDecideDerivesDistinctRepeatableIDs(t *testing.T) {
	b := bundle([]string{"one", "two", "three"})
	for i := range b.Related {
		b.Related[i].Candidate.Sources, b.Related[i].Candidate.Ordinal = []string{"turn-c", "turn-a"}, i
	}
	answer := ops(op("c1", "ADD", ""), op("c2", "ADD", ""), op("c3", "ADD", ""))
	once, w := decideOn(t, b, answer)
	again, _ := decideOn(t, b, answer)
	for i := range once {
		if want := memory.DeriveID(scope, []string{"turn-a", "turn-c"}, i); once[i].New.ID != want ||
			again[i].New.ID != want {
			t.Errorf("operation %d writes %s and %s, want %s", i, once[i].New.ID, again[i].New.ID, want)
		}
		if !once[i].New.ValidFrom.Equal(day.Add(2 * time.Minute)) {
			t.Errorf("valid from %s, want the newest source's time", once[i].New.ValidFrom)
		}
	}
	if len(w.Put) != 3 {
		t.Errorf("%d entries written, want 3", len(w.Put))
	}
}

func TestDecideRejectsWhatWasNotShown(t *testing.T) {
	for name, answer := range map[string]object{
		"candidate forgotten":       ops(op("c1", "ADD", "")),
		"candidate twice":           ops(op("c1", "ADD", ""), op("c1", "NONE", ""), op("c2", "ADD", "")),
		"unknown operation":         ops(op("c1", "ERASE", ""), op("c2", "ADD", "")),
		"unknown target":            ops(op("c1", "UPDATE", "x", "m7"), op("c2", "ADD", "")),
		"target by its real id":     ops(op("c1", "DELETE", "", "m-1"), op("c2", "ADD", "")),
		"target of a later op":      ops(op("c1", "UPDATE", "x", "c2"), op("c2", "ADD", "")),
		"target is itself":          ops(op("c1", "UPDATE", "x", "c1"), op("c2", "ADD", "")),
		"target wrote nothing":      ops(op("c1", "NONE", ""), op("c2", "UPDATE", "x", "c1")),
		"target replaced before":    ops(op("c1", "UPDATE", "x", "m1"), op("c2", "UPDATE", "y", "m1")),
		"target deleted before":     ops(op("c1", "DELETE", "", "m1"), op("c2", "MERGE", "y", "m1")),
		"target twice":              ops(op("c1", "MERGE", "x", "m1", "m1"), op("c2", "ADD", "")),
		"add with a target":         ops(op("c1", "ADD", "", "m1"), op("c2", "ADD", "")),
		"update without a target":   ops(op("c1", "UPDATE", "x"), op("c2", "ADD", "")),
		"update with two targets":   ops(op("c1", "UPDATE", "x", "m1", "m2"), op("c2", "ADD", "")),
		"delete without a target":   ops(op("c1", "DELETE", ""), op("c2", "ADD", "")),
		"update without content":    ops(op("c1", "UPDATE", " ", "m1"), op("c2", "ADD", "")),
		"merge without content":     ops(op("c1", "MERGE", "", "m1", "m2"), op("c2", "ADD", "")),
		"unknown target of a none":  ops(op("c1", "NONE", "", "m9"), op("c2", "ADD", "")),
		"ends what is unknown":      ops(ending(op("c1", "ADD", ""), "m9"), op("c2", "ADD", "")),
		"ends a candidate":          ops(op("c1", "ADD", ""), ending(op("c2", "ADD", ""), "c1")),
		"ends its target":           ops(ending(op("c1", "UPDATE", "x", "m1"), "m1"), op("c2", "ADD", "")),
		"ends twice":                ops(ending(op("c1", "ADD", ""), "m1", "m1"), op("c2", "ADD", "")),
		"ends what was replaced":    ops(op("c1", "UPDATE", "x", "m1"), ending(op("c2", "ADD", ""), "m1")),
		"target ended before":       ops(ending(op("c1", "ADD", ""), "m1"), op("c2", "UPDATE", "x", "m1")),
		"a date that is none":       ops(dated(op("c1", "UPDATE", "x", "m1"), "soon", "day"), op("c2", "ADD", "")),
		"a date without precision":  ops(dated(op("c1", "UPDATE", "x", "m1"), "2026-01-02", "none"), op("c2", "ADD", "")),
		"superseded memory's alias": ops(op("c1", "DELETE", "", "m3"), op("c2", "ADD", "")),
	} {
		t.Run(name, func(t *testing.T) {
			old := stored("m-3", "Ana lived in Faro.")
			old.Status = memory.StatusSuperseded
			b := bundle([]string{"x", "y"}, stored("m-1", "a"), stored("m-2", "b"), old)
			s := llmtest.New(t)
			s.Script(model.RoleManager, text(t, answer), text(t, answer))
			out, err := operations(t.Context(), newFormer(t, s), b)
			if !errors.Is(err, model.ErrMalformed) || out != nil {
				t.Errorf("got %+v and %v, want ErrMalformed", out, err)
			}
			if n := s.Count(model.RoleManager); n != 2 {
				t.Errorf("%d calls, want one and a repair", n)
			}
		})
	}
}

func TestOneWrongOperationFailsAlone(t *testing.T) {
	right, wrong := op("c2", "ADD", ""), op("c1", "UPDATE", "x", "m7")
	worse := object{"operations": "none at all"}
	for name, tc := range map[string]struct {
		first, second object
		failed        int
	}{
		"wrong twice":                         {ops(wrong, right), ops(wrong, right), 1},
		"the repair says nothing":             {ops(wrong, right), worse, 1},
		"left out":                            {ops(right), ops(right), 1},
		"twice, the first of which counts":    {ops(right, op("c1", "ADD", ""), op("c1", "NONE", "")), worse, 1},
		"of a candidate that there is not":    {ops(right, op("c1", "NONE", ""), op("c9", "ADD", "")), worse, 0},
		"wrong first, right when it is shown": {ops(wrong, right), ops(op("c1", "NONE", ""), right), 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t)
			s.Script(model.RoleManager, text(t, tc.first), text(t, tc.second))
			v, err := newFormer(t, s).Decide(t.Context(), bundle([]string{"x", "y"}, stored("m-1", "a")))
			if err != nil || len(v.Failed) != tc.failed {
				t.Fatalf("failed %+v, error %v", v.Failed, err)
			}
			if tc.failed == 1 && (!slices.Equal(v.Failed[0].Sources, []string{"turn-a"}) || v.Failed[0].Reason == "") {
				t.Errorf("failed %+v, want turn-a with a reason", v.Failed)
			}
			if !slices.ContainsFunc(v.Operations, func(o memory.Operation) bool {
				return o.Kind == memory.OpAdd && o.Sources[0] == "turn-b"
			}) {
				t.Errorf("operations %+v, want the right one among them", v.Operations)
			}
		})
	}
}

func TestOneWrongStatementFailsAlone(t *testing.T) {
	s := llmtest.New(t)
	good, bad := said(), said("sources", []string{"t2"}, "event_date", "soon")
	answer := text(t, extraction(good, bad))
	s.Script(model.RoleExtractor, answer, answer)
	got, err := newFormer(t, s).Extract(t.Context(), session("I have two sons", "I moved soon"))
	if err != nil || len(got) != 2 || got[0].Fault != "" || got[1].Fault == "" || got[1].Content != "" ||
		len(got[1].Sources) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	s.Script(model.RoleExtractor, text(t, extraction(bad)), answer)
	if got, err := newFormer(t, s).Extract(t.Context(), session("I have two sons", "I moved soon")); err != nil ||
		len(got) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestDecideShowsEachMemoryOnceByAlias(t *testing.T) {
	s := llmtest.New(t)
	b := bundle([]string{"x", "y"}, stored("secret-id-1", "a"), stored("secret-id-2", "b"))
	if _, err := operations(t.Context(), newFormer(t, s), b); err != nil {
		t.Fatal(err)
	}
	data := string(s.Calls(model.RoleManager)[0].Data())
	if strings.Contains(data, "secret-id") || strings.Contains(data, "turn-") {
		t.Errorf("ids of ours are shown: %s", data)
	}
	if strings.Count(data, `"content":"a"`) != 1 || strings.Count(data, `"related":["m1","m2"]`) != 2 {
		t.Errorf("data is %s", data)
	}
}

func TestDecideRefusesCandidatesOfOtherSessions(t *testing.T) {
	s := llmtest.New(t)
	for name, sources := range map[string][]string{"foreign": {"turn-z"}, "none": nil} {
		b := bundle([]string{"x"})
		b.Related[0].Candidate.Sources = sources
		if _, err := operations(t.Context(), newFormer(t, s), b); !fault.IsTerminal(err) {
			t.Errorf("%s: error is %v, want a terminal one", name, err)
		}
	}
	if s.Total() != 0 {
		t.Error("the model was asked")
	}
}
