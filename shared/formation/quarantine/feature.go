package quarantine

import (
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/model/classifier"
)

// Bins is how many weights a model has: a term has the weight of its hash.
const Bins = 1 << binBits

const binBits = 18

// Clause is a sentence of a text as the model reads it.
type Clause struct {
	// From and To are its bytes in the text.
	From, To int
	// Readings are the terms of the sentence, by bin, in its plain form and in its decoded forms. The highest score of a
	// reading is the score of the sentence.
	Readings [][]classifier.Feature
}

// Clauses returns the sentences of a text as the model reads them.
func Clauses(said string) []Clause { return clauses(sentences(said)) }

func clauses(all []sentence) []Clause {
	out := make([]Clause, len(all))
	for i := range all {
		s := &all[i]
		out[i] = Clause{From: s.from, To: s.to, Readings: [][]classifier.Feature{append(s.features(),
			surroundings(all, i)...)}}
		for _, r := range s.readings() {
			decoded := read(r, 0)
			b := bag{out: decoded.features()}
			b.mark("decoded")
			b.close(weightDecoded)
			out[i].Readings = append(out[i].Readings, b.out)
		}
	}
	return out
}

// Weights of the groups of terms: the squares of a group's values add up to the square of its weight.
const (
	weightWords   = 1
	weightClasses = 2
	weightMarks   = 1
	weightSignals = 1
	weightAround  = 0.6
	weightWhole   = 0.5
	weightDecoded = 0.3
)

// Kinds of terms, which the hashes of their names begin with.
const (
	termWord = iota + 1
	termStem
	termClass
	termOpening
	termMark
	termBefore
	termAfter
)

// bag collects the terms of a sentence, group by group.
type bag struct {
	group []uint32
	out   []classifier.Feature
}

func (b *bag) add(hash uint64) { b.group = append(b.group, uint32(hash>>(64-binBits))) }

func (b *bag) mark(name string) { b.add(hashed(termMark, name)) }

// sign is a mark that a sentence has or not.
type sign struct {
	name string
	is   bool
}

func (b *bag) marks(signs []sign) {
	for _, s := range signs {
		if s.is {
			b.mark(s.name)
		}
	}
}

// close ends a group. Each term counts once.
func (b *bag) close(weight float64) {
	slices.Sort(b.group)
	b.group = slices.Compact(b.group)
	value := float32(weight / math.Sqrt(float64(max(1, len(b.group)))))
	for _, bin := range b.group {
		b.out = append(b.out, classifier.Feature{Key: bin, Value: value})
	}
	b.group = b.group[:0]
}

// hashed is a hash of a term of some kind: FNV-1a, mixed.
func hashed(kind uint64, term string) uint64 {
	h := 14695981039346656037 ^ kind*0x9E3779B97F4A7C15
	for i := range len(term) {
		h = (h ^ uint64(term[i])) * 1099511628211
	}
	return mixed(h)
}

func mixed(h uint64) uint64 {
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	return h ^ h>>32
}

// numbered is a hash of a term that is made of small numbers.
func numbered(kind uint64, n uint64) uint64 { return mixed(kind<<32 | n) }

// stemRunes is how many characters of a longer word are its stem.
const stemRunes = 5

// features returns the terms of a sentence without its surroundings.
func (s *sentence) features() []classifier.Feature {
	b := bag{out: make([]classifier.Feature, 0, 8*len(s.tokens)+32), group: make([]uint32, 0, 8*len(s.tokens)+32)}
	s.words(&b)
	b.close(weightWords)
	s.classes(&b)
	b.close(weightClasses)
	s.marks(&b)
	b.close(weightMarks)
	s.signals(&b)
	b.close(weightSignals)
	return b.out
}

// words adds the words, their stems, and pairs with the next word and the one behind it.
func (s *sentence) words(b *bag) {
	var last, lastButOne uint64
	for _, t := range s.tokens {
		h := hashed(termWord, t.word)
		b.add(h)
		b.add(mixed(last*3 + h))
		if lastButOne != 0 {
			b.add(mixed(lastButOne*5 + h))
		}
		if len(t.word) > stemRunes {
			at, n := len(t.word), 0
			for i := range t.word {
				if n == stemRunes {
					at = i
					break
				}
				n++
			}
			if at < len(t.word) {
				b.add(hashed(termStem, t.word[:at]))
			}
		}
		last, lastButOne = h, last
	}
}

// classWindow is how many tokens apart two classes are a pair.
const classWindow = 10

// ofLexicon are the classes of what begins at a token; verbs that need no place count as the others.
func (t *token) ofLexicon() uint64 {
	of := uint64(t.begins)
	return (of | of>>anywhereShift&uint64(acts)) &^ uint64(actsAnywhere)
}

// classes adds the classes of the lexicon, which all languages have in common, and pairs of them in order.
func (s *sentence) classes(b *bag) {
	type found struct {
		class uint64
		at    int
	}
	var all []found
	for i := range s.tokens {
		for of := s.tokens[i].ofLexicon(); of != 0; of &= of - 1 {
			k := uint64(bits.TrailingZeros64(of))
			all = append(all, found{k, i})
			b.add(numbered(termClass, k))
			if s.tokens[i].opens {
				b.add(numbered(termOpening, k))
			}
		}
	}
	for i, first := range all {
		for _, second := range all[i+1:] {
			if second.at-first.at > classWindow {
				break
			}
			b.add(numbered(termClass, (first.class+1)<<8|second.class))
		}
	}
}

