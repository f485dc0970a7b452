package memoryr2_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// decideOn runs the manager on answers and applies the result, which must always be applicable.
func decideOn(t *testing.T, b formation.Bundle, calls int, answers ...object) ([]memory.Operation, memory.Write) {
	t.Helper()
	s := llmtest.New(t)
	for _, a := range answers {
		s.Script(model.RoleFactManager, text(t, a))
	}
	out, err := operations(t.Context(), newFormer(t, s), b)
	if err != nil {
		t.Fatal(err)
	}
	if n := s.Count(model.RoleFactManager); n != calls {
		t.Errorf("%d calls, want %d", n, calls)
	}
	w, err := memory.Plan(scope, out, shown(b), day)
	if err != nil {
		t.Fatalf("the operations cannot be applied: %v", err)
	}
	return out, w
}

func TestTheFourAnswers(t *testing.T) {
	b := bundle([]string{"Ana gave up tennis and took up chess.", "Ana rents.", "Ana has a dog, Rex.",
		"Ana speaks Dutch."},
		stored("m-1", "Ana plays tennis."), stored("m-2", "Ana rents a flat."), stored("m-3", "Ana has a dog."))
	out, w := decideOn(t, b, 1, ops(
		op("c1", "INSERT", "", "", "m1"), op("c2", "NONE", "m2", ""), op("c3", "UPDATE", "m3", "Ana has a dog, Rex."),
		op("c4", "INSERT", "", ""),
	))
	want := []memory.OpKind{memory.OpDelete, memory.OpAdd, memory.OpNone, memory.OpUpdate, memory.OpAdd}
	if !slices.Equal(kinds(out), want) || out[0].Reason != "contradiction" || out[2].Reason != "equivalent" ||
		out[3].Reason != "refinement" || out[4].Reason != "new" {
		t.Fatalf("got %+v", out)
	}
	if !slices.Equal(out[0].Targets, []string{"m-1"}) || !slices.Equal(out[0].Sources, []string{"turn-a"}) ||
		!out[0].At.Equal(day) {
		t.Errorf("deletion is %+v", out[0])
	}
	if len(w.Put) != 3 || len(w.Close) != 2 || w.Close[0].Status != memory.StatusRetracted ||
		w.Close[1].Status != memory.StatusSuperseded {
		t.Errorf("write is %+v", w)
	}
	if m := out[1].New; m.ID != memory.DeriveID(scope, []string{"turn-a"}, 0) || m.Strategy != "memory-r2" ||
		m.Content != "Ana gave up tennis and took up chess." {
		t.Errorf("entry is %+v", m)
	}
}

func TestDeletionMayBeAll(t *testing.T) {
	out, w := decideOn(t, bundle([]string{"Ana does not play tennis."}, stored("m-1", "Ana plays tennis.")), 1,
		ops(op("c1", "DELETE", "", "", "m1")))
	if !slices.Equal(kinds(out), []memory.OpKind{memory.OpDelete}) || len(w.Close) != 1 || len(w.Put) != 0 {
		t.Errorf("got %+v, %+v", out, w)
	}
}

func TestAnUpdateThatDropsAClaimIsRefused(t *testing.T) {
	b := bundle([]string{"Ana moved to Braga."}, stored("m-1", "Ana lives in Porto with 2 cats."))
	bad := ops(op("c1", "UPDATE", "m1", "Ana lives in Braga with her cats."))
	out, _ := decideOn(t, b, 2, bad, ops(op("c1", "UPDATE", "m1",
		"Ana lives in Braga with two cats, before that in Porto.")))
	if out[0].Kind != memory.OpUpdate {
		t.Errorf("got %+v", out)
	}
	s := llmtest.New(t)
	s.Script(model.RoleFactManager, text(t, bad), text(t, bad))
	_, err := operations(t.Context(), newFormer(t, s), b)
	if !errors.Is(err, model.ErrMalformed) || strings.Contains(strings.ToLower(err.Error()), "porto") {
		t.Errorf("error is %v, want ErrMalformed without a word of the memory's", err)
	}
	calls := s.Calls(model.RoleFactManager)
	if len(calls) != 2 || !calls[1].IsRepair() ||
		!strings.Contains(calls[1].Messages[3].Content, "loses 2 of the names, numbers and dates of m1") {
		t.Errorf("%d calls, the last %+v", len(calls), calls[len(calls)-1].Messages)
	}
}

