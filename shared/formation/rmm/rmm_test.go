package rmm_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/rmm"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

var roles = map[model.Role]formationtest.Called{
	model.RoleTopics: func(ctx context.Context, t *testing.T, s *llmtest.Server) (int, error) {
		out, err := newFormer(t, s).Extract(ctx, formationtest.Session("I moved to Porto last week", "I love green tea"))
		return len(out), err
	},
	model.RoleTopicManager: func(ctx context.Context, t *testing.T, s *llmtest.Server) (int, error) {
		v, err := formationtest.DecideWhole(ctx, newFormer(t, s), bundle([]string{"Ana lives in Porto", "Ana loves tea"},
			stored("m-1", "ana", "Ana lives in Lisbon")))
		return len(v.Operations), err
	},
}

func TestEveryMisbehaviourOfEveryRole(t *testing.T) { formationtest.Misbehave(t, roles) }

func TestRolesWorkWithoutStructuredOutput(t *testing.T) {
	formationtest.WithoutStructuredOutput(t, roles)
}

func TestEmbeddedConforms(t *testing.T) {
	formationtest.Run(t, rmm.Name, func(*testing.T) formation.Former { return rmm.NewEmbedded() })
}

func TestLLMConforms(t *testing.T) {
	formationtest.Run(t, rmm.Name, func(t *testing.T) formation.Former { return newFormer(t, llmtest.New(t)) })
}

func TestNothingToDoAsksNothing(t *testing.T) {
	s := llmtest.New(t)
	former := newFormer(t, s)
	if out, err := former.Extract(t.Context(), formation.Session{Scope: scope, ID: "s1"}); err != nil || len(out) != 0 {
		t.Errorf("extract: %v, %v", out, err)
	}
	if v, err := former.Decide(t.Context(), formation.Bundle{}); err != nil || len(v.Operations) != 0 {
		t.Errorf("decide: %v, %v", v, err)
	}
	if n := s.Total(); n != 0 {
		t.Errorf("%d calls, want none", n)
	}
}

