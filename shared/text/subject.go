package text

import "slices"

// Subject is whom or what an English statement is about, as far as its beginning tells. The zero value is not known.
type Subject struct {
	// Speaker says that it is about whoever speaks, Other that it is about somebody or something else.
	Speaker, Other bool
	// Heads are stems of the words that name the other.
	Heads []string
}

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

// SubjectOf returns whom or what an English statement is about. A statement that has the first person anywhere is about its speaker.
func SubjectOf(said string) Subject {
	words := Words(said)
	if slices.ContainsFunc(words, func(w Word) bool { return firstPerson[w.Lower] }) {
		return Subject{Speaker: true}
	}
	if len(words) < reach {
		return Subject{}
	}
	first, next := words[0], words[1:min(len(words), reach+1)]
	switch {
	case firstOwner[first.Lower]:
		for _, w := range next {
			if companions[w.Lower] {
				return Subject{Other: true, Heads: []string{Stem(w.Lower)}}
			}
		}
		return Subject{Speaker: true}
	case otherPerson[first.Lower]:
		return Subject{Other: true}
	case otherOwner[first.Lower]:
		return Subject{Other: true, Heads: stemsOf(next)}
	case first.Capital && !IsStopWord(first.Lower) && nameVerbs[next[0].Lower]:
		return Subject{Other: true, Heads: []string{Stem(first.Lower)}}
	}
	return Subject{}
}

func stemsOf(words []Word) []string {
	var out []string
	for _, w := range words {
		if !IsStopWord(w.Lower) {
			out = append(out, Stem(w.Lower))
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
	return !slices.ContainsFunc(s.Heads, func(stem string) bool { return known[stem] })
}
