package builtin

import (
	"math"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/text/unicode/norm"
)

// Weights of the kinds of features. They are chosen by hand, on sentences written for it and on the order of public
// dialogues.
const (
	stopWeight    = 0.05
	commonWeight  = 0.5
	wordWeight    = 1.0
	numberWeight  = 1.0
	bigramWeight  = 0.2
	gramsWeight   = 0.5
	conceptWeight = 1.0
	minGram       = 3
	maxGram       = 5
)

// Kinds of features. The same letters as a word and as a gram are different features.
const (
	kindWord    uint64 = 0x9e3779b97f4a7c15
	kindBigram  uint64 = 0x3c6ef372fe94f82b
	kindGram    uint64 = 0xdaa66d2c7ddf743f
	kindConcept uint64 = 0x78dde6e5fd29f057
)

// term is a distinct word of a text.
type term struct {
	stem   string
	weight float64
	count  int
}

// sums collects the weighted features of one text. Additions follow the order of the text and are never fused with
// products. So every machine gets the same bits.
type sums [Dimension]float64

// add puts a feature into two places, each with a separate sign. Two features rarely meet in both places, which
// halves the effect of a collision.
func (s *sums) add(hash uint64, weight float64) {
	hash = mix(hash)
	weight = float64(weight * (1 / math.Sqrt2))
	s.addHalf(uint32(hash), weight)
	s.addHalf(uint32(hash>>32), weight)
}

// addHalf uses the low bits for the place and the highest for the sign.
func (s *sums) addHalf(half uint32, weight float64) {
	if half>>31 == 1 {
		weight = -weight
	}
	s[half%Dimension] += weight
}

// unit returns the sums at length one, or zeros for an empty text.
func (s *sums) unit() []float32 {
	out := make([]float32, Dimension)
	var square float64
	for _, x := range s {
		square += float64(x * x)
	}
	if square == 0 {
		return out
	}
	length := math.Sqrt(square)
	for i, x := range s {
		out[i] = float32(x / length)
	}
	return out
}

// grams adds the character n-grams of a word with its boundaries marked. Their total weight is weight, whatever
// their number.
func (s *sums) grams(word string, weight float64) {
	padded := "<" + word + ">"
	starts := make([]int, 0, 64)
	for i := range padded {
		starts = append(starts, i)
	}
	starts = append(starts, len(padded))
	runes := len(starts) - 1
	total := 0
	for n := minGram; n <= maxGram && n <= runes; n++ {
		total += runes - n + 1
	}
	if total == 0 {
		return
	}
	each := weight / math.Sqrt(float64(total))
	for n := minGram; n <= maxGram && n <= runes; n++ {
		for i := 0; i+n <= runes; i++ {
			s.add(xxhash.Sum64String(padded[starts[i]:starts[i+n]])^kindGram, each)
		}
	}
}

// run adds a stretch of a script without spaces: its characters and pairs of characters.
func (s *sums) run(text string, weight float64) {
	previous := 0
	for i, r := range text {
		size := utf8.RuneLen(r)
		s.add(xxhash.Sum64String(text[i:i+size])^kindWord, float64(0.5*weight))
		if i > 0 {
			s.add(xxhash.Sum64String(text[previous:i+size])^kindBigram, weight)
		}
		previous = i
	}
}

// mix spreads the bits of a hash (the finaliser of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// pair is the hash of two words in order.
func pair(first, second string) uint64 {
	return bits.RotateLeft64(xxhash.Sum64String(first), 17) ^ xxhash.Sum64String(second) ^ kindBigram
}

// token is a word or number of a text.
type token struct {
	text string
	// number says that it contains a digit. A number is not stemmed.
	number bool
	// unspaced says that its script is written without spaces. Such a token is a run of characters and no word.
	unspaced bool
}

// tokens splits a text into words and numbers in lower case, without accents.
func tokens(text string) []token {
	text = fold(text)
	out := make([]token, 0, len(text)/5+1)
	runes := []rune(text)
	for i := 0; i < len(runes); {
		if !wordRune(runes[i]) {
			i++
			continue
		}
		end := scan(runes, i)
		out = append(out, classify(runes[i:end])...)
		i = end
	}
	return out
}

// fold lowers the case and removes Latin, Greek and Cyrillic accents. ASCII is the fast path.
func fold(text string) string {
	ascii := true
	for i := 0; i < len(text) && ascii; i++ {
		ascii = text[i] < 0x80
	}
	if ascii {
		return strings.ToLower(text)
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 0x0300 && r <= 0x036f:
			return -1
		case r == '\u2019' || r == '\u02bc':
			return '\''
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(text))
	return norm.NFC.String(text)
}

func wordRune(r rune) bool {
	if r < 0x80 {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
	}
	return r != unicode.ReplacementChar && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// scan returns the end of the token that begins at start. Signs inside numbers and dates (7:30, 3.5, 2023-05-01,
// 1,000) and apostrophes inside words belong to it.
func scan(runes []rune, start int) int {
	end := start + 1
	for end < len(runes) {
		r := runes[end]
		inner := end+1 < len(runes) && joins(runes[end-1], r, runes[end+1])
		changes := unspaced(r) != unspaced(runes[end-1])
		if !inner && (!wordRune(r) || changes) {
			return end
		}
		end++
	}
	return end
}

// joins reports whether sign joins before and after into one token.
func joins(before, sign, after rune) bool {
	switch sign {
	case '.', ',', ':', '-', '/':
		return unicode.IsDigit(before) && unicode.IsDigit(after)
	case '\'':
		return unicode.IsLetter(before) && unicode.IsLetter(after)
	}
	return false
}

// unspaced reports whether a rune is of a script that puts no spaces between words.
func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar)
}

// classify makes tokens of a scanned stretch. A number with signs also gives its parts, so that "2023-05-01" and
// "2023" share a token.
func classify(runes []rune) []token {
	text := string(runes)
	if unspaced(runes[0]) {
		return []token{{text: text, unspaced: true}}
	}
	if !strings.ContainsFunc(text, unicode.IsDigit) {
		return []token{{text: bare(text)}}
	}
	whole := strings.ReplaceAll(text, ",", "")
	out := []token{{text: whole, number: true}}
	parts := strings.FieldsFunc(whole, func(r rune) bool { return strings.ContainsRune(".:-/'", r) })
	if len(parts) < 2 {
		return out
	}
	for _, part := range parts {
		out = append(out, token{text: part, number: true})
	}
	return out
}

// bare removes an English ending after an apostrophe: "ana's" is "ana", "didn't" is "didn".
func bare(word string) string {
	at := strings.LastIndexByte(word, '\'')
	if at < 0 {
		return word
	}
	switch word[at+1:] {
	case "s", "t", "m", "d", "ll", "re", "ve":
		return word[:at]
	}
	return word
}
