// Package score holds the measures that evaluations share. It measures covered evidence, contained answers and answer
// similarity, and it aggregates many such figures.
package score

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/text"
)

// Shown is one result for a question: a memory, or a turn where turns are ranked.
type Shown struct {
	// Sources are the source turns of the result.
	Sources []string
	// Text is the text of the result.
	Text string
}

// Coverage is the share of the evidence turns, 0 to 1, that are sources of the results. Each turn counts once. It is
// 0 without evidence.
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

// Contains reports whether the results contain all content words of an answer, in any order.
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

// WordsIn is the share of words with a stem among the stems of a text. It is 0 for no words.
func WordsIn(words []string, stems map[string]bool) float64 {
	n := 0
	for _, w := range words {
		if stems[text.Stem(w)] {
			n++
		}
	}
	return Share(n, len(words))
}

// HalfOrMost returns each value with a share of at least a half, once. If no value reaches a half, it returns the
// first value with the greatest share above 0. Callers use it to find the statements of an entry.
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