// marks adds what needs no language, or the lexicon alone.
func (s *sentence) marks(b *bag) {
	colon := strings.IndexByte(s.text, ':')
	mine, about := s.all&(self|own) != 0, s.all&(person|user) != 0
	b.marks([]sign{
		{"asks", s.asks}, {"link", strings.Contains(s.text, "://")},
		{"address", strings.ContainsAny(s.text, ".@") && address.MatchString(s.text)},
		{"bracket", strings.ContainsAny(s.text[:min(1, len(s.text))], "[<{#")}, {"assigns", strings.Contains(s.text, "=")},
		{"colon", colon >= 0}, {"head", colon > 0 && colon < 25},
		{"quotes", strings.ContainsAny(s.text, "\"“”«»„「」『』")},
		{"not mine", !mine}, {"not mine, about", !mine && about},
		{"not mine, begins", !mine && len(s.tokens) > 0 && s.tokens[0].begins&(acts|actsAnywhere|reveal|praise) != 0},
		{"short", len(s.tokens) < 4}, {"long", len(s.tokens) > 14}, {"longer", len(s.tokens) > 30},
	})
}

// morse is text in dots and dashes.
var morse = regexp.MustCompile(`(?:[.·-]{1,5}[ /]+){6,}`)

// signals adds signs of a disguise, and of a prompt.
func (s *sentence) signals(b *bag) {
	shapedLetters, symbols, latin, others, hidden := 0, 0, false, false, false
	if !isPlain(s.text) {
		for _, r := range s.text {
			switch {
			case r < utf8.RuneSelf:
				latin = latin || unicode.IsLetter(r)
			case r >= 0x1D400 && r <= 0x1D7FF, r >= 0xFF21 && r <= 0xFF5A,
				r >= 0x2460 && r <= 0x24FF, r >= 0x1F100 && r <= 0x1F1FF:
				shapedLetters++
			case unicode.Is(unicode.So, r):
				symbols++
			}
			others = others || r > unicode.MaxLatin1 && unicode.In(r, unicode.Cyrillic, unicode.Greek)
			hidden = hidden || isInvisible(r)
		}
	}
	digits, longest, spells := s.shape()
	colon := strings.IndexByte(s.text, ':')
	b.marks([]sign{
		{"shaped", shapedLetters > 5}, {"symbols", symbols > 3}, {"mixed", latin && others}, {"hidden", hidden},
		{"morse", strings.Contains(s.text, "- ") && morse.MatchString(s.text)},
		{"spelled", spells && spelled.MatchString(s.text)}, {"leet", digits > 0 && leet.MatchString(s.text)},
		{"blob", (longest > 15 || strings.Contains(s.text, "%") || digits > 7) && blob.MatchString(s.text)},
		{"account", (digits > 1 || longest > 15) && account.MatchString(s.text)},
		{"json", strings.Contains(s.text, `":`)},
		{"tags", strings.Contains(s.text, "</") || strings.Contains(s.text, "<|") || strings.Contains(s.text, "[/")},
		{"role", colon > 1 && colon < 25 && strings.ToUpper(s.text[:colon]) == s.text[:colon]},
	})
}

// shape counts the digits, the bytes of the longest run without blanks, and tells whether many letters stand alone. It
// saves the expressions that take longer.
func (s *sentence) shape() (digits, longest int, spells bool) {
	run, alone := 0, 0
	for i := range len(s.text) {
		switch c := s.text[i]; {
		case c == ' ' || c == '\n' || c == '\t':
			run = 0
			continue
		case c >= '0' && c <= '9' || c == '@' || c == '$':
			digits++
		}
		run++
		longest = max(longest, run)
	}
	for _, t := range s.tokens {
		if utf8.RuneCountInString(t.word) == 1 {
			alone++
		}
	}
	return digits, longest, alone > 3
}

// surroundings returns the terms of a sentence's surroundings: the classes of its neighbours, and the person whom the
// text is about.
func surroundings(all []sentence, i int) []classifier.Feature {
	var b bag
	for j := max(0, i-2); j < min(len(all), i+2); j++ {
		if j == i {
			continue
		}
		kind := uint64(termBefore)
		if j > i {
			kind = termAfter
		}
		for k := range all[j].tokens {
			for of := all[j].tokens[k].ofLexicon(); of != 0; of &= of - 1 {
				b.add(numbered(kind, uint64(bits.TrailingZeros64(of))))
			}
		}
		b.add(hashed(kind, "there"))
		if strings.HasSuffix(strings.TrimSpace(all[j].text), ":") {
			b.add(hashed(kind, "colon"))
		}
	}
	b.close(weightAround)
	var has class
	words := 0
	for _, s := range all {
		has |= s.all
		words += len(s.tokens)
	}
	mine, about := has&(self|own) != 0, has&(person|user) != 0
	b.marks([]sign{
		{"whole: mine", mine}, {"whole: about", about}, {"whole: both", mine && about}, {"whole: neither", !mine && !about},
		{"whole: one", len(all) == 1}, {"whole: first", i == 0 && len(all) > 1}, {"whole: last", i > 0 && i+1 == len(all)},
		{"whole: long", words > 40}, {"whole: others' beside mine", mine && all[i].all&(self|own) == 0},
	})
	b.close(weightWhole)
	return b.out
}
