package memory_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

func edit(kind memory.OpKind, old, text string) memory.CoreOperation {
	return memory.CoreOperation{Kind: kind, Old: old, New: text, Sources: []string{"t1"}}
}

func TestEditCore(t *testing.T) {
	almostFull, full := strings.Repeat("é", memory.CoreAppendLimit-1), strings.Repeat("é", memory.CoreAppendLimit)
	for name, c := range map[string]struct {
		text  string
		op    memory.CoreOperation
		want  string
		field string
	}{
		"append to nothing": {"", edit(memory.OpAppend, "", " Ana is a nurse. "), "Ana is a nurse.", ""},
		"append a line": {"Ana is a nurse.", edit(memory.OpAppend, "", "She has a dog."),
			"Ana is a nurse.\nShe has a dog.", ""},
		"append below the limit": {almostFull, edit(memory.OpAppend, "", "x"), almostFull + "\nx", ""},
		"append above it":        {full, edit(memory.OpAppend, "", "x"), "", "core.kind"},
		"append nothing":         {"a", edit(memory.OpAppend, "", " "), "", "core.new"},
		"replace": {"lives in Porto\nhas a dog", edit(memory.OpReplace, "Porto", "Braga"),
			"lives in Braga\nhas a dog", ""},
		"replace by nothing": {"lives in Porto\nhas a dog", edit(memory.OpReplace, "lives in Porto", ""), "has a dog",
			""},
		"replace what is missing": {"lives in Porto", edit(memory.OpReplace, "Lyon", "Braga"), "", "core.old"},
		"replace without text":    {"lives in Porto", edit(memory.OpReplace, "", "Braga"), "", "core.old"},
		"rewrite":                 {"lives in Porto", edit(memory.OpRewrite, "", "New."), "New.", ""},
		"rewrite to nothing":      {"lives in Porto", edit(memory.OpRewrite, "", ""), "", "core.new"},
		"an entry's operation":    {"a", edit(memory.OpAdd, "", "b"), "", "core.kind"},
		"no sources":              {"a", memory.CoreOperation{Kind: memory.OpAppend, New: "b"}, "", "core.sources"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := memory.EditCore(c.text, c.op)
			if c.field != "" {
				if !fault.IsTerminal(err) || fault.Field(err) != c.field {
					t.Errorf("got %v, want a terminal error about %s", err, c.field)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestPlanCoreWritesTheNextVersion(t *testing.T) {
	scope := memory.Scope{Tenant: "acme", User: "ana"}
	block := memory.Core{Content: "Ana lives in Porto.", Version: 3}
	ops := []memory.CoreOperation{
		{Kind: memory.OpReplace, Old: "Porto", New: "Braga", Sources: []string{"t2", "t1"}},
		{Kind: memory.OpAppend, New: "She is a nurse.", Sources: []string{"t1"}},
	}
	got, err := memory.PlanCore(scope, block, ops, "s1", "p/1", now)
	if err != nil {
		t.Fatal(err)
	}
	if got.Content != "Ana lives in Braga.\nShe is a nurse." || got.Version != 4 || !got.UpdatedAt.Equal(now) ||
		got.SessionID != "s1" || got.PolicyVersion != "p/1" || !slices.Equal(got.Sources, []string{"t1", "t2"}) {
		t.Errorf("got %+v", got)
	}
	changes := memory.CoreChanges(scope, got, ops)
	if len(changes) != 2 || changes[1].OperationID != got.OperationID ||
		changes[0].OperationID == changes[1].OperationID ||
		changes[0].MemoryID != memory.DeriveCoreID(scope, 4) || changes[0].Kind != memory.OpReplace {
		t.Errorf("changes %+v", changes)
	}
}

func TestPlanCoreOfNothing(t *testing.T) {
	scope := memory.Scope{Tenant: "acme", User: "ana"}
	for name, ops := range map[string][]memory.CoreOperation{"no operation": nil,
		"no change": {edit(memory.OpRewrite, "", "Same.")}} {
		got, err := memory.PlanCore(scope, memory.Core{Content: "Same.", Version: 1}, ops, "s1", "p/1", now)
		if got != nil || err != nil || memory.CoreChanges(scope, got, ops) != nil {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestPlanCoreKeepsToItsCapacity(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var ops []memory.CoreOperation
		for range rapid.IntRange(1, 4).Draw(r, "operations") {
			text := strings.Repeat("wörd ", rapid.IntRange(1, 600).Draw(r, "words"))
			ops = append(ops, edit(rapid.SampledFrom([]memory.OpKind{memory.OpAppend, memory.OpRewrite}).Draw(r, "kind"), "",
				text))
		}
		got, err := memory.PlanCore(memory.Scope{Tenant: "a", User: "b"}, memory.Core{}, ops, "s", "p", now)
		switch {
		case err != nil && !fault.IsTerminal(err):
			r.Fatalf("got %v", err)
		case err == nil && got.Length() > memory.CoreCapacity:
			r.Fatalf("a block of %d characters", got.Length())
		}
	})
}

func TestLinesTakeThePlaceOfABlock(t *testing.T) {
	scope, now := memory.Scope{Tenant: "acme", User: "ana"}, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	lines := []memory.CoreLine{{Text: "No nuts.", Memories: []string{"m1"}},
		{Text: "No stairs.", Memories: []string{"m2"}}}
	plan := func(block memory.Core, lines ...memory.CoreLine) *memory.Core {
		return memory.PlanLines(scope, block, lines, []string{"t2", "t1", "t2"}, "s1", "p/1", now)
	}
	first := plan(memory.Core{Content: "Ana is a nurse.", Version: 3}, lines...)
	if first == nil || first.Version != 4 || first.Content != "No nuts.\nNo stairs." || !first.Valid() ||
		!first.Rests("m2") ||
		first.Rests("m3") ||
		!slices.Equal(first.Sources, []string{"t1", "t2"}) {
		t.Fatalf("got %+v", first)
	}
	if again := plan(*first, lines...); again != nil {
		t.Errorf("the same lines make %+v", again)
	}
	other := plan(*first, memory.CoreLine{Text: "No nuts.", Memories: []string{"m4"}}, lines[1])
	if other == nil || other.Version != 5 || other.OperationID == first.OperationID {
		t.Errorf("the words of another memory make %+v", other)
	}
	if empty := plan(*first); empty == nil || empty.Content != "" || !empty.Valid() {
		t.Errorf("no lines make %+v", empty)
	}
	if nothing := plan(memory.Core{}); nothing != nil {
		t.Errorf("no lines in the place of no block make %+v", nothing)
	}
}

// PlanLines records a new policy even for the same lines. Otherwise every consolidation would choose them anew.
func TestPlanLinesRecordsANewPolicy(t *testing.T) {
	lines := []memory.CoreLine{{Text: "I am allergic to nuts.", Memories: []string{"m1"}}}
	block := memory.Core{Content: lines[0].Text, Lines: lines, Version: 1, PolicyVersion: "old"}
	next := memory.PlanLines(memory.Scope{Tenant: "acme", User: "ana"}, block, lines, nil, "s1", "new", time.Now())
	if next == nil || next.Version != 2 || next.PolicyVersion != "new" {
		t.Errorf("got %+v, want a version by the new policy", next)
	}
}

func TestABlockOfTooManyLinesIsNotValid(t *testing.T) {
	c := memory.Core{Version: 1}
	for range memory.CoreWords + 1 {
		c.Lines = append(c.Lines, memory.CoreLine{Text: "a", Memories: []string{"m1"}})
	}
	c.Content = strings.Repeat("a\n", memory.CoreWords) + "a"
	if c.Valid() {
		t.Error("more lines than a block has words are valid")
	}
}
