package evaluation

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/text"
)

// Shown is one thing that was shown for a question: a memory, or a turn where turns themselves are ranked.
type Shown struct {
	// Sources are the turns that it rests on.
	Sources []string
	// Text is what it says.
	Text string
}

// Coverage is the share of the evidence turns, 0 to 1, that the things shown rest on; each turn counts once. It is 0 without evidence.
func Coverage(evidence []string, shown []Shown) float64 {
	wanted := distinct(evidence)
	covered := 0
	for _, id := range wanted {
		if slices.ContainsFunc(shown, func(s Shown) bool { return slices.Contains(s.Sources, id) }) {
			covered++
		}
	}
	return share(covered, len(wanted))
}

// Tells reports whether the things shown say all content words of an answer, in any order.
func Tells(shown []Shown, answer string) bool {
	var said strings.Builder
	for _, s := range shown {
		said.WriteString(s.Text + "\n")
	}
	have := text.StemSet(said.String())
	for _, stem := range text.ContentStems(answer) {
		if !have[stem] {
			return false
		}
	}
	return true
}

// top is the first k of what was shown.
func top(shown []Shown, k int) []Shown { return shown[:min(k, len(shown))] }

// within are the things that fit into so many words, the first ones first; one that does not fit is passed over for shorter ones.
func within(shown []Shown, words int) []Shown {
	var out []Shown
	for _, s := range shown {
		if n := len(strings.Fields(s.Text)); n <= words {
			words -= n
			out = append(out, s)
		}
	}
	return out
}

// until are the things before the first that no longer fits into so many words.
func until(shown []Shown, words int) []Shown {
	for i, s := range shown {
		if words -= len(strings.Fields(s.Text)); words < 0 {
			return shown[:i]
		}
	}
	return shown
}
