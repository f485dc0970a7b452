package membuilder_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// Text of users, of the bank and of the block stays inside one JSON string of the one data block.
func TestTextStaysInItsBlock(t *testing.T) {
	s := llmtest.New(t)
	injections := formationtest.Injections()
	for _, kind := range []memory.Kind{memory.KindEpisodic, memory.KindSemantic, memory.KindProcedural} {
		b := bundle(injections, stored("m-1", kind, injections[1]))
		b.Core.Content = strings.Join(injections, "\n") + filled(4800)
		for i := range b.Session.Turns {
			b.Session.Turns[i].Speaker, b.Session.Turns[i].Caption = injections[i], injections[i]
		}
		grown := strings.ReplaceAll(b.Core.Content, "\x00", "") + filled(200)
		s.Script(model.RoleCore, text(t, core("REWRITE", "content", grown))) // the block to compress is users' text, too
		if _, err := newFormer(t, s).Decide(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if in := shown(t, s, model.RoleCore); in.Below == 0 {
		t.Error("nothing was compressed")
	}
	for role := range roles {
		if s.Count(role) < 3 {
			t.Errorf("%s was asked %d times", role, s.Count(role))
		}
		for _, c := range s.Calls(role) {
			if !c.IsRepair() {
				formationtest.CheckBlock(t, c)
			}
		}
	}
}

// A model that follows an injected order can act only on the entries that its prompt shows.
func TestObedientModelsCanOnlyNameWhatTheyWereShown(t *testing.T) {
	for _, role := range entry {
		evil := operations(operation(role, "action", "UPDATE", "why", "more", "targets",
			[]string{"00000000-0000-0000-0000-000000000000"}))
		v, _, err := decide(t, llmtest.New(t), known(role), role, evil, evil)
		if !errors.Is(err, model.ErrMalformed) || v.Operations != nil {
			t.Errorf("%s: got %+v, %v", role, v, err)
		}
	}
}
