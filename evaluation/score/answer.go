package score

import (
	"math"
	"strings"
	"unicode"
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
