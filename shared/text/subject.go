package text

import (
	"slices"
	"strings"
)

// Subject is whom or what a statement is about, as far as its beginning tells. The zero value is not known.
type Subject struct {
	// Speaker says that it is about whoever speaks, Other that it is about somebody or something else.
	Speaker, Other bool
	// Person says that the other is a person or an animal.
	Person bool
	// Heads are the words that name the other, in lower case. A pronoun has none.
	Heads []string
	// Relation is what the other is to the speaker, such as "brother"; empty where the statement does not say it.
	Relation string
}

// IsUnnamed reports whether a statement is about a person whom it does not name: "He lives in Rome."
func (s Subject) IsUnnamed() bool { return s.Person && len(s.Heads) == 0 }

var (
	firstPerson = WordSet(`i i'm im i've ive i'd i'll me myself mine we we're we've we'd we'll us ourselves ours`)
	firstOwner  = WordSet(`my our`)
	otherPerson = WordSet(`you you're you've you'll he he's he'd he'll she she's she'd she'll`)
	otherOwner  = WordSet(`your his her their the`)
	// companions are persons and animals that belong to somebody, and are somebody of their own.
	companions = WordSet(`mother mum mom mama father dad papa parent parents brother brothers sister sisters son sons daughter daughters
		child children kid kids baby wife husband partner girlfriend boyfriend fiancé fiancée aunt uncle cousin niece nephew grandmother
		grandma granny grandfather grandpa grandparents twins friend friends colleague colleagues boss manager roommate flatmate neighbour
		neighbor neighbours neighbors teacher doctor coach landlord landlady assistant dog dogs cat cats horse rabbit hamster puppy kitten`)
	// nameVerbs follow a name at the beginning of a statement.
	nameVerbs = WordSet(`is isn't was wasn't has hasn't had will won't can can't does doesn't never always no now also lives works moved likes
		loves hates eats drinks drives weighs wants needs speaks studies plays owns got became started stopped quit prefers`)
)

// reach is how many words behind an article or an owner may be the noun.
const reach = 3

// SubjectOf returns whom or what a statement is about. A statement that has the first person anywhere is about its speaker. It reads English,
// and of German, Spanish, French, Portuguese and Italian what begins with a pronoun or with a companion and its owner.
func SubjectOf(said string) Subject {
	words := Words(said)
	if s, ok := relatedSubject(words); ok {
		return s
	}
	if slices.ContainsFunc(words, func(w Word) bool { return firstPerson[w.Lower] }) {
		return Subject{Speaker: true}
	}
	if len(words) > 1 && words[0].Lower == "he" && isSpanishPerfect(words[1].Lower) {
		return Subject{Speaker: true}
	}
	if s := englishSubject(words); s.Speaker || s.Other {
		return s
	}
	return pronounSubject(said, words)
}

func englishSubject(words []Word) Subject {
	if len(words) < reach {
		return Subject{}
	}
	first, next := words[0], words[1:min(len(words), reach+1)]
	switch {
	case firstOwner[first.Lower]:
		if c := companionIn(next, companions, IsStopWord); c != "" {
			return Subject{Other: true, Person: true, Heads: []string{c}, Relation: c}
		}
		return Subject{Speaker: true}
	case otherPerson[first.Lower]:
		return Subject{Other: true, Person: true}
	case otherOwner[first.Lower]:
		return Subject{Other: true, Person: first.Lower != "the", Heads: contentOf(next)}
	case first.Capital && !IsStopWord(first.Lower) && nameVerbs[next[0].Lower]:
		return Subject{Other: true, Person: true, Heads: []string{first.Lower}}
	}
	return Subject{}
}

// companionIn is the first companion among words, up to one that ends the phrase; empty where there is none.
func companionIn(words []Word, known map[string]bool, ends func(string) bool) string {
	for _, w := range words {
		lower := strings.TrimSuffix(w.Lower, "'s")
		switch {
		case known[lower]:
			return lower
		case ends(lower):
			return ""
		}
	}
	return ""
}

func contentOf(words []Word) []string {
	var out []string
	for _, w := range words {
		if !IsStopWord(w.Lower) {
			out = append(out, w.Lower)
		}
	}
	return out
}

// IsAboutAnother reports whether a statement is about somebody or something that an older one, about its speaker, does not name. It says
// nothing then of what the speaker said of themself.
func IsAboutAnother(said, older string) bool {
	s := SubjectOf(said)
	if !s.Other || !SubjectOf(older).Speaker {
		return false
	}
	known := StemSet(older)
	return !slices.ContainsFunc(s.Heads, func(head string) bool { return known[Stem(head)] })
}
