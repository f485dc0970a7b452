package utilizer_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

// ordering keeps or reverses the given order.
type ordering struct{ backwards bool }

func (o ordering) Rank(_ context.Context, a utilizer.Ask, m int) (utilizer.Order, error) {
	out := utilizer.Order{Scores: make([]float64, len(a.Candidates)), Version: "test"}
	for i := range a.Candidates {
		out.Places = append(out.Places, i)
	}
	if o.backwards {
		slices.Reverse(out.Places)
	}
	out.Places = out.Places[:min(m, len(out.Places))]
	return out, nil
}

// doubt stores two jobs of ana, without certainty that the second replaced the first.
func doubt(t *testing.T, r *utilizer.Recaller) (older, newer string) {
	t.Helper()
	contents := []string{"Ana works as a nurse at the Mercy clinic.", "Ana works mornings at the Harbour clinic."}
	vectors, err := builtin.New().Embed(t.Context(), contents)
	if err != nil {
		t.Fatal(err)
	}
	var w memory.Write
	for i, content := range contents {
		turn, at := "job"+string(rune('1'+i)), now.AddDate(0, -6+i, 0)
		m := memory.Memory{
			ID: memory.DeriveID(ana, []string{turn}, 0), Kind: memory.KindFact, Content: content, Status: memory.StatusActive, Version: 1,
			RecordedAt: at, ValidFrom: at, Sources: []string{turn}, SessionID: "jobs", Vector: vectors[i],
		}
		if i == 1 {
			m.Links = []string{w.Put[0].ID}
		}
		w.Turns = append(w.Turns, memory.Turn{ID: turn, SessionID: "jobs", Speaker: "Ana", Role: memory.RoleUser, Text: content, Time: at})
		w.Put = append(w.Put, m)
	}
	if err := r.Bank.Write(t.Context(), ana, w); err != nil {
		t.Fatal(err)
	}
	return contents[0], contents[1]
}

func TestOfTwoLinkedMemoriesTheOneOfTheTimeAskedAboutComesFirst(t *testing.T) {
	for name, room := range map[string]utilizer.IndexCacheOptions{"all that is remembered": roomy, "the bank's search": {}} {
		for _, backwards := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				r := newRecaller(t)
				r.Indexes, r.Ranker = newIndexCache(t, r.Bank, room), ordering{backwards}
				older, newer := doubt(t, r)
				inOrder(t, r, "At which clinic does Ana work?", newer, older)
				inOrder(t, r, "At which clinic did Ana use to work before?", older, newer)
			})
		}
	}
}

// inOrder checks that both memories are shown, first the older one, in the ranking and in the profile.
func inOrder(t *testing.T, r *utilizer.Recaller, query, first, second string) {
	t.Helper()
	got, err := r.Recall(t.Context(), acme, utilizer.Request{User: ana.User, Query: query, Candidates: 20, Memories: 10, WordBudget: 250})
	if err != nil {
		t.Fatal(err)
	}
	var ranked, lines []string
	for _, s := range got.Ranked {
		ranked = append(ranked, s.Memory.Content)
	}
	for _, s := range got.Profile.Sections {
		lines = append(lines, s.Lines...)
	}
	says := func(what string) func(string) bool { return func(s string) bool { return strings.Contains(s, what) } }
	for _, shown := range [][]string{ranked, lines} {
		one, other := slices.IndexFunc(shown, says(first)), slices.IndexFunc(shown, says(second))
		if one < 0 || other < 0 || one > other {
			t.Errorf("%s: %q, want %q before %q", query, shown, first, second)
		}
	}
}
