package embedded

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/text"
)

// Placeholders stand for the two speakers while a sentence is analysed, so that patterns need
// not know names. They are from Unicode's private use area and are taken out of any input.
const (
	selfMark  = "\uE000"
	otherMark = "\uE001"
)

// voice is who speaks and to whom.
type voice struct {
	self, other string
}

// name puts the names in place of the placeholders and makes the text start with a capital.
func (v voice) name(marked string) string {
	return capitalise(strings.NewReplacer(selfMark, v.self, otherMark, v.other).Replace(marked))
}

func capitalise(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if size == 0 || !unicode.IsLower(r) {
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}

// unmark takes the placeholders, control characters, invisible marks and invalid bytes out of an input. The joiner that
// emoji are made with stays between them.
func unmark(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\uE000', r == '\uE001', r == utf8.RuneError:
			return ' '
		case unicode.IsControl(r) && r != '\n', unicode.Is(unicode.Co, r):
			return ' '
		case unicode.Is(unicode.Cf, r) && r != '\u200d':
			return -1
		}
		return r
	}, s)
}

// rewriter turns one sentence of the first person into one of the third, word by word. Words it
// has no rule for are kept as they were written.
type rewriter struct {
	text  string
	words []text.Word
	out   strings.Builder
	// singular is whether the next verb belongs to a subject that became singular.
	singular bool
	// afterVerb is whether the word before was a verb that was made singular, so that "and" may
	// continue it.
	afterVerb bool
	// together is whether who "we" are has been named already.
	together bool
	// plain is whether "we" means the two speakers.
	plain bool
}

// rewrite returns the sentence in the third person with placeholders, and whether the speaker
// is in it.
func rewrite(sentence string) (marked string, self bool) {
	r := rewriter{text: sentence, words: text.Words(sentence)}
	r.plain = meansBoth(r.words)
	r.out.Grow(len(sentence) + 32)
	pos := 0
	for i, w := range r.words {
		r.out.WriteString(sentence[pos:w.Start])
		r.out.WriteString(r.word(i))
		pos = w.End
	}
	r.out.WriteString(sentence[pos:])
	marked = r.out.String()
	return marked, strings.Contains(marked, selfMark)
}

// word returns what stands in the place of word i.
func (r *rewriter) word(i int) string {
	w := r.words[i]
	if s, ok := r.pronoun(i); ok {
		r.afterVerb = false
		return s
	}
	original := r.text[w.Start:w.End]
	if r.singular {
		return r.agree(i, original)
	}
	if r.afterVerb && (w.Lower == "and" || w.Lower == "or" || w.Lower == "but") {
		r.singular = i+1 < len(r.words) && plainVerbs[r.words[i+1].Lower]
	}
	if conjunctions[w.Lower] && i+1 < len(r.words) && r.hadSingular(i) && coordinated[r.words[i+1].Lower] {
		r.singular = true
	}
	r.afterVerb = false
	return original
}

// hadSingular reports whether the last subject before i in the same clause was the speaker alone in the present.
func (r *rewriter) hadSingular(i int) bool {
	for k := i - 1; k >= 0 && k >= i-8; k-- {
		switch lower := r.words[k].Lower; {
		case lower == "i", lower == "i'm", lower == "i've":
			next := r.lower(k + 1)
			return !modals[next] && next != "did" && !isPast(next)
		case lower == "to", clauseBreaks[lower], subjects[lower]:
			return false
		}
	}
	return false
}

func (r *rewriter) lower(i int) string {
	if i < 0 || i >= len(r.words) {
		return ""
	}
	return r.words[i].Lower
}

// pronoun replaces the pronouns of the first and second person.
func (r *rewriter) pronoun(i int) (string, bool) {
	lower := r.words[i].Lower
	if s, ok := fixedPronouns[lower]; ok {
		r.singular = false
		return s, true
	}
	if s, ok := contracted[lower]; ok {
		r.singular = false
		return s, true
	}
	switch lower {
	case "i":
		joined := r.joined(i)
		r.together = r.together || joined
		r.singular = !joined && !auxiliaries[r.lower(i-1)]
		return selfMark, true
	case "i'd":
		r.singular = false
		return selfMark + r.would(i), true
	case "you'd":
		r.singular = false
		return otherMark + r.would(i), true
	case "you":
		r.singular = r.youIsSubject(i)
		return otherMark, true
	}
	return r.plural(i)
}

// joined reports whether "I" is the second part of a plural subject ("my wife and I").
func (r *rewriter) joined(i int) bool {
	if r.lower(i-1) != "and" || i < 2 {
		return false
	}
	before := r.words[i-2]
	return before.Capital || relations[before.Lower]
}

// would tells apart "I'd better", "I'd been" and "I'd like".
func (r *rewriter) would(i int) string {
	next := r.lower(i + 1)
	if adverbs[next] {
		next = r.lower(i + 2)
	}
	if next == "better" || participles[next] || strings.HasSuffix(next, "ed") && next != "need" {
		return " had"
	}
	return " would"
}

// youIsSubject reports whether "you" is followed by its verb rather than an object.
func (r *rewriter) youIsSubject(i int) bool {
	switch r.lower(i + 1) {
	case "are", "were", "have", "do", "don't", "aren't", "weren't", "haven't":
		return true
	}
	return !auxiliaries[r.lower(i-1)] && (i == 0 || clauseStarts[r.lower(i-1)])
}

// plural replaces "we" and its forms: the first one by names, the following by "they".
func (r *rewriter) plural(i int) (string, bool) {
	lower := r.words[i].Lower
	form, ok := pluralForms[lower]
	if !ok {
		return "", false
	}
	r.singular = false
	if lower == "our" || lower == "ours" {
		if r.together {
			return form.later, true
		}
		return selfMark + "'s", true
	}
	if r.together {
		return form.later, true
	}
	r.together = true
	if r.plain {
		return selfMark + " and " + otherMark + form.ending, true
	}
	return selfMark + " and others" + form.ending, true
}

// meansBoth reports whether "we" in these words is the two speakers.
func meansBoth(words []text.Word) bool {
	for i, w := range words {
		switch w.Lower {
		case "chatted", "spoke", "spoken", "talked":
			return true
		case "you":
			if i > 0 && words[i-1].Lower == "and" || i+2 < len(words) && words[i+1].Lower == "and" && words[i+2].Lower == "i" {
				return true
			}
		}
	}
	return false
}
