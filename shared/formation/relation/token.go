package relation

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/mneme-memory/mneme/shared/text"
)

// maxTokens bounds the tokens read of a statement: the model learned from statements of at most 45 words.
const maxTokens = 96

// token is a word, a number or a mark of a statement.
type token struct {
	lower string
	// key identifies lower, stem its stem.
	key, stem uint32
	// possessive identifies a possessive word by its owner; 0 for other words.
	possessive uint32
	// row is the word's row in the table of vectors, or -1 without a vector.
	row int32
	// cluster is the cluster of the word's vector; without a vector it has no meaning.
	cluster uint8
	// weight is how rare the word is in statements: its inverse document frequency, in nats; 0 for marks.
	weight                float32
	mark, number, capital bool
	// name is whether the word has a capital where only a name has one: not at the beginning.
	name bool
	// first is whether it is the first of its word in the statement.
	first bool
}

// content reports whether a word is rare enough to be a subject of a statement.
func (t token) content() bool { return !t.mark && t.weight > contentWeight }

// Words are content from contentWeight on; comparisons begin at the lower comparedWeight.
const (
	contentWeight  = 4
	comparedWeight = 3
)

// Reading is a statement as the model sees it: read once, compare it as often as wanted. It is immutable.
type Reading struct {
	statement Statement
	tokens    []token
	// compared are the indices of distinct words that have a vector and are not among the most frequent.
	compared []int
	// mean is the direction of the weighted sum of the word vectors, of length 1, or zero.
	mean []float32
}

func hash(s string) uint32 { return hashOn(2166136261, s) }

// hashOn goes on with FNV-1a.
func hashOn(h uint32, s string) uint32 {
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}

// tokens cuts a statement into words, numbers, and marks, except marks inside words.
func tokens(said string) []token {
	var out []token
	at := 0
	for _, w := range text.Words(said) {
		out = appendMarks(out, said[at:w.Start])
		out = append(out, token{lower: w.Lower, number: w.Number, capital: w.Capital, row: -1})
		at = w.End
	}
	out = appendMarks(out, said[at:])
	out = out[:min(len(out), maxTokens)]
	for i := range out {
		out[i].name = out[i].capital && i > 0 && (!out[i-1].mark || out[i-1].lower == ",") && out[i].lower != "i"
		out[i].key = hash(out[i].lower)
		if owner, ok := cutOwner(out[i].lower); ok {
			out[i].possessive = hash(owner)
		}
		out[i].first = !slices.ContainsFunc(out[:i], func(t token) bool { return t.key == out[i].key })
	}
	return out
}

func appendMarks(out []token, between string) []token {
	for _, r := range between {
		switch {
		case unicode.IsSpace(r), unicode.IsMark(r), unicode.IsControl(r), r == unicode.ReplacementChar, r == '(', r == ')',
			r == '\'':
		case r == '“', r == '”':
			out = append(out, token{lower: "\"", mark: true, row: -1})
		default:
			out = append(out, token{lower: string(r), mark: true, row: -1})
		}
	}
	return out
}

// Read reads a statement.
func (l *Lexicon) Read(s Statement) Reading {
	r := Reading{statement: s, tokens: tokens(strings.ToValidUTF8(s.Text, "")), mean: make([]float32, l.table.Dimension())}
	for i := range r.tokens {
		t := &r.tokens[i]
		if t.mark {
			continue
		}
		t.weight = l.weight(t.key)
		t.stem = hash(text.Stem(t.lower))
		if row, ok := l.table.Find(t.lower); ok {
			t.row, t.cluster = row, l.clusters[row]
			if t.first {
				l.table.Add(r.mean, row, t.weight)
				if t.weight > comparedWeight {
					r.compared = append(r.compared, i)
				}
			}
		}
	}
	normalise(r.mean)
	return r
}

func normalise(v []float32) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return
	}
	scale := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= scale
	}
}

// cutOwner takes the ending of a possessive off.
func cutOwner(word string) (string, bool) {
	if owner, ok := strings.CutSuffix(word, "'s"); ok {
		return owner, true
	}
	return strings.CutSuffix(word, "’s")
}
