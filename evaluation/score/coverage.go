// Package score holds the measures that evaluations share: how much evidence is covered, whether an answer is contained or alike, and what
// is made of many such figures.
package score

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
	wanted := slices.Compact(slices.Sorted(slices.Values(evidence)))
	covered := 0
	for _, id := range wanted {
		if slices.ContainsFunc(shown, func(s Shown) bool { return slices.Contains(s.Sources, id) }) {
			covered++
		}
	}
	return Share(covered, len(wanted))
}

// Contains reports whether the things shown say all content words of an answer, in any order.
func Contains(shown []Shown, answer string) bool {
	var said strings.Builder
	for _, s := range shown {
		said.WriteString(s.Text + "\n")
	}
	have := text.StemSet(said.String())
	return !slices.ContainsFunc(text.ContentStems(answer), func(stem string) bool { return !have[stem] })
}

// Overlap reports whether two lists share an entry.
func Overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// WordsIn is the share of some words whose stems are among those of a text; 0 of no words.
func WordsIn(words []string, stems map[string]bool) float64 {
	n := 0
	for _, w := range words {
		if stems[text.Stem(w)] {
			n++
		}
	}
	return Share(n, len(words))
}

// HalfOrMost returns, each once, those of some whose share is at least a half, or else the first of the greatest share, unless that is 0:
// what an entry tells, of what its turns do.
func HalfOrMost(of []int, share func(int) float64) (out []int) {
	best, most := -1, 0.0
	for _, i := range of {
		s := share(i)
		if s >= 0.5 && !slices.Contains(out, i) {
			out = append(out, i)
		}
		if s > most {
			best, most = i, s
		}
	}
	if len(out) == 0 && best >= 0 {
		out = append(out, best)
	}
	return out
}
