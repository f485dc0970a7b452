package text

import "strings"

// pastForms are irregular pasts. Verbs with the same form in the past are not among them.
var pastForms = wordLists.Set("pastForms")

// presentInEd end like a past and are none.
var presentInEd = wordLists.Set("presentInEd")

// IsPast reports whether a lower-case English word may be a verb in the past.
func IsPast(lower string) bool {
	return pastForms[lower] || strings.HasSuffix(lower, "ed") && len(lower) > 3 && !presentInEd[lower]
}

// presentBe before a participle make it a state, not a past: "is called", "I'm married".
var presentBe = wordLists.Set("presentBe")

// naming participles stand between a thing and its name.
var naming = WordSet("called named")

// TellsPast reports whether a verb among the words is in the past.
func TellsPast(words []Word) bool {
	for i := range words {
		if pastAt(words, i) {
			return true
		}
	}
	return false
}

// pastAt reports whether word i is a verb in the past.
func pastAt(words []Word, i int) bool {
	w := words[i]
	if !IsPast(w.Lower) || i > 0 && presentBe[words[i-1].Lower] {
		return false
	}
	// "a cat called Minka"
	return !(naming[w.Lower] && i > 0 && !pronouns[words[i-1].Lower] && i+1 < len(words) && words[i+1].Capital)
}

// having before a participle makes a present perfect, unless a word of modals is before it. Words of perfectly may
// stand in between.
var (
	having    = WordSet("have has i've we've you've they've haven't hasn't")
	modals    = WordSet("would could should might may must wouldn't couldn't shouldn't to")
	perfectly = WordSet("just already also now not never been finally gone ahead and")
)

// perfectAt reports whether the past at word i is of a present perfect: "I've just booked".
func perfectAt(words []Word, i int) bool {
	for i--; i >= 0 && perfectly[words[i].Lower]; i-- {
	}
	if i > 0 && pronouns[words[i].Lower] && having[words[i-1].Lower] {
		i-- // "have you booked"
	}
	return i >= 0 && having[words[i].Lower] && !(i > 0 && modals[words[i-1].Lower])
}
