package embedded_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// listener is a judge that finds no change and records its input.
type listener struct{ heard *[]relation.Statement }

func (l listener) Judge(later relation.Statement, stored []relation.Statement) []relation.Relation {
	*l.heard = append(*l.heard, later)
	return judge{}.Judge(later, stored)
}

func (l listener) Between(later, stored relation.Statement) relation.Relation {
	return judge{}.Between(later, stored)
}

func (l listener) Gone(later relation.Statement, parts []string) []float64 {
	return judge{}.Gone(later, parts)
}

func TestTheJudgeReadsTheWholeMessage(t *testing.T) {
	var heard []relation.Statement
	in := session("Ana: Cem's old van was sold last week. I bought a small Doblo and I drive to the market there myself now.")
	decide(t, listener{&heard}, in, stored("van", "my cousin Cem brings me to the market with his van"))
	if len(heard) != 1 {
		t.Fatalf("the message is judged as %+v, want it judged once", heard)
	}
	for _, s := range heard {
		if !strings.Contains(s.Text, "van was sold") || !strings.Contains(s.Text, "drive to the market") {
			t.Errorf("%q is read, want all of the message", s.Text)
		}
		if strings.Contains(s.Text, "(20") {
			t.Errorf("%q has days in it that were not said", s.Text)
		}
	}
}

func TestOfALongMessageItsNeighboursAreRead(t *testing.T) {
	var turn []formation.Candidate
	for _, word := range []string{"one", "two", "three", "four", "five", "six", "seven"} {
		turn = append(turn, formation.Candidate{Content: word + strings.Repeat(" word", 19) + "."})
	}
	turn[4].Content = "[quotes: somebody else's words]"
	for at, want := range map[int][]string{0: {"one", "two"}, 2: {"three", "four"}, 3: {"three", "four"},
		6: {"six", "seven"}} {
		got := embedded.Message(turn, at)
		var first []string
		for _, s := range strings.SplitAfter(got, ". ") {
			first = append(first, strings.Fields(s)[0])
		}
		if !slices.Equal(first, want) || text.CountWords(got) > 55 {
			t.Errorf("of %d: %q, want what begins with %q", at, got, want)
		}
	}
}

func TestWhatIsQuotedTakesNoChangeFromTheUsersOwnWords(t *testing.T) {
	in := session("Ana: > I no longer live in Porto\n\nTrue. My new flat is in Lisbon.")
	ops := decide(t, changer("My new flat"), in, stored("porto", "I live in Porto"))
	if !slices.ContainsFunc(ops, func(op memory.Operation) bool { return slices.Equal(op.Targets, []string{"porto"}) }) {
		t.Errorf("got %+v, want the entry closed", ops)
	}
}

func TestAChangeIsPutToAStatementWhoseSearchFoundTheEntry(t *testing.T) {
	in := session("Ana: My new flat is in Lisbon. The boxes came on Monday.")
	said := extract(t, in)
	if len(said) != 2 {
		t.Fatalf("got %q, want two statements", contents(said))
	}
	b := formation.Bundle{Session: in, Related: []formation.Related{
		{Candidate: said[0]}, {Candidate: said[1], Memories: []memory.Memory{stored("porto", "I live in Porto")}},
	}}
	v, err := embedded.NewFormerWith(embedded.IdentityOf("salimory"), changer("My new flat"), 0.6, 0.3).Decide(t.Context(),
		b)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(v.Operations, func(op memory.Operation) bool {
		return slices.Equal(op.Targets, []string{"porto"})
	}) {
		t.Errorf("got %+v, want the entry closed by the one statement that was held against it", v.Operations)
	}
}

func TestWhatAMessageTellsAgainIsNotWhatItChanges(t *testing.T) {
	known := []memory.Memory{
		stored("oslo", "I live in Oslo."), stored("dentist", "I work as a dentist."),
		stored("cat", "I have a cat called Miso."),
		stored("volvo", "I drive a Volvo."), stored("shellfish", "I'm allergic to shellfish."),
	}
	for said, want := range map[string][]string{
		"I moved to Bergen last week. I'm still allergic to shellfish.":               {"oslo"},
		"I sold the Volvo. I'm still allergic to shellfish.":                          {"volvo"},
		"Moved to Bergen! Still a dentist.":                                           {"oslo"},
		"I quit my job at the clinic and became a baker. The cat is doing great.":     {"dentist"},
		"I moved to Bergen last week. I sold the Volvo, too, no need for a car here.": {"oslo", "volvo"},
		"Lovely weather here today. I'm still allergic to shellfish.":                 nil,
	} {
		in := session("Ana: " + said)
		b := formation.Bundle{Session: in}
		for _, c := range extract(t, in) {
			b.Related = append(b.Related, formation.Related{Candidate: c, Memories: known})
		}
		v, err := embedded.NewFormer(embedded.IdentityOf("salimory")).Decide(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		var closed []string
		for _, op := range v.Operations {
			if op.Kind != memory.OpNone {
				closed = append(closed, op.Targets...)
			}
		}
		slices.Sort(closed)
		if !slices.Equal(closed, want) {
			t.Errorf("%q closes %q, want %q", said, closed, want)
		}
	}
}

func TestWhatIsToldTwiceIsClosedTogether(t *testing.T) {
	in := session("Ana: I sold the Volvo last week.")
	b := formation.Bundle{Session: in}
	for _, c := range extract(t, in) {
		b.Related = append(b.Related, formation.Related{Candidate: c, Memories: []memory.Memory{
			stored("a", "I drive a red Volvo."), stored("b", "My car is a red Volvo."), stored("c", "I live in Oslo."),
		}})
	}
	v, err := embedded.NewFormer(embedded.IdentityOf("salimory")).Decide(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Operations) != 1 || v.Operations[0].Kind != memory.OpMerge || len(v.Operations[0].Targets) != 2 {
		t.Errorf("got %+v, want both entries of the car closed", v.Operations)
	}
}

// changer is a judge that takes every message with certain words for a change of all stored entries. A quoted message
// changes them most.
type changer string

func (c changer) Judge(later relation.Statement, stored []relation.Statement) []relation.Relation {
	out := make([]relation.Relation, len(stored))
	for i := range out {
		switch {
		case strings.Contains(later.Text, "quotes"):
			out[i] = relation.Relation{relation.Replaces: 0.99, relation.Unrelated: 0.01}
		case strings.Contains(later.Text, string(c)):
			out[i] = relation.Relation{relation.Replaces: 0.9, relation.Unrelated: 0.1}
		default:
			out[i] = relation.Relation{relation.Unrelated: 1}
		}
	}
	return out
}

func (c changer) Between(later, stored relation.Statement) relation.Relation {
	return c.Judge(later, []relation.Statement{stored})[0]
}

func (c changer) Gone(_ relation.Statement, parts []string) []float64 {
	return make([]float64, len(parts))
}

func TestAQuestionStandsWithWhatItAsksAbout(t *testing.T) {
	in := session("Ana: I moved to Lisbon in May and teach chemistry there. Which schools in Lisbon look for chemistry teachers?")
	got := contents(extract(t, in))
	if len(got) != 1 || !strings.HasSuffix(got[0], "?") {
		t.Errorf("got %q, want one memory with its question", got)
	}
}
