package embedded

import "strings"

// agree makes the word after a subject that became singular agree with it. Adverbs are passed
// over; a word that cannot be the verb ends the search.
func (r *rewriter) agree(i int, original string) string {
	lower := r.words[i].Lower
	if adverbs[lower] || strings.HasSuffix(lower, "ly") && lower != "rely" && lower != "fly" && lower != "apply" && lower != "reply" {
		return original
	}
	r.singular = false
	if s, ok := irregularThird[lower]; ok {
		r.afterVerb = true
		return s
	}
	if modals[lower] || isPast(lower) || notVerbs[lower] || r.words[i].Number || r.words[i].Capital {
		return original
	}
	if i > 0 && strings.ContainsAny(r.text[r.words[i-1].End:r.words[i].Start], ",;:()\"—-") {
		return original
	}
	r.afterVerb = true
	return third(original)
}

// third returns the third person singular of a regular verb.
func third(verb string) string {
	n := len(verb)
	if n < 2 || n > 24 || !asciiLetters(verb) {
		return verb
	}
	switch {
	case strings.HasSuffix(verb, "s"), strings.HasSuffix(verb, "x"), strings.HasSuffix(verb, "z"),
		strings.HasSuffix(verb, "sh"), strings.HasSuffix(verb, "ch"), strings.HasSuffix(verb, "o"):
		return verb + "es"
	case strings.HasSuffix(verb, "y") && !strings.ContainsRune("aeiou", rune(verb[n-2])):
		return verb[:n-1] + "ies"
	}
	return verb + "s"
}

func asciiLetters(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

// isPast reports whether a lower-case verb form is in the past, or the same in both tenses.
func isPast(lower string) bool {
	return pastForms[lower] || pastForms[strings.TrimPrefix(lower, "re")] && len(lower) > 5 ||
		strings.HasSuffix(lower, "ed") && !presentInEd[lower]
}
