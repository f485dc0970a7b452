package embedded_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/text"
)

// listener is a judge that finds nothing changed, and keeps what it is given.
type listener struct{ heard *[]relation.Statement }

func (l listener) Judge(later relation.Statement, stored []relation.Statement) []relation.Relation {
	*l.heard = append(*l.heard, later)
	return judge{}.Judge(later, stored)
}

func (l listener) Gone(later relation.Statement, parts []string) []float64 {
	return judge{}.Gone(later, parts)
}

func TestTheJudgeReadsTheWholeMessage(t *testing.T) {
	var heard []relation.Statement
	in := session("Ana: Cem's old van was sold last week. I bought a small Doblo and I drive to the market there myself now.")
	decide(t, listener{&heard}, in, stored("van", "my cousin Cem brings me to the market with his van"))
	if len(heard) < 2 {
		t.Fatalf("the message is judged as %+v, want at least two statements", heard)
	}
	for _, s := range heard {
		if !strings.Contains(s.Message, "van was sold") || !strings.Contains(s.Message, "drive to the market") || s.Text == s.Message {
			t.Errorf("%q is read within %q", s.Text, s.Message)
		}
		if strings.Contains(s.Message, "(20") {
			t.Errorf("%q has days in it that were not said", s.Message)
		}
	}
}

func TestOfALongMessageItsNeighboursAreRead(t *testing.T) {
	var turn []formation.Candidate
	for _, word := range []string{"one", "two", "three", "four", "five", "six", "seven"} {
		turn = append(turn, formation.Candidate{Content: word + strings.Repeat(" word", 19) + "."})
	}
	turn[4].Content = "[quotes: somebody else's words]"
	for at, want := range map[int][]string{0: {"one", "two"}, 2: {"three", "four"}, 3: {"three", "four"}, 6: {"six", "seven"}} {
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
