package membuilder_test

import (
	"context"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/membuilder"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// told are two turns that every role has something to do with.
var told = []string{"When I moved last week I first called Eva, then I love tea.",
	"Every month I first work, then I met Ben last week."}

// calledFor counts what came of one role: its entries, or the sources of its change to the block.
func calledFor(role model.Role) formationtest.Called {
	kind := map[model.Role]memory.Kind{
		model.RoleEpisodic: memory.KindEpisodic, model.RoleSemantic: memory.KindSemantic,
		model.RoleProcedural: memory.KindProcedural,
	}[role]
	return func(ctx context.Context, t *testing.T, s *llmtest.Server) (int, error) {
		v, err := newFormer(t, s).Decide(ctx, bundle(told))
		n := 0
		for _, op := range v.Operations {
			if op.New != nil && op.New.Kind == kind {
				n++
			}
		}
		for _, op := range v.Core {
			if role == model.RoleCore {
				n += len(op.Sources)
			}
		}
		return n, err
	}
}

var roles = map[model.Role]formationtest.Called{
	model.RoleCore: calledFor(model.RoleCore), model.RoleEpisodic: calledFor(model.RoleEpisodic),
	model.RoleSemantic: calledFor(model.RoleSemantic), model.RoleProcedural: calledFor(model.RoleProcedural),
}

func TestEveryMisbehaviourOfEveryRole(t *testing.T) { formationtest.Misbehave(t, roles) }

func TestRolesWorkWithoutStructuredOutput(t *testing.T) {
	formationtest.WithoutStructuredOutput(t, roles)
}

func TestLLMConforms(t *testing.T) {
	formationtest.Run(t, membuilder.Name, func(t *testing.T) formation.Former { return newFormer(t, llmtest.New(t)) })
}

// A session costs four calls, one a role, whatever it says.
func TestASessionCostsFourCalls(t *testing.T) {
	s := llmtest.New(t)
	l := formationtest.NewLife(newFormer(t, s))
	for i, in := range formationtest.Sessions() {
		before := s.Total()
		if _, _, err := l.Form(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if n := s.Total() - before; n != 4 {
			t.Errorf("session %d took %d calls, want 4", i, n)
		}
		for role := range roles {
			if n := s.Count(role); n != i+1 {
				t.Errorf("%s was called %d times after %d sessions", role, n, i+1)
			}
		}
	}
}

func TestNothingToDoAsksNothing(t *testing.T) {
	s := llmtest.New(t)
	former := newFormer(t, s)
	if out, err := former.Extract(t.Context(), session("I moved to Porto.")); err != nil || len(out) != 1 {
		t.Errorf("extract: %v, %v", out, err)
	}
	if v, err := former.Decide(t.Context(), bundle(nil)); err != nil || !reflect.DeepEqual(v, formation.Verdict{}) {
		t.Errorf("decide: %v, %v", v, err)
	}
	if n := s.Total(); n != 0 {
		t.Errorf("%d calls, want none", n)
	}
}

func TestCuesAreTheTurns(t *testing.T) {
	in := session("I  moved\nto Porto.", "", "Long: "+strings.Repeat("é", 4000))
	in.Turns[0].Caption = "a red door"
	got, err := newFormer(t, llmtest.New(t)).Extract(t.Context(), in)
	if err != nil || len(got) != 2 {
		t.Fatalf("got %+v, %v", got, err)
	}
	if got[0].Content != "Ana: I moved to Porto. a red door" || !slices.Equal(got[0].Sources, []string{"turn-a"}) {
		t.Errorf("got %+v", got[0])
	}
	if n := len(got[1].Content); n > 2048 || n < 2040 || strings.ContainsRune(got[1].Content, '\uFFFD') {
		t.Errorf("a long turn is a search text of %d bytes", n)
	}
}

// Which role answers first must not show, and entries of the same turns must not have the same id.
func TestOperationsAreInAFixedOrder(t *testing.T) {
	once := verdict(t, model.RoleEpisodic)
	for _, slow := range []model.Role{model.RoleCore, model.RoleSemantic, model.RoleProcedural} {
		if again := verdict(t, slow); !reflect.DeepEqual(once, again) {
			t.Errorf("with %s last: %+v\nbefore: %+v", slow, again, once)
		}
	}
	var kinds []memory.Kind
	ids := map[string]bool{}
	for _, op := range once.Operations {
		kinds, ids[op.New.ID] = append(kinds, op.New.Kind), true
	}
	want := []memory.Kind{memory.KindEpisodic, memory.KindSemantic, memory.KindProcedural}
	if !slices.Equal(kinds, want) || len(ids) != 3 || len(once.Core) != 1 {
		t.Errorf("kinds %v, %d ids, core %+v", kinds, len(ids), once.Core)
	}
}

// verdict has one role answer only after all the others have been asked.
func verdict(t *testing.T, slow model.Role) formation.Verdict {
	t.Helper()
	s := llmtest.New(t)
	release := make(chan struct{})
	answers := map[model.Role]llmtest.Step{model.RoleCore: text(t, core("APPEND", "content", "Ana runs."))}
	for _, r := range entry {
		answers[r] = text(t, operations(operation(r)))
	}
	for r, step := range answers {
		if r == slow {
			step = llmtest.Hold(release, step)
		}
		s.Script(r, step)
	}
	go func() {
		defer close(release)
		for s.Total() < 4 && t.Context().Err() == nil {
			runtime.Gosched()
		}
	}()
	b := bundle([]string{"I ran a race, Eva."})
	v, err := newFormer(t, s).Decide(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, b, v)
	return v
}

func TestRolesSeeTheirOwnKindFirst(t *testing.T) {
	s := llmtest.New(t)
	var memories []memory.Memory
	for i := range 25 {
		memories = append(memories, stored("e-"+string(rune('a'+i)), memory.KindEpisodic, "Ana ran."))
	}
	memories = append(memories, stored("p", memory.KindProcedural, "How Ana brews | Steps: 1. Pour."),
		stored("f", memory.KindFact, "Ana rents."))
	b := bundle([]string{"I brew coffee."}, memories...)
	b.Related = append(b.Related, b.Related[0])
	if _, _, err := decide(t, s, b, model.RoleCore, none()); err != nil {
		t.Fatal(err)
	}
	for role, want := range map[model.Role]string{model.RoleEpisodic: "Ana ran.",
		model.RoleProcedural: "How Ana brews | Steps: 1. Pour.", model.RoleSemantic: "Ana rents."} {
		in := shown(t, s, role)
		if len(in.Memories) != 20 || in.Memories[0].Content != want || in.Memories[0].ID != "m1" {
			t.Errorf("%s sees %d memories, %+v first", role, len(in.Memories), in.Memories[0])
		}
		if len(in.Turns) != 1 || in.Turns[0].Time != "Monday 2024-05-06 09:30" {
			t.Errorf("%s sees %+v", role, in.Turns)
		}
	}
}

// Turns that were formed before are not formed again.
func TestOnlyFreshTurnsAreShown(t *testing.T) {
	s := llmtest.New(t)
	b := bundle([]string{"I moved last week.", "I work."})
	b.Related = b.Related[1:]
	if _, _, err := decide(t, s, b, model.RoleCore, none()); err != nil {
		t.Fatal(err)
	}
	if in := shown(t, s, model.RoleSemantic); len(in.Turns) != 1 || in.Turns[0].Text != "I work." {
		t.Errorf("shown are %+v", in.Turns)
	}
}

func TestDecideRefusesForeignTurns(t *testing.T) {
	for name, sources := range map[string][]string{"none": nil, "of another session": {"elsewhere"}} {
		b := bundle([]string{"I moved last week."})
		b.Related[0].Candidate.Sources = sources
		if v, err := newFormer(t, llmtest.New(t)).Decide(t.Context(), b); err == nil {
			t.Errorf("%s: got %+v", name, v)
		}
	}
}
