package utilizer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

// move stores that ana moved from Porto, her home in the seed, to Braga ten days later.
func move(t *testing.T, r *utilizer.Recaller) {
	t.Helper()
	const content = "Ana lives in Braga."
	vectors, err := builtin.New().Embed(t.Context(), []string{content})
	if err != nil {
		t.Fatal(err)
	}
	porto, moved := memory.DeriveID(ana, []string{"t1"}, 0), now.AddDate(0, 0, 10)
	w := memory.Write{
		Turns: []memory.Turn{{ID: "moved", SessionID: "s2", Speaker: "Ana", Role: memory.RoleUser,
			Text: "I live in Braga now.", Time: moved}},
		Put: []memory.Memory{{
			ID: memory.DeriveID(ana, []string{"moved"}, 0), Kind: memory.KindFact, Content: content, Status: memory.StatusActive,
			Version:      2,
			Predecessors: []string{porto}, RecordedAt: moved, ValidFrom: moved, Sources: []string{"moved"}, SessionID: "s2",
			Vector: vectors[0],
		}},
		Close: []memory.Closing{{ID: porto, Status: memory.StatusSuperseded, ValidTo: moved, OperationID: "op"}},
	}
	if err := r.Bank.Write(t.Context(), ana, w); err != nil {
		t.Fatal(err)
	}
}

func TestQuestionsAboutThePastAreAnsweredFromSupersededVersions(t *testing.T) {
	for name, room := range map[string]utilizer.IndexCacheOptions{"all that is remembered": roomy,
		"the bank's search": {}} {
		t.Run(name, func(t *testing.T) {
			r := newRecaller(t)
			r.Indexes = newIndexCache(t, r.Bank, room)
			askOfThePast(t, r)
		})
	}
}

func TestAProfileAsOfATimeShowsNothingLater(t *testing.T) {
	for name, room := range map[string]utilizer.IndexCacheOptions{"all that is remembered": roomy,
		"the bank's search": {}} {
		t.Run(name, func(t *testing.T) {
			r := newRecaller(t)
			r.Indexes = newIndexCache(t, r.Bank, room)
			withCore(t, r)
			move(t, r)
			for _, asOf := range []time.Time{now.AddDate(-1, 0, 0), now.Add(-time.Second), now} {
				q := utilizer.Request{User: ana.User, Query: "Where does Ana live, and is she packing?", Candidates: 20,
					Memories: 5, WordBudget: 250,
					AsOf: asOf}
				got, err := r.Recall(t.Context(), builder, q)
				if err != nil {
					t.Fatal(err)
				}
				known := !asOf.Before(now)
				if (len(got.Evidence.Window) > 0) != known || (len(got.Profile.Sections) > 0) != known ||
					got.Evidence.Core.Version != 0 {
					t.Errorf("as of %v: %+v, with the window %v", asOf, got.Profile, got.Evidence.Window)
				}
				for _, m := range got.Evidence.Memories {
					if m.ValidFrom.After(asOf) || strings.Contains(m.Value, "Braga") {
						t.Errorf("as of %v: %q, which was said at %v", asOf, m.Content, m.ValidFrom)
					}
				}
			}
		})
	}
}

// The current version comes with an earlier one, for a policy that reads it. A time that the caller names shows nothing
// later.
func TestTheCurrentVersionComesWithAnEarlierOne(t *testing.T) {
	for name, room := range map[string]utilizer.IndexCacheOptions{"all that is remembered": roomy,
		"the bank's search": {}} {
		t.Run(name, func(t *testing.T) {
			r := newRecaller(t)
			r.Indexes = newIndexCache(t, r.Bank, room)
			r.Now = func() time.Time { return now.AddDate(0, 0, 30) }
			move(t, r)
			for _, c := range []struct {
				query string
				asOf  time.Time
				want  string
			}{
				{"In which city did Ana live on 5 March 2026?", time.Time{}, "Ana lives in Braga."},
				{"In which city did Ana live before?", time.Time{}, "Ana lives in Braga."},
				{"In which city does Ana live?", time.Time{}, ""},
				{"In which city does Ana live?", now.AddDate(0, 0, 1), ""},
			} {
				got, err := r.Recall(t.Context(), acme, utilizer.Request{User: ana.User, Query: c.query, Candidates: 20,
					Memories:   5,
					WordBudget: 250, AsOf: c.asOf})
				if current := strings.Join(contents(got.Evidence.Current), " "); err != nil || current != c.want {
					t.Errorf("%s (as of %v): the current versions are %q, %v; want %q", c.query, c.asOf, current, err, c.want)
				}
			}
		})
	}
}

func askOfThePast(t *testing.T, r *utilizer.Recaller) {
	t.Helper()
	r.Now = func() time.Time { return now.AddDate(0, 0, 30) }
	move(t, r)
	_, generator, err := r.Policies("")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		query        string
		asOf         time.Time
		want, wanted string
	}{
		{"In which city does Ana live?", time.Time{}, "Braga", "lives in Porto. (until"},
		{"In which city did Ana live before she moved to Braga?", time.Time{}, "Porto. (until 2026-03-11)", "lives in Braga"},
		{"In which city did Ana live on 5 March 2026?", time.Time{}, "Porto. (until 2026-03-11)", "Braga"},
		{"In which city does Ana live?", now.AddDate(0, 0, 1), "Porto. (until 2026-03-11)", "Braga"},
		{"In which city does Ana live?", now.AddDate(0, 0, 11), "Braga", "Ana lives in Porto. (until"},
	} {
		got, err := r.Recall(t.Context(), acme, utilizer.Request{User: ana.User, Query: c.query, Candidates: 20, Memories: 5,
			WordBudget: 250,
			AsOf:       c.asOf})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := generator.Answer(t.Context(), ana, got.Evidence, got.Profile)
		if err != nil || !strings.Contains(answer.Text, c.want) || strings.Contains(answer.Text, c.wanted) {
			t.Errorf("%s (as of %v): %q, %v; want %q and not %q", c.query, c.asOf, answer.Text, err, c.want, c.wanted)
		}
	}
}
