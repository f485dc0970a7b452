package membuilder_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/membuilder"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type object = formationtest.Object

var (
	scope   = formationtest.Scope()
	day     = formationtest.Day()
	session = formationtest.Session
	bundle  = formationtest.Bundle
	text    = formationtest.Answer
	entry   = []model.Role{model.RoleEpisodic, model.RoleSemantic, model.RoleProcedural}
)

func newFormer(t *testing.T, s *llmtest.Server) *membuilder.LLM {
	t.Helper()
	f, err := membuilder.NewLLM(s.Client(t), llm.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// stored is an entry of a kind, said a month before.
func stored(id string, kind memory.Kind, content string) memory.Memory {
	m := formationtest.Stored(id, content)
	m.Kind, m.Slot, m.Topic, m.Keywords, m.EventTime = kind, "", "", nil, memory.EventTime{}
	return m
}

// with changes an object.
func with(base object, pairs ...any) object {
	for i := 0; i < len(pairs); i += 2 {
		base[pairs[i].(string)] = pairs[i+1]
	}
	return base
}

// operation is an action of a role that keeps entries, by turn t1.
func operation(role model.Role, pairs ...any) object {
	base := object{"action": "ADD", "sources": []string{"t1"}, "targets": []string{}, "topic": "", "keywords": []string{}}
	switch role {
	case model.RoleEpisodic:
		base = with(base, "date", "2024-05-06", "until", "", "said", "", "summary", "Ana ran a race.", "details", "")
	case model.RoleSemantic:
		base = with(base, "why", "new", "content", "Eva is Ana's sister.")
	case model.RoleProcedural:
		base = with(base, "description", "How Ana brews coffee", "steps", []string{"Grind.", "Pour."}, "context", "")
	}
	return with(base, pairs...)
}

func operations(list ...object) object {
	if list == nil {
		list = []object{}
	}
	return object{"nothing": len(list) == 0, "operations": list}
}

// core is the core role's answer.
func core(operation string, pairs ...any) object {
	return with(object{"operation": operation, "content": "", "old_text": "", "new_text": "", "sources": []string{"t1"}},
		pairs...)
}

func none() object { return core("NONE", "sources", []string{}) }

// quiet has every role but one find nothing to do.
func quiet(t *testing.T, s *llmtest.Server, but model.Role) {
	t.Helper()
	if but != model.RoleCore {
		s.Script(model.RoleCore, text(t, none()))
	}
	for _, r := range entry {
		if r != but {
			s.Script(r, text(t, operations()))
		}
	}
}

// decide has one role answer, and applies the verdict, which must always be applicable.
func decide(t *testing.T, s *llmtest.Server, b formation.Bundle, role model.Role, answers ...object) (formation.Verdict,
	memory.Write, error) {
	t.Helper()
	quiet(t, s, role)
	for _, a := range answers {
		s.Script(role, text(t, a))
	}
	v, err := formationtest.DecideWhole(t.Context(), newFormer(t, s), b)
	if err != nil {
		return v, memory.Write{}, err
	}
	return v, apply(t, b, v), nil
}

func apply(t interface {
	Helper()
	Fatalf(string, ...any)
}, b formation.Bundle, v formation.Verdict) memory.Write {
	t.Helper()
	var existing []memory.Memory
	for _, r := range b.Related {
		existing = append(existing, r.Memories...)
	}
	w, err := memory.Plan(scope, v.Operations, existing, day.Add(time.Hour))
	if err != nil {
		t.Fatalf("the operations cannot be applied: %v", err)
	}
	if w.Core, err = memory.PlanCore(scope, b.Core, v.Core, "s1", "test", day.Add(time.Hour)); err != nil {
		t.Fatalf("the block's operations cannot be applied: %v", err)
	}
	return w
}
