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
			ID: memory.DeriveID(ana, []string{turn}, 0), Kind: memory.KindFact, Content: content, Status: memory.StatusActive,
			Version:    1,
			RecordedAt: at, ValidFrom: at, Sources: []string{turn}, SessionID: "jobs", Vector: vectors[i],
		}
		if i == 1 {
			m.Links = []string{w.Put[0].ID}
		}
		w.Turns = append(w.Turns, memory.Turn{ID: turn, SessionID: "jobs", Speaker: "Ana", Role: memory.RoleUser,
			Text: content, Time: at})
		w.Put = append(w.Put, m)
	}
	if err := r.Bank.Write(t.Context(), ana, w); err != nil {
		t.Fatal(err)
	}
	return contents[0], contents[1]
}

func TestOfTwoLinkedMemoriesTheOneOfTheTimeAskedAboutComesFirst(t *testing.T) {
	for name, room := range map[string]utilizer.IndexCacheOptions{"all that is remembered": roomy,
		"the bank's search": {}} {
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

// putFirst ranks the memory with this content first.
type putFirst struct{ id string }

func (p putFirst) Rank(_ context.Context, a utilizer.Ask, m int) (utilizer.Order, error) {
	out := utilizer.Order{Scores: make([]float64, len(a.Candidates)), Version: "test"}
	for i, c := range a.Candidates {
		if c.ID == p.id {
			out.Places = append([]int{i}, out.Places...)
		} else {
			out.Places = append(out.Places, i)
		}
	}
	out.Places = out.Places[:min(m, len(out.Places))]
	return out, nil
}

// The newer of two linked memories is shown although it has no place, or is no candidate at all.
func TestANewerMemoryOutsideTheCutTakesAPlace(t *testing.T) {
	const query = "Does Ana work as a nurse at the Mercy clinic?"
	for name, c := range map[string]struct {
		candidates, memories int
		want                 []string
	}{
		"behind the cut": {20, 3, []string{"Harbour", "Mercy", ""}}, "no candidate": {1, 2, []string{"Harbour", "Mercy"}},
		"one place": {1, 1, []string{"Harbour"}},
	} {
		r := newRecaller(t)
		older, newer := doubt(t, r)
		r.Indexes, r.Ranker = newIndexCache(t, r.Bank, roomy), putFirst{memory.DeriveID(ana, []string{"job1"}, 0)}
		got, err := r.Recall(t.Context(), acme, utilizer.Request{
			User: ana.User, Query: query, Candidates: c.candidates, Memories: c.memories, WordBudget: 250,
		})
		if err != nil || len(got.Ranked) != len(c.want) {
			t.Fatalf("%s: got %v, %v, want %d memories", name, contents(got.Evidence.Memories), err, len(c.want))
		}
		for i, want := range c.want {
			if !strings.Contains(got.Ranked[i].Memory.Content, want) {
				t.Errorf("%s: place %d has %q, want %s", name, i, got.Ranked[i].Memory.Content, want)
			}
		}
		if line := `earlier: ` + older; c.memories > 1 != strings.Contains(profileText(got), line) ||
			!strings.Contains(profileText(got), newer) {
			t.Errorf("%s: got %s", name, profileText(got))
		}
	}
}

// The newer memory stands beside a line of the core block that it may correct.
func TestANewerMemoryStandsBesideTheCoreBlock(t *testing.T) {
	r := newRecaller(t)
	older, newer := doubt(t, r)
	id := memory.DeriveID(ana, []string{"job1"}, 0)
	core := memory.Core{Version: 1, Lines: []memory.CoreLine{{Text: older, Memories: []string{id}}}, Content: older}
	if err := r.Bank.Write(t.Context(), ana, memory.Write{Core: &core}); err != nil {
		t.Fatal(err)
	}
	r.Indexes = newIndexCache(t, r.Bank, roomy)
	ask := utilizer.Request{User: ana.User, Query: "Does Ana play tennis?", Candidates: 1, Memories: 1, WordBudget: 250}
	got, err := r.Recall(t.Context(), acme, ask)
	if err != nil || !strings.Contains(profileText(got), newer) || !strings.Contains(profileText(got), "earlier: "+older) {
		t.Errorf("got %s, %v", profileText(got), err)
	}
}

func profileText(r utilizer.Result) string {
	var out []string
	for _, s := range r.Profile.Sections {
		out = append(out, s.Lines...)
	}
	return strings.Join(out, "\n")
}

// inOrder checks that both memories are shown, first the older one, in the ranking and in the profile.
func inOrder(t *testing.T, r *utilizer.Recaller, query, first, second string) {
	t.Helper()
	got, err := r.Recall(t.Context(), acme, utilizer.Request{User: ana.User, Query: query, Candidates: 20, Memories: 10,
		WordBudget: 250})
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
