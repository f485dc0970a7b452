package parallel_test

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/parallel"
	"github.com/mneme-memory/mneme/shared/memory"
)

// comparer is a former that does everything twice, in sequence and shared out, and goes on with the sequence.
type comparer struct {
	formation.Former
	t                  testing.TB
	shared             formation.Former
	inner              *fake
	sessions, differed int
	// changes counts the operations on known entries.
	changes int
	// unexplained counts the sessions that differed though no two groups interact.
	unexplained int
}

func compare(t testing.TB, f formation.Former) *comparer {
	inner := over(f)
	inner.division = f.(formation.Divisible).Division()
	return &comparer{Former: f, t: t, shared: parallel.New(inner, apart()), inner: inner}
}

func (c *comparer) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	want, err := c.Former.Extract(ctx, in)
	if err != nil {
		return nil, err
	}
	got, err := c.shared.Extract(ctx, in)
	if err != nil || asText(c.t, got) != asText(c.t, want) {
		c.t.Errorf("%s: chunks say %s, %v\nthe whole says %s", in.ID, asText(c.t, got), err, asText(c.t, want))
	}
	return want, nil
}

func (c *comparer) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	want, err := c.Former.Decide(ctx, in)
	if err != nil {
		return want, err
	}
	c.inner.bundles = nil
	got, err := c.shared.Decide(ctx, in)
	if err != nil {
		return got, err
	}
	c.sessions++
	for _, op := range want.Operations {
		if op.Kind != memory.OpAdd {
			c.changes++
		}
	}
	same := slices.Equal(asSet(c.t, got.Operations), asSet(c.t, want.Operations)) && slices.Equal(got.Retire, want.Retire)
	if !same {
		c.differed++
		if !c.interact(ctx, in, c.inner.bundles) {
			c.unexplained++
			c.t.Logf("%s: groups that do not interact in pairs decide\n%s\nthe sequence decides\n%s", in.Session.ID,
				asText(c.t, got.Operations), asText(c.t, want.Operations))
		}
		return want, nil
	}
	c.sameState(in, got, want)
	return want, nil
}

