package utilizer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/store/bank/inmem"
)

func filter(t testing.TB, raw string) memory.Filter {
	t.Helper()
	f, err := memory.ParseFilter([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// projects fills a recaller with ana's facts again. The second and the last belong to project x. A turn of x waits.
func projects(t testing.TB) (*utilizer.Recaller, []memory.Memory) {
	t.Helper()
	r := newRecaller(t)
	other := inmem.New(builtin.Dimension)
	seeded := seed(t, other)
	of := memory.Attributes{Metadata: map[string]any{"project": "x"}}
	turns, err := other.Turns(t.Context(), ana, []string{"t1", "t2", "t3", "t4"})
	if err != nil {
		t.Fatal(err)
	}
	w := memory.Write{Put: slices.Clone(seeded), Turns: turns, Core: &memory.Core{
		Version: 1, Content: "I live in Porto.\nI play tennis.", Lines: []memory.CoreLine{
			{Text: "I live in Porto.", Memories: []string{seeded[0].ID}},
			{Text: "I play tennis.", Memories: []string{seeded[3].ID}},
		},
	}}
	w.Put[1].Attributes, w.Put[3].Attributes = of, of
	b := inmem.New(builtin.Dimension)
	if err := b.Write(t.Context(), ana, w); err != nil {
		t.Fatal(err)
	}
	waits := memory.Turn{
		ID:         "t10",
		SessionID:  "s2",
		Speaker:    "Ana",
		Role:       memory.RoleUser,
		Text:       "Project X is late.",
		Time:       now,
		Attributes: of,
	}
	if err := r.Window.Append(t.Context(), ana, []memory.Turn{waits}); err != nil {
		t.Fatal(err)
	}
	r.Bank, r.Indexes = b, newIndexCache(t, b, roomy)
	return r, w.Put
}

// A recall with a filter shows the memories, turns and core block lines that match. It does so from the index and
// from a search.
func TestAFilteredRecallShowsWhatMatches(t *testing.T) {
	for name, options := range map[string]utilizer.IndexCacheOptions{"index": roomy, "search": {}} {
		for _, unranked := range []bool{false, true} {
			r, all := projects(t)
			r.Indexes = newIndexCache(t, r.Bank, options)
			q := where
			q.Candidates, q.Memories, q.Unranked, q.Filter = 2, 2, unranked,
				filter(t, `{"field":"metadata.project","equals":"x"}`)
			for range 2 { // at the second recall, the index is ready
				got, err := r.Recall(t.Context(), acme, q)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range got.Profile.Cited {
					if m.Metadata["project"] != "x" {
						t.Errorf("%s: cites %q", name, m.Content)
					}
				}
				if len(got.Retrieved) != 2 || len(got.Profile.Cited) == 0 {
					t.Errorf("%s: retrieved %d memories, want the two that match", name, len(got.Retrieved))
				}
				if w := got.Evidence.Window; len(w) != 1 || w[0].ID != "t10" {
					t.Errorf("%s: the window is %+v", name, w)
				}
				if c := got.Evidence.Core; len(c.Lines) != 1 || c.Content != "I play tennis." ||
					c.Lines[0].Memories[0] != all[3].ID {
					t.Errorf("%s: the core block is %+v", name, c)
				}
				for _, s := range got.Profile.Sections {
					if said := strings.Join(s.Lines, "\n"); strings.Contains(said, "peanuts") || strings.Contains(said, "Braga") {
						t.Errorf("%s: shows %q", name, said)
					}
				}
			}
		}
	}
}

// A block that a strategy wrote has no source memories, so no line of it can match.
func TestAFilteredRecallShowsNoBlockThatAStrategyWrote(t *testing.T) {
	r, _ := projects(t)
	if err := r.Bank.Write(t.Context(), ana, memory.Write{Core: &memory.Core{Version: 2,
		Content: "Ana is a nurse."}}); err != nil {
		t.Fatal(err)
	}
	q := where
	q.Filter = filter(t, `{"field":"metadata.project","exists":true}`)
	got, err := r.Recall(t.Context(), acme, q)
	if err != nil || got.Evidence.Core.Content != "" {
		t.Errorf("the core block is %+v, %v", got.Evidence.Core, err)
	}
}

// The result is empty if no memory, turn or line matches.
func TestAFilterThatNothingMatchesShowsNothing(t *testing.T) {
	r, _ := projects(t)
	q := where
	q.Filter = filter(t, `{"field":"agent_id","exists":true}`)
	got, err := r.Recall(t.Context(), acme, q)
	if err != nil || len(got.Profile.Cited) != 0 || len(got.Profile.Sections) != 0 {
		t.Errorf("got %+v, %v", got.Profile, err)
	}
}

func BenchmarkFilteredRecall(b *testing.B) {
	r, _ := projects(b)
	for name, raw := range map[string]string{"bare": "null", "filter": `{"field":"metadata.project","equals":"x"}`} {
		q := where
		q.Filter = filter(b, raw)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := r.Recall(b.Context(), acme, q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
