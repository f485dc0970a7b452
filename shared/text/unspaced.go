package text

import (
	"iter"
	"regexp"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// script is the script of a character without spaces around it.
type script int

const (
	spaced script = iota
	han
	hiragana
	katakana
	// others are Hangul, which has spaces but writes particles at the end of its words, and scripts of South-East Asia.
	others
)

func scriptOf(r rune) script {
	switch {
	case r < 0x0e00:
		return spaced
	case unicode.Is(unicode.Han, r):
		return han
	case unicode.Is(unicode.Hiragana, r):
		return hiragana
	case unicode.Is(unicode.Katakana, r):
		return katakana
	case unicode.In(r, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return others
	}
	return spaced
}

// unspaced reports whether a rune is of a script that does not, or does not always, separate words by spaces. Such
// text is compared by neighbouring characters.
func unspaced(r rune) bool { return scriptOf(r) != spaced }

// IsUnspaced reports whether a word is in part of a script that does not, or does not always, separate words by spaces.
func IsUnspaced(word string) bool { return strings.ContainsFunc(word, unspaced) }

// particles are stop words of Chinese and Japanese: pronouns, question words, particles and endings of verbs. Longer
// ones come first. Particles of a single syllable are in many words, and so are not among them.
var particles = regexp.MustCompile(`什么时候|为什么|怎么样|什么样|什么|哪里|哪儿|哪个|哪些|怎么|多少|我们|你们|他们|她们|自己|这个|那个|一个|因为|所以|但是|` +
	`的|了|吗|呢|吧|是|在|和|着|` +
	`していますか|していました|していました|しています|している|しましたか|しました|しますか|します|ていますか|でいますか|ていました|でいました|ています|` +
	`でいます|ている|でいる|ましたか|でしたか|ませんか|ますか|ですか|ません|でした|ました|ましょう|でしょう|ます|です|だった|ください|という|について|` +
	`どのくらい|どうして|どんな|いくら|いくつ|から|まで|さん|どこ|どう|どの|どれ|だれ|いつ|なぜ|なに|これ|それ|あれ|この|その|あの|こと|もの|ため|よう|` +
	`する|した|して|を`)

// runs are the stretches of a word that are of such a script, or that are not, without particles. Within a word,
// Japanese changes its script only from Chinese characters to hiragana.
func runs(word string) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		start, was := 0, spaced
		flush := func(end int) bool {
			if was == spaced || start == end {
				return start == end || yield(word[start:end], false)
			}
			for _, part := range particles.Split(word[start:end], -1) {
				if part != "" && !yield(part, true) {
					return false
				}
			}
			return true
		}
		for i, r := range word {
			is := scriptOf(r)
			if i > 0 && (unicode.IsMark(r) || r == 'ー') {
				is = was
			}
			if is != was && (was != han || is != hiragana) {
				if !flush(i) {
					return
				}
				start = i
			}
			was = is
		}
		flush(len(word))
	}
}

// appendBigrams appends each two neighbouring characters of a run. For a run of one, it appends the character,
// except for hiragana.
func appendBigrams(terms []string, run string) []string {
	last, count := "", 0
	for state := -1; run != ""; count++ {
		var c string
		c, run, _, state = uniseg.FirstGraphemeClusterInString(run, state)
		if last != "" {
			terms = append(terms, last+c)
		}
		last = c
	}
	if r := []rune(last); count == 1 && scriptOf(r[0]) != hiragana {
		terms = append(terms, last)
	}
	return terms
}

// partsNoWords reports whether a rune is of a script that has no spaces between words.
func partsNoWords(r rune) bool { return unspaced(r) && !unicode.Is(unicode.Hangul, r) }

// wordRunes is how many characters count as a word where a script has no spaces between words.
const wordRunes = 2

// Pieces splits a text into the units of word budgets: the text between spaces, and every two characters of a script
// without spaces. Each piece but the first has the space in front of it, if there was one. Joined pieces are the text.
func Pieces(s string) []string {
	var out []string
	for i, field := range strings.Fields(s) {
		space, start, count, was := "", 0, 0, false
		if i > 0 {
			space = " "
		}
		flush := func(end int) {
			out = append(out, space+field[start:end])
			space, start, count = "", end, 0
		}
		for at, r := range field {
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				continue // marks and punctuation stay with the text before them
			}
			is := partsNoWords(r)
			if at > start && (is != was && count > 0 || is && count == wordRunes) {
				flush(at)
			}
			was = is
			count++
		}
		flush(len(field))
	}
	return out
}

// CountWords counts the Pieces of a text.
func CountWords(s string) int { return len(Pieces(s)) }