// sameState checks that both verdicts leave the same bank behind.
func (c *comparer) sameState(in formation.Bundle, got, want formation.Verdict) {
	var existing []memory.Memory
	seen := map[string]bool{}
	for _, r := range in.Related {
		for _, m := range r.Memories {
			if !seen[m.ID] {
				existing = append(existing, m)
			}
			seen[m.ID] = true
		}
	}
	state := func(v formation.Verdict) ([]memory.Memory, []memory.Closing) {
		w, err := memory.Plan(in.Session.Scope, v.Operations, existing, day)
		if err != nil {
			c.t.Errorf("%s cannot be applied: %v", in.Session.ID, err)
		}
		slices.SortFunc(w.Put, func(a, b memory.Memory) int { return compareText(a.ID, b.ID) })
		slices.SortFunc(w.Close, func(a, b memory.Closing) int { return compareText(a.ID, b.ID) })
		return w.Put, w.Close
	}
	gotPut, gotClose := state(got)
	wantPut, wantClose := state(want)
	if asText(c.t, gotPut) != asText(c.t, wantPut) || asText(c.t, gotClose) != asText(c.t, wantClose) {
		c.t.Errorf("%s: the banks differ", in.Session.ID)
	}
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// interact reports whether two of the groups interact: decided in sequence they do something else than decided apart.
func (c *comparer) interact(ctx context.Context, in formation.Bundle, groups []formation.Bundle) bool {
	place := map[string]int{}
	for i, r := range in.Related {
		place[asText(c.t, r.Candidate)] = i
	}
	alone := make([][]memory.Operation, len(groups))
	for i, g := range groups {
		alone[i] = c.decided(ctx, g)
	}
	for i, a := range groups {
		for j, b := range groups[:i] {
			both := a
			both.Related = slices.Concat(a.Related, b.Related)
			slices.SortFunc(both.Related, func(x, y formation.Related) int {
				return place[asText(c.t, x.Candidate)] - place[asText(c.t, y.Candidate)]
			})
			if !slices.Equal(asSet(c.t, c.decided(ctx, both)), asSet(c.t, slices.Concat(alone[i], alone[j]))) {
				return true
			}
		}
	}
	return false
}

func (c *comparer) decided(ctx context.Context, in formation.Bundle) []memory.Operation {
	v, err := c.Former.Decide(ctx, in)
	if err != nil {
		c.t.Error(err)
	}
	return v.Operations
}

// The test forms many invented lives. Chunks give the statements of the whole session. Groups that are decided
// separately give the result of the sequence in every session in which no two of them interact. The exception is one
// session in a hundred, in which more than two groups interact. The grouping must keep such interactions rare.
func TestGroupsDecidedApartDoWhatTheSequenceDoes(t *testing.T) {
	for name, f := range formers() {
		t.Run(name, func(t *testing.T) {
			c := compare(t, f)
			for _, sessions := range formationtest.People(t) {
				l := formationtest.NewLife(c)
				for _, session := range sessions {
					if _, _, err := l.Form(t.Context(), session); err != nil {
						t.Fatal(err)
					}
				}
			}
			t.Logf("%d sessions with %d changes, groups interact in %d", c.sessions, c.changes, c.differed)
			if c.unexplained*100 > c.sessions {
				t.Errorf("%d of %d sessions differ though no two groups interact, want at most one in a hundred", c.unexplained,
					c.sessions)
			}
			if c.changes < 30 {
				t.Errorf("only %d changes; the test shows nothing", c.changes)
			}
			if c.sessions < 30 || c.differed*7 > c.sessions {
				t.Errorf("groups interact in %d of %d sessions, want at least 30 sessions and at most one in seven", c.differed,
					c.sessions)
			}
		})
	}
}

// Any talk of a few phrases in any order, questions and their answers among them: much of it interacts.
func TestAnyTalk(t *testing.T) {
	texts := []string{
		"I live in Porto.", "I moved to Braga.", "I no longer live in Braga.", "I love green tea.", "I gave up green tea.",
		"My sister Eva is a dentist.",
		"I started as a nurse at Santa Clara Hospital.", "I quit my job as a nurse.", "My dog is called Rex.",
		"What is your dog called?", "Rex!",
		"We went to Rome last week.", "My favourite book is The Hollow Hill.", "I am allergic to peanuts.",
		"Where do you live now?",
		"In Lisbon.", "Thanks, that is great.",
	}
	f := formers()["salimory"]
	rapid.Check(t, func(r *rapid.T) {
		c := compare(t, f)
		in := told(rapid.SliceOfN(rapid.SampledFrom(texts), 1, 16).Draw(r, "texts")...)
		if _, _, err := formationtest.NewLife(c).Form(t.Context(), in); err != nil {
			r.Fatal(err)
		}
		if t.Failed() {
			r.Fatal("chunks or groups that do not interact differ from the sequence")
		}
	})
}

// What interacts lands in one group: decided apart, each candidate would take the place of the same entry.
func TestInteractingCandidatesAreDecidedTogether(t *testing.T) {
	in := told("I live in the old town of Braga.", "I love green tea.", "I live in the old town of Lisbon, not of Braga.")
	home := formationtest.Stored("m-1", "I live in the old town of Porto.")
	home.Speaker, home.Slot = "Ana", ""
	for name, f := range formers() {
		b := formation.Bundle{Session: in}
		candidates, err := f.Extract(t.Context(), in)
		if err != nil || len(candidates) != 3 {
			t.Fatalf("%s: %d candidates, %v", name, len(candidates), err)
		}
		formation.Number(candidates)
		home.Keywords = candidates[0].Keywords
		for _, c := range candidates {
			b.Related = append(b.Related, formation.Related{Candidate: c, Memories: []memory.Memory{home},
				Similarity: []float64{0.5}})
		}
		sequence, err := f.Decide(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		var split []memory.Operation
		for _, r := range b.Related {
			v, err := f.Decide(t.Context(), formation.Bundle{Session: in, Related: []formation.Related{r}})
			if err != nil {
				t.Fatal(err)
			}
			split = append(split, v.Operations...)
		}
		if slices.Equal(asSet(t, split), asSet(t, sequence.Operations)) {
			t.Errorf("%s: the candidates do not interact; the test shows nothing", name)
		}
		inner := over(f)
		got, err := parallel.New(inner, apart()).Decide(t.Context(), b)
		if err != nil || !slices.Equal(asSet(t, got.Operations), asSet(t, sequence.Operations)) {
			t.Errorf("%s: %s, %v\nwant %s", name, asText(t, got.Operations), err, asText(t, sequence.Operations))
		}
		if len(inner.bundles) != 2 {
			t.Errorf("%s: decided in %d groups, want the two homes and the tea", name, len(inner.bundles))
		}
	}
}