// A session costs two calls, however many speakers and topics it has.
func TestASessionCostsTwoCalls(t *testing.T) {
	s := llmtest.New(t)
	l := formationtest.NewLife(newFormer(t, s))
	for i, in := range formationtest.Sessions() {
		in.Turns[0].Speaker = "Bea"
		before := s.Total()
		if _, _, err := l.Form(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if n := s.Total() - before; n != 2 {
			t.Errorf("session %d took %d calls, want 2", i, n)
		}
	}
}

func TestInjectedTextStaysInTheDataBlock(t *testing.T) {
	s := llmtest.New(t)
	former := newFormer(t, s)
	for _, hostile := range formationtest.Injections() {
		hostile = strings.ReplaceAll(hostile, "\x00", "") // the fake model repeats it, so that the answer would be refused
		in := formationtest.Session("I moved to Porto", hostile)
		in.Turns[1].Speaker, in.Turns[1].Caption = hostile, hostile
		if _, err := former.Extract(t.Context(), in); err != nil {
			t.Errorf("extract from %q: %v", hostile, err)
		}
		m := stored("m-1", "ana", hostile)
		m.Value = hostile
		if _, err := former.Decide(t.Context(), bundle([]string{hostile, "Ana loves tea"}, m)); err != nil {
			t.Errorf("decide on %q: %v", hostile, err)
		}
	}
	for role := range roles {
		for _, c := range s.Calls(role) {
			formationtest.CheckBlock(t, c)
		}
	}
}

func TestATopicNeedsAnOwnTurnOfItsSpeaker(t *testing.T) {
	in := talk("s1", 0, line{"Ana", "Which instrument do you play?"}, line{"Bea", "The cello, since school."},
		line{"Ana", "I sing in a choir."})
	topicOf := func(speaker string, turns ...string) object {
		return object{"nothing": false, "topics": []any{object{"speaker": speaker, "turns": turns,
			"summary": speaker + " plays the cello.", "label": "music",
			"kind": "fact", "event_date": "", "event_precision": "none", "event_words": ""}}}
	}
	for name, tc := range map[string]struct {
		answer object
		want   error
	}{
		"the answer with its question":      {topicOf("Bea", "t1", "t2"), nil},
		"the name in another case":          {topicOf("bea", "t2"), nil},
		"only turns of another speaker":     {topicOf("Ana", "t2"), model.ErrMalformed},
		"a speaker nobody has heard of":     {topicOf("Cleo", "t2"), model.ErrMalformed},
		"a turn that is not in the session": {topicOf("Bea", "t9"), model.ErrMalformed},
	} {
		s := llmtest.New(t)
		s.Script(model.RoleTopics, text(t, tc.answer), text(t, tc.answer))
		got, err := newFormer(t, s).Extract(t.Context(), in)
		if !errors.Is(err, tc.want) || tc.want == nil && (err != nil || len(got) != 1 || got[0].Keywords[0] != "bea") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestTheManagerAddsAndMerges(t *testing.T) {
	ana, bea := stored("m-1", "ana", "Ana runs."), stored("m-2", "bea", "Bea runs.")
	contents := []string{"Ana runs in the park.", "Ana swims."}
	for name, tc := range map[string]struct {
		answer object
		want   []memory.OpKind
	}{
		"added and merged": {ops(op("c1", "Merge", "m1", "Ana runs, in the park."), op("c2", "Add", "", "")),
			[]memory.OpKind{memory.OpMerge, memory.OpAdd}},
		"both into one": {ops(op("c1", "Merge", "m1", "Ana runs and more."), op("c2", "Merge", "c1", "Ana runs and swims.")),
			[]memory.OpKind{memory.OpMerge, memory.OpMerge}},
		"said again": {ops(op("c1", "Merge", "m1", "Ana runs."), op("c2", "Add", "", "")),
			[]memory.OpKind{memory.OpNone, memory.OpAdd}},
		"another speaker's is not shown": {ops(op("c1", "Merge", "m2", "Ana and Bea run."), op("c2", "Add", "", "")), nil},
		"merged with what is gone":       {ops(op("c1", "Merge", "m1", "x"), op("c2", "Merge", "m1", "y")), nil},
		"merged with a later candidate":  {ops(op("c1", "Merge", "c2", "x"), op("c2", "Add", "", "")), nil},
		"merged with itself":             {ops(op("c1", "Merge", "c1", "x"), op("c2", "Add", "", "")), nil},
		"an Add with a target":           {ops(op("c1", "Add", "m1", ""), op("c2", "Add", "", "")), nil},
		"a merge without a summary":      {ops(op("c1", "Merge", "m1", " "), op("c2", "Add", "", "")), nil},
		"a merge without a target":       {ops(op("c1", "Merge", "", "x"), op("c2", "Add", "", "")), nil},
		"a candidate that is left out":   {ops(op("c1", "Add", "", "")), nil},
		"a candidate that nobody asked of": {ops(op("c1", "Add", "", ""), op("c2", "Add", "", ""), op("c3", "Add", "", "")),
			[]memory.OpKind{memory.OpAdd, memory.OpAdd}},
	} {
		s := llmtest.New(t)
		s.Script(model.RoleTopicManager, text(t, tc.answer), text(t, tc.answer))
		v, err := formationtest.DecideWhole(t.Context(), newFormer(t, s), bundle(contents, bea, ana))
		var got []memory.OpKind
		for _, o := range v.Operations {
			got = append(got, o.Kind)
		}
		if !slices.Equal(got, tc.want) || (err == nil) != (tc.want != nil) ||
			err != nil && !errors.Is(err, model.ErrMalformed) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if err == nil {
			if _, err := memory.Plan(scope, v.Operations, []memory.Memory{ana, bea}, day); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// The model sees the speaker's earlier statements, from entries of all strategies.
func TestTheManagerMergesWithWhatOtherStrategiesKeep(t *testing.T) {
	old := formationtest.Stored("m-1", "I run every day.")
	old.Speaker, old.Strategy, old.Keywords = "Ana", "deltamem", nil
	s := llmtest.New(t)
	s.Script(model.RoleTopicManager, text(t, ops(op("c1", "Merge", "m1", "Ana runs every day, in the park."))))
	v, err := newFormer(t, s).Decide(t.Context(), bundle([]string{"Ana runs in the park."}, old))
	if err != nil || len(v.Operations) != 1 || v.Operations[0].Kind != memory.OpMerge ||
		!strings.HasPrefix(v.Operations[0].New.Value, "Ana (2024-04-06): I run every day.\n") {
		t.Errorf("got %+v, %v", v.Operations, err)
	}
}

func TestMergedEntriesKeepTheDialogueOfBoth(t *testing.T) {
	s := llmtest.New(t)
	s.Script(model.RoleTopicManager, text(t,
		ops(op("c1", "Merge", "m1", "Ana runs, in the park."), op("c2", "Merge", "c1", "Ana runs and swims."))))
	v, err := newFormer(t, s).Decide(t.Context(),
		bundle([]string{"Ana runs in the park.", "Ana swims."}, stored("m-1", "ana", "Ana runs.")))
	if err != nil || len(v.Operations) != 2 {
		t.Fatalf("%+v, %v", v, err)
	}
	last := v.Operations[1].New
	want := "ana (2024-04-06): raw words of m-1\nAna (2024-05-06): Ana runs in the park.\nAna (2024-05-06): Ana swims."
	if last.Value != want || !slices.Equal(last.Sources, []string{"turn-b"}) {
		t.Errorf("value %q from %v, want %q from turn-b", last.Value, last.Sources, want)
	}
	if !strings.HasPrefix(v.Operations[0].New.Value, "ana (2024-04-06): raw") {
		t.Errorf("value %q", v.Operations[0].New.Value)
	}
}
