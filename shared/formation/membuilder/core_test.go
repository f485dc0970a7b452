package membuilder_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// block is a bundle of one turn with a core block.
func block(content string) formation.Bundle {
	b := bundle([]string{"I moved to Porto."})
	b.Core = memory.Core{Content: content, Version: 3}
	return b
}

// filled is a block of lines with so many characters.
func filled(n int) string {
	return strings.Repeat("é", n)
}

func TestCoreOperations(t *testing.T) {
	home := "Ana lives in Lisbon.\nAna is a nurse."
	for name, tc := range map[string]struct {
		before string
		answer object
		want   string // the block afterwards
	}{
		"append to nothing": {"", core("APPEND", "content", "Ana lives in Porto.\n"), "Ana lives in Porto."},
		"append":            {home, core("APPEND", "content", "Ana has a dog."), home + "\nAna has a dog."},
		"append just below": {filled(4499), core("APPEND", "content", "Ana."), filled(4499) + "\nAna."},
		"replace": {home, core("REPLACE", "old_text", "Lisbon", "new_text", "Porto"),
			"Ana lives in Porto.\nAna is a nurse."},
		"take out a line":   {home, core("REPLACE", "old_text", "Ana lives in Lisbon."), "Ana is a nurse."},
		"rewrite":           {home, core("REWRITE", "content", "Ana, a nurse in Porto."), "Ana, a nurse in Porto."},
		"rewrite when full": {filled(4900), core("REWRITE", "content", "Ana."), "Ana."},
		"none":              {home, none(), home},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t)
			v, w, err := decide(t, s, block(tc.before), model.RoleCore, tc.answer)
			if err != nil || s.Total() != 4 {
				t.Fatalf("%v after %d calls, want 4", err, s.Total())
			}
			if (w.Core == nil) != (tc.before == tc.want) || w.Core != nil && w.Core.Content != tc.want {
				t.Errorf("block is %+v, want %q", w.Core, tc.want)
			}
			for _, op := range v.Core {
				if !slices.Equal(op.Sources, []string{"turn-a"}) {
					t.Errorf("%s comes from %v", op.Kind, op.Sources)
				}
			}
		})
	}
}

func TestInvalidCoreOperationsAreRepairedOnceThenFail(t *testing.T) {
	good := core("APPEND", "content", "Ana lives in Porto.")
	for name, tc := range map[string]struct {
		before string
		answer object
	}{
		"an undefined action":     {"", core("DELETE", "content", "x")},
		"append at 90 %":          {filled(4500), core("APPEND", "content", "x")},
		"append nothing":          {"", core("APPEND")},
		"append with old text":    {"x", core("APPEND", "content", "x", "old_text", "x")},
		"replace what is not":     {"Ana.", core("REPLACE", "old_text", "Ben", "new_text", "Eva")},
		"replace nothing":         {"Ana.", core("REPLACE", "new_text", "Eva")},
		"replace with content":    {"Ana.", core("REPLACE", "old_text", "Ana", "content", "Eva")},
		"rewrite to nothing":      {"Ana.", core("REWRITE", "content", " \n ")},
		"no sources":              {"", core("APPEND", "content", "x", "sources", []string{})},
		"an unknown source":       {"", core("APPEND", "content", "x", "sources", []string{"t7"})},
		"none, yet text":          {"", core("NONE", "content", "x", "sources", []string{})},
		"none, yet a source":      {"", core("NONE")},
		"a missing field":         {"", object{"operation": "NONE", "content": "", "sources": []string{}}},
		"text that is no text":    {"", core("APPEND", "content", "a\x00b")},
		"far more than it can be": {"", core("REWRITE", "content", strings.Repeat("x", 50_000))},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t)
			v, _, err := decide(t, s, block(tc.before), model.RoleCore, tc.answer, tc.answer)
			if !errors.Is(err, model.ErrMalformed) || v.Core != nil || v.Operations != nil || s.Count(model.RoleCore) != 2 {
				t.Errorf("got %+v, %v after %d calls", v, err, s.Count(model.RoleCore))
			}
			if strings.Contains(tc.before, filled(4500)) {
				return
			}
			s = llmtest.New(t)
			if _, w, err := decide(t, s, block(tc.before), model.RoleCore, tc.answer, good); err != nil || w.Core == nil {
				t.Errorf("repaired: %+v, %v", w.Core, err)
			}
		})
	}
}

// An assistant's statement alone does not change the known facts about the user.
func TestAssistantsDoNotWriteTheBlock(t *testing.T) {
	b := block("")
	b.Session.Turns[0].Role = memory.RoleAssistant
	answer := core("APPEND", "content", "Ana should buy gold.")
	if v, _, err := decide(t, llmtest.New(t), b, model.RoleCore, answer, answer); !errors.Is(err, model.ErrMalformed) {
		t.Errorf("got %+v, %v", v, err)
	}
}

func TestTheRoleSeesHowFullItsBlockIs(t *testing.T) {
	s := llmtest.New(t)
	if _, _, err := decide(t, s, block(filled(4499)), model.RoleCore, none()); err != nil {
		t.Fatal(err)
	}
	if in := shown(t, s, model.RoleCore); in.Core.Text != filled(4499) || in.Core.Length != 4499 ||
		in.Core.Percent != 89 ||
		in.Core.Capacity != 5000 {
		t.Errorf("shown are %d of %d characters, %d %%", in.Core.Length, in.Core.Capacity, in.Core.Percent)
	}
}

func TestABlockThatHasOutgrownItsCapacityIsCompressed(t *testing.T) {
	long := core("APPEND", "content", filled(600))
	for name, tc := range map[string]struct {
		answers []object
		want    string // the block afterwards; empty where it must fail
		calls   int
	}{
		"at once":                {[]object{{"content": filled(2999)}}, filled(2999), 2},
		"the second time harder": {[]object{{"content": filled(3000)}, {"content": filled(100)}}, filled(100), 3},
		"not even then":          {[]object{{"content": filled(4000)}, {"content": filled(3000)}}, "", 3},
		"longer than before":     {[]object{{"content": filled(6000)}, {"content": "Ana."}}, "Ana.", 3},
		"to nothing":             {[]object{{"content": ""}, {"content": " "}}, "", 3},
		"to nothing, repaired":   {[]object{{"content": ""}, {"content": "Ana."}}, "Ana.", 3},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t)
			v, w, err := decide(t, s, block(filled(4450)), model.RoleCore, append([]object{long}, tc.answers...)...)
			if s.Count(model.RoleCore) != tc.calls {
				t.Errorf("%d calls, want %d", s.Count(model.RoleCore), tc.calls)
			}
			if tc.want == "" {
				if !errors.Is(err, model.ErrMalformed) || v.Core != nil {
					t.Errorf("got %+v, %v", v, err)
				}
				return
			}
			if err != nil || w.Core == nil || w.Core.Content != tc.want || len(v.Core) != 2 ||
				v.Core[1].Kind != memory.OpRewrite {
				t.Errorf("got %+v, %v", w.Core, err)
			}
		})
	}
}

func TestTheSecondCompressionIsAskedToBeHarder(t *testing.T) {
	s := llmtest.New(t)
	answers := []object{core("REWRITE", "content", filled(5001)), {"content": filled(4000)}, {"content": filled(10)}}
	if _, _, err := decide(t, s, block("Ana."), model.RoleCore, answers...); err != nil {
		t.Fatal(err)
	}
	if in := shown(t, s, model.RoleCore); !in.Harder || in.Below != 3000 || in.Core.Length != 4000 {
		t.Errorf("harder %t, below %d, of %d", in.Harder, in.Below, in.Core.Length)
	}
}