func TestAnUpdateOfAFactKeepsItsClaims(t *testing.T) {
	b := bundle([]string{"Ana met Ben.", "Ana met Ben in Rome."})
	good := ops(op("c1", "INSERT", "", ""), op("c2", "UPDATE", "c1", "Ana met Ben in Rome."))
	if out, w := decideOn(t, b, 2, ops(op("c1", "INSERT", "", ""), op("c2", "UPDATE", "c1", "Ana was in Rome.")),
		good); len(out) != 2 || len(w.Put) != 2 {
		t.Errorf("got %+v", out)
	}
}

func TestDecideRejectsWhatWasNotShown(t *testing.T) {
	insert := op("c2", "INSERT", "", "")
	for name, answer := range map[string]object{
		"fact forgotten":                ops(insert),
		"fact twice":                    ops(op("c1", "NONE", "m1", ""), op("c1", "NONE", "m1", ""), insert),
		"unknown operation":             ops(op("c1", "MERGE", "m1", "x"), insert),
		"unknown target":                ops(op("c1", "UPDATE", "m9", "x"), insert),
		"contradicts the unknown":       ops(op("c1", "INSERT", "", "", "m9"), insert),
		"contradicts by the real id":    ops(op("c1", "DELETE", "", "", "m-1"), insert),
		"contradicts a fact":            ops(insert, op("c1", "DELETE", "", "", "c2")),
		"contradicts twice":             ops(op("c1", "DELETE", "", "", "m1", "m1"), insert),
		"contradicts what is gone":      ops(op("c1", "DELETE", "", "", "m1"), op("c2", "INSERT", "", "", "m1")),
		"contradicts what was replaced": ops(op("c1", "UPDATE", "m1", "a A"), op("c2", "INSERT", "", "", "m1")),
		"contradicts its target":        ops(op("c1", "UPDATE", "m1", "a", "m1"), insert),
		"updates what was deleted":      ops(op("c1", "INSERT", "", "", "m1"), op("c2", "UPDATE", "m1", "a")),
		"updates what was replaced":     ops(op("c1", "UPDATE", "m1", "a"), op("c2", "UPDATE", "m1", "a")),
		"updates nothing":               ops(op("c1", "UPDATE", "", "a"), insert),
		"updates without content":       ops(op("c1", "UPDATE", "m1", ""), insert),
		"inserts onto a target":         ops(op("c1", "INSERT", "m1", ""), insert),
		"deletes nothing":               ops(op("c1", "DELETE", "", ""), insert),
		"deletes a target":              ops(op("c1", "DELETE", "m2", "", "m1"), insert),
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t)
			s.Script(model.RoleFactManager, text(t, answer), text(t, answer))
			out, err := operations(t.Context(), newFormer(t, s),
				bundle([]string{"x", "y"}, stored("m-1", "a"), stored("m-2", "b")))
			if !errors.Is(err, model.ErrMalformed) || out != nil {
				t.Errorf("got %+v and %v, want ErrMalformed", out, err)
			}
			if n := s.Count(model.RoleFactManager); n != 2 {
				t.Errorf("%d calls, want one and a repair", n)
			}
		})
	}
}

// many is a bundle of n facts that say the same by twos, n/2 apart.
func many(n int) formation.Bundle {
	b := formation.Bundle{Session: long(n, 1)}
	for i := range n {
		b.Related = append(b.Related, formation.Related{Candidate: formation.Candidate{
			Kind: memory.KindFact, Content: fmt.Sprintf("Ana said: thing %d", i%(n/2)), Sources: []string{b.Session.Turns[i].ID},
			Vector: memory.Vector{1},
		}})
	}
	return b
}

