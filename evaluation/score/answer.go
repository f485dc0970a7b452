// Package score holds the measures that evaluations share. It measures covered evidence, contained answers and answer
// similarity, and it aggregates many such figures.
package score

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gonum.org/v1/gonum/stat"

	"github.com/mneme-memory/mneme/shared/text"
)

// plainTokens returns the words of an answer for comparison: lower case, without punctuation, articles and citations.
// This is the usual form for short answers.
func plainTokens(answer string) []string {
	answer = strings.Map(func(r rune) rune {
		if unicode.IsPunct(r) || unicode.IsSymbol(r) {
			return ' '
		}
		return unicode.ToLower(r)
	}, WithoutCitations(answer))
	var out []string
	for w := range strings.FieldsSeq(answer) {
		if w != "a" && w != "an" && w != "the" {
			out = append(out, w)
		}
	}
	return out
}

// WithoutCitations removes [1], [2, 3] and [NO_CITE] from an answer.
func WithoutCitations(answer string) string {
	var out strings.Builder
	for {
		open := strings.IndexByte(answer, '[')
		if open < 0 {
			break
		}
		end := strings.IndexByte(answer[open:], ']')
		if end < 0 {
			break
		}
		inside := answer[open+1 : open+end]
		out.WriteString(answer[:open])
		if strings.Trim(inside, "0123456789, ") != "" && inside != "NO_CITE" {
			out.WriteString(answer[open : open+end+1])
		}
		answer = answer[open+end+1:]
	}
	out.WriteString(answer)
	return out.String()
}

// common counts the words in both answers. A repeated word counts as often as both answers have it.
func common(answer, gold []string) int {
	left := map[string]int{}
	for _, w := range gold {
		left[w]++
	}
	n := 0
	for _, w := range answer {
		if left[w] > 0 {
			left[w]--
			n++
		}
	}
	return n
}

// F1 is the harmonic mean of word precision and word recall against the right answer, 0 to 1. Two answers without
// words are equal.
func F1(answer, gold string) float64 {
	a, g := plainTokens(answer), plainTokens(gold)
	if len(a) == 0 || len(g) == 0 {
		if len(a) == len(g) {
			return 1
		}
		return 0
	}
	n := common(a, g)
	return 2 * float64(n) / float64(len(a)+len(g))
}

// BLEU1 is the share of an answer's words that the right answer has, 0 to 1. A brevity penalty lowers it for a
// shorter answer.
func BLEU1(answer, gold string) float64 {
	a, g := plainTokens(answer), plainTokens(gold)
	if len(a) == 0 {
		return 0
	}
	precision := float64(common(a, g)) / float64(len(a))
	if len(a) >= len(g) {
		return precision
	}
	return precision * math.Exp(1-float64(len(g))/float64(len(a)))
}

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

// Share is n divided by of, 0 to 1. It is 0 if of is 0.
func Share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// Percent writes a share of 0 to 1 with one decimal.
func Percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

// Percentiles of values; zero for no values.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	N   int     `json:"n"`
}

// PercentilesOf returns the smallest values that half, and 99 %, of the values do not exceed.
func PercentilesOf(values []float64) Percentiles {
	if len(values) == 0 {
		return Percentiles{}
	}
	sorted := slices.Sorted(slices.Values(values))
	at := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, sorted, nil) }
	return Percentiles{P50: at(0.5), P99: at(0.99), N: len(sorted)}
}

const (
	// resamples is the number of draws of a bootstrap. The seed is fixed, so the same figures give the same interval.
	resamples = 2000
	drawSeed  = 20240229
)

// Interval is a 95 % confidence interval, written as [low, high].
type Interval struct{ Low, High float64 }

// MarshalJSON implements json.Marshaler.
func (i Interval) MarshalJSON() ([]byte, error) { return json.Marshal([2]float64{i.Low, i.High}) }

// Unit is one draw: a question, or all questions of a conversation.
type Unit struct {
	// Sum is the sum of N figures.
	Sum float64
	N   int
}

// Bootstrap is the 95 % percentile interval of the mean figure over units drawn with replacement. The draws are
// always the same. The interval is zero for no figures.
func Bootstrap(units []Unit) Interval {
	units = slices.DeleteFunc(slices.Clone(units), func(u Unit) bool { return u.N == 0 })
	if len(units) == 0 {
		return Interval{}
	}
	draw := rand.New(rand.NewPCG(drawSeed, uint64(len(units)))) //nolint:gosec // repeatable on purpose
	means := make([]float64, resamples)
	for i := range means {
		var drawn Unit
		for range units {
			u := units[draw.IntN(len(units))]
			drawn.Sum += u.Sum
			drawn.N += u.N
		}
		means[i] = drawn.Sum / float64(drawn.N)
	}
	slices.Sort(means)
	const tail = resamples / 40 // 2.5 %
	return Interval{Low: means[tail], High: means[resamples-1-tail]}
}

// Mean is the mean figure of the units.
func Mean(units []Unit) float64 {
	var all Unit
	for _, u := range units {
		all.Sum += u.Sum
		all.N += u.N
	}
	if all.N == 0 {
		return 0
	}
	return all.Sum / float64(all.N)
}
