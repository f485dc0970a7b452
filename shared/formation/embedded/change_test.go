package embedded_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// asking is a chooser that records the choices of one role and takes a given place.
type asking struct {
	role  decision.Role
	place int
	asked [][]decision.Option
}

func (a *asking) Choose(r decision.Role, options []decision.Option) int {
	if r != a.role {
		return decision.Rules{}.Choose(r, options)
	}
	a.asked = append(a.asked, options)
	return a.place
}

func TestWhatAStatementDoesToAnEntryIsTheChoosersToDecide(t *testing.T) {
	f := embedded.NewFormer(embedded.IdentityOf("salimory"))
	in := formationtest.Session("I moved to Porto last week.")
	stored := formationtest.Stored("m-1", "I live in Lisbon.")
	stored.Speaker = in.Turns[0].Speaker
	stored.ValidFrom = in.Turns[0].Time.AddDate(0, -1, 0)
	verdict := func(f *embedded.Former) formation.Verdict {
		t.Helper()
		candidates, err := f.Extract(t.Context(), in)
		if err != nil || len(candidates) != 1 {
			t.Fatalf("candidates %+v, %v", candidates, err)
		}
		v, err := f.Decide(t.Context(), formation.Bundle{Session: in, Related: []formation.Related{
			{Candidate: candidates[0], Memories: []memory.Memory{stored}, Similarity: []float64{0.7}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	usual := verdict(f)
	for place, want := range []memory.OpKind{memory.OpAdd, memory.OpAdd, memory.OpUpdate} {
		a := &asking{role: decision.Change, place: place}
		v := verdict(f.Deciding(a, "asked-1"))
		op := v.Operations[len(v.Operations)-1]
		if op.Kind != want || op.New == nil || op.New.PolicyVersion != f.Version()+"@asked-1" ||
			(place == 1) != (len(op.New.Links) == 1) {
			t.Errorf("taking %d: %+v", place, op)
		}
		if len(a.asked) != 1 || len(a.asked[0]) != 3 ||
			len(a.asked[0][2].Features) != len(decision.Features(decision.Change)) {
			t.Errorf("taking %d: asked %+v", place, a.asked)
		}
		if place == (decision.Rules{}).Choose(decision.Change, a.asked[0]) &&
			op.Kind != usual.Operations[len(usual.Operations)-1].Kind {
			t.Errorf("what the rules take gives %s, and without a chooser %s", op.Kind,
				usual.Operations[len(usual.Operations)-1].Kind)
		}
	}
}

func TestWhatAModelScoresIsTheChoosersToDecide(t *testing.T) {
	replaces := relation.Relation{relation.Replaces: 0.9, relation.Unrelated: 0.1}
	home := stored("home", "I live in Porto and I have a cat named Miso.")
	for role, tc := range map[decision.Role]struct {
		judge  judge
		said   string
		known  []memory.Memory
		wanted [2]string // by the first option and the second
		rules  int       // what these take
	}{
		decision.Apart: {
			said:   "Ana: I moved to Porto last week. My sister studies law in Vienna.",
			wanted: [2]string{"ADD", "ADD, ADD"}, rules: 1,
		},
		decision.Target: {
			judge: judge{"I drive a red Volvo.": replaces}, known: []memory.Memory{stored("car", "I drive a red Volvo.")},
			said:   "Ana: I bought a blue Saab last week. My sister studies law in Vienna.",
			wanted: [2]string{"UPDATE car, ADD", "ADD, UPDATE car"},
		},
		decision.Join: {
			judge: judge{"I drive a red Volvo.": replaces, "My car is a red Volvo.": replaces},
			known: []memory.Memory{stored("car", "I drive a red Volvo."), stored("again", "My car is a red Volvo.")},
			said:  "Ana: I bought a blue Saab last week.", wanted: [2]string{"UPDATE car linking again", "MERGE car again"},
		},
		decision.Retract: {
			judge: judge{home.Content: replaces, "I live in Porto": replaces}, known: []memory.Memory{home},
			// of each fact another
			said: "Ana: I moved to Lisbon last week.", wanted: [2]string{"ADD linking home", "UPDATE home"}, rules: 2,
		},
		decision.Rest: {
			judge:  judge{"I live in Porto. As it is.": replaces, "I live in Porto": replaces},
			known:  []memory.Memory{stored("home", "I live in Porto. As it is.")},
			said:   "Ana: I moved to Lisbon last week.",
			wanted: [2]string{"UPDATE home", "UPDATE home for the rest, ADD linking it"},
		},
	} {
		t.Run(string(role), func(t *testing.T) {
			done := func(choose decision.Chooser) string {
				f := embedded.NewFormerWith(embedded.IdentityOf("salimory"), tc.judge, 0.6, 0.3).Deciding(choose, "asked-1")
				in := session(tc.said)
				candidates, err := f.Extract(t.Context(), in)
				if err != nil {
					t.Fatal(err)
				}
				formation.Number(candidates)
				b := formation.Bundle{Session: in}
				for _, c := range candidates {
					b.Related = append(b.Related, formation.Related{Candidate: c, Memories: tc.known})
				}
				v, err := f.Decide(t.Context(), b)
				if err != nil {
					t.Fatal(err)
				}
				return told(v.Operations)
			}
			for place, want := range tc.wanted {
				a := &asking{role: role, place: place}
				if got := done(a); got != want {
					t.Errorf("taking %d: %s, want %s", place, got, want)
				}
				if len(a.asked) == 0 {
					t.Errorf("taking %d: nothing was asked", place)
				}
				for _, options := range a.asked {
					if len(options) != 2 || len(options[1].Features) != len(decision.Features(role)) ||
						len(options[0].Features) != len(options[1].Features) {
						t.Errorf("taking %d: asked %+v", place, options)
					}
				}
				if got := done(decision.Rules{}); place == tc.rules && got != want {
					t.Errorf("by the rules: %s, want %s", got, want)
				}
			}
			if got, want := done(fresh()), done(decision.Rules{}); got != want {
				t.Errorf("a policy that has not learned does %s, the rules %s", got, want)
			}
		})
	}
}

// fresh is a policy with a head for each role that has not learned.
func fresh() *decision.Policy {
	p := &decision.Policy{Version: "fresh-1", Heads: map[decision.Role]decision.Head{}}
	for _, r := range decision.Roles() {
		p.Heads[r] = decision.NewHead(len(decision.Features(r)), 0, nil)
	}
	return p
}

// told are operations in short.
func told(operations []memory.Operation) string {
	var out []string
	for _, op := range operations {
		words := append([]string{string(op.Kind)}, op.Targets...)
		switch {
		case op.Rest:
			words = append(words, "for the rest")
		case op.New != nil && len(op.New.Links) > 0:
			link := op.New.Links[0]
			if len(link) > 20 {
				link = "it" // which was written just now
			}
			words = append(words, "linking "+link)
		}
		out = append(out, strings.Join(words, " "))
	}
	return strings.Join(out, ", ")
}

// leaving is a chooser that takes the first option of a role, and leaves the others to the rules.
type leaving decision.Role

func (l leaving) Choose(r decision.Role, options []decision.Option) int {
	if r == decision.Role(l) {
		return 0
	}
	return decision.Rules{}.Choose(r, options)
}

func TestWhatIsLookedUpIsTheChoosersToDecide(t *testing.T) {
	f := embedded.NewFormer(embedded.IdentityOf("salimory"))
	for role, want := range map[decision.Role]int{decision.Lookup: formation.NoNeighbours, decision.Change: 0} {
		out, err := f.Deciding(leaving(role), "test").Extract(t.Context(),
			formationtest.Session("I moved to Porto last week."))
		if err != nil || len(out) != 1 || out[0].Neighbours != want {
			t.Errorf("%s: %+v, %v, want %d neighbours", role, out, err, want)
		}
	}
}

// sharing makes every statement share a search where sharing is possible. It leaves the other roles to the rules.
type sharing struct{}

func (sharing) Choose(r decision.Role, options []decision.Option) int {
	if r == decision.Share {
		return 1
	}
	return decision.Rules{}.Choose(r, options)
}

func TestStatementsShareASearchBehindTheFirstThatHasOne(t *testing.T) {
	f := embedded.NewFormer(embedded.IdentityOf("salimory"))
	in := formationtest.Session("I moved to Porto last week.", "My sister Eva is a dentist.", "I am allergic to peanuts.")
	for name, tc := range map[string]struct {
		choose decision.Chooser
		want   []int
	}{
		"rules":   {decision.Rules{}, []int{0, 0, 0}},
		"sharing": {sharing{}, []int{0, formation.SharedNeighbours, formation.SharedNeighbours}},
		"none is found": {leaving(decision.Lookup),
			[]int{formation.NoNeighbours, formation.NoNeighbours, formation.NoNeighbours}},
	} {
		out, err := f.Deciding(tc.choose, "test").Extract(t.Context(), in)
		var got []int
		for _, c := range out {
			got = append(got, c.Neighbours)
		}
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, tc.want)
		}
	}
}