// Facts beyond the limit of a call are decided in groups, and a later group sees the entries of an earlier one.
func TestManyFactsAreDecidedInGroups(t *testing.T) {
	s := llmtest.New(t)
	b := many(100)
	out, err := operations(t.Context(), newFormer(t, s), b)
	if err != nil || len(out) != 100 || s.Count(model.RoleFactManager) != 3 {
		t.Fatalf("%d operations of %d calls, %v", len(out), s.Count(model.RoleFactManager), err)
	}
	if _, err := memory.Plan(scope, out, nil, day); err != nil {
		t.Errorf("the operations cannot be applied: %v", err)
	}
	calls := s.Calls(model.RoleFactManager)
	if n := strings.Count(string(calls[0].Data()), `"related":[]`); n != 40 {
		t.Errorf("%d facts of the first group are related to nothing, want all 40", n)
	}
	if data := string(calls[1].Data()); !strings.Contains(data, `"id":"m5"`) || strings.Contains(data, `"id":"m26"`) {
		t.Errorf("the second group is shown %s", data)
	}
}

// A later group does not see the entries that an earlier group deleted or replaced; it sees their replacements.
func TestALaterGroupSeesTheBankAsTheEarlierLeftIt(t *testing.T) {
	s := llmtest.New(t)
	b := many(42)
	for _, i := range []int{0, 41} {
		b.Related[i].Memories = []memory.Memory{stored("m-1", "Ana said: old"), stored("m-2", "Ana said: older")}
		b.Related[i].Similarity = []float64{0.9, 0.8}
	}
	var first []object
	for i := range 40 {
		switch c := fmt.Sprintf("c%d", i+1); i {
		case 0:
			first = append(first, op(c, "UPDATE", "m1", "Ana said: old and new", "m2"))
		default:
			first = append(first, op(c, "NONE", "", ""))
		}
	}
	s.Script(model.RoleFactManager, text(t, ops(first...)))
	if _, err := operations(t.Context(), newFormer(t, s), b); err != nil {
		t.Fatal(err)
	}
	data := string(s.Calls(model.RoleFactManager)[1].Data())
	if strings.Contains(data, `"Ana said: old"`) || strings.Contains(data, "older") ||
		!strings.Contains(data, "old and new") {
		t.Errorf("the second group is shown %s", data)
	}
}

// An entry of an earlier group is among the nearest five by its similarity, in any order of the bank's results.
func TestALaterGroupSeesTheNearestOfOldAndNew(t *testing.T) {
	s := llmtest.New(t)
	b := many(42)
	last := &b.Related[41]
	b.Related[0].Candidate.Vector, last.Candidate.Vector = memory.Vector{1, 0}, memory.Vector{0.6, 0.8}
	last.Similarity = []float64{0.2, 0.9, 0.9, 0.9, 0.9}
	for i := range last.Similarity {
		last.Memories = append(last.Memories, stored(fmt.Sprintf("m-%d", i), fmt.Sprintf("Ana said: old %d", i)))
	}
	first := []object{op("c1", "INSERT", "", "")}
	for i := 1; i < 40; i++ {
		first = append(first, op(fmt.Sprintf("c%d", i+1), "NONE", "", ""))
	}
	s.Script(model.RoleFactManager, text(t, ops(first...)))
	if _, err := operations(t.Context(), newFormer(t, s), b); err != nil {
		t.Fatal(err)
	}
	data := string(s.Calls(model.RoleFactManager)[1].Data())
	if !inOrder(data, "old 1", "old 2", "old 3", "old 4", "thing 0") || strings.Contains(data, "old 0") {
		t.Errorf("the second group is shown %s", data)
	}
}
