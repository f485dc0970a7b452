package salimory_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// Whatever users type stays inside one JSON string of the one data block.
func TestTurnTextStaysInItsBlock(t *testing.T) {
	s := llmtest.New(t)
	former := newFormer(t, s)
	injections := formationtest.Injections()
	// the fake model's extraction repeats the text, NUL included, so that it is asked for no more
	for _, text := range injections {
		in := session(strings.ReplaceAll(text, "\x00", ""))
		in.Turns[0].Speaker, in.Turns[0].Caption = strings.ReplaceAll(text, "\x00", ""), text
		if _, err := former.Extract(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	b := bundle(injections, stored("m-1", injections[1]))
	b.Window = formationtest.Turns(injections...)
	for i := range b.Window {
		b.Window[i].SessionID = "s0"
	}
	if _, err := former.Decide(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for _, role := range []model.Role{model.RoleExtractor, model.RoleManager} {
		for _, c := range s.Calls(role) {
			formationtest.CheckBlock(t, c)
		}
	}
}

// A model that follows an injected order can decide only on the entries that its prompt shows.
func TestObedientModelCanOnlyNameWhatItWasShown(t *testing.T) {
	s := llmtest.New(t)
	evil := text(t, ops(op("c1", "DELETE", "", "m1", "m2", "00000000-0000-0000-0000-000000000000")))
	s.Script(model.RoleManager, evil, evil)
	b := bundle([]string{formationtest.Injections()[0]}, stored("m-1", "Ana is allergic to nuts."))
	if out, err := operations(t.Context(), newFormer(t, s), b); err == nil {
		t.Errorf("got %+v", out)
	}
	out, err := operations(t.Context(), newFormer(t, s), b)
	if err != nil {
		t.Fatal(err)
	}
	checkOperations(t, b, out)
}

func checkOperations(t *testing.T, b formation.Bundle, out []memory.Operation) {
	t.Helper()
	known := []string{}
	for _, r := range b.Related {
		for _, m := range r.Memories {
			known = append(known, m.ID)
		}
	}
	for _, o := range out {
		if !slices.Contains([]memory.OpKind{memory.OpAdd, memory.OpUpdate, memory.OpMerge, memory.OpDelete, memory.OpNone},
			o.Kind) {
			t.Errorf("operation %q was invented", o.Kind)
		}
		for _, id := range o.Targets {
			if !slices.Contains(known, id) {
				t.Errorf("target %s was invented", id)
			}
		}
		if o.New != nil {
			known = append(known, o.New.ID)
		}
	}
}
