package text

import (
	"slices"
	"strings"
)

// Subject is the subject of a statement, as far as its beginning shows. The zero value is an unknown subject.
type Subject struct {
	// Speaker means that the statement is about its speaker. Other means that it is about another person or thing.
	Speaker, Other bool
	// Person says that the other is a person or an animal.
	Person bool
	// Heads are the words that name the other, in lower case. A pronoun has no heads.
	Heads []string
	// Relation is the other's relation to the speaker, such as "brother". It is empty if the statement has no relation.
	Relation string
}

// IsUnnamed reports whether a statement is about a person without a name: "He lives in Rome."
func (s Subject) IsUnnamed() bool { return s.Person && len(s.Heads) == 0 }

var (
	firstPerson = WordSet(`i i'm im i've ive i'd i'll me myself mine we we're we've we'd we'll us ourselves ours`)
	firstOwner  = WordSet(`my our`)
	otherPerson = WordSet(`you you're you've you'll he he's he'd he'll she she's she'd she'll they they're they've they'd
		they'll everyone everybody someone somebody nobody`)
	otherOwner = WordSet(`your his her their the`)
	// companions are persons and animals that belong to a person, and are separate subjects.
	companions = wordLists.Set("companions")
	// nameVerbs follow a name at the beginning of a statement.
	nameVerbs = wordLists.Set("nameVerbs")
	// fronted words stand before the subject of a statement, in any language that is read.
	fronted = wordLists.Set("fronted")
	// reporting words open a statement that the speaker has learned.
	reporting = map[string]bool{"turns out": true, "turned out": true, "it seems": true, "looks like": true,
		"seems like": true, "seems that": true}
	// personVerbs are verbs of persons, and rarely of things.
	personVerbs = wordLists.Set("personVerbs")
	// employed verbs are a person's before one of employers.
	employed  = WordSet(`works work worked working`)
	employers = WordSet(`as at for in with`)
	linking   = WordSet(`is isn't was wasn't are aren't were has hasn't have haven't had got became`)
	// traits are traits of persons, and rarely of things.
	traits = WordSet(`allergic intolerant vegan vegetarian diabetic coeliac celiac pregnant married divorced retired
		unemployed engaged born moving living studying moved lived quit eaten adopted`)
	// relatives begin a relative clause in which the speaker may be the subject. pastMoves are verbs of persons in the
	// past.
	relatives = WordSet(`who whom whose that i we i've we've i'm we're`)
	articles  = WordSet(`the a an this that some another`)
	// irregularPasts are verbs of persons in the past. prepositions end a relative clause before the verb of its noun.
	irregularPasts = WordSet(`left went took gave found sold bought won lost met ran came made kept broke got chose grew
		spoke taught`)
	prepositions = WordSet(`with for to next from at by about under`)
	pastMoves    = WordSet(`moved relocated emigrated retired quit graduated married adopted`)
	// belongings are things that belong to a person. A statement about them is about the person.
	belongings = wordLists.Set("belongings")
)

// reach is how many words behind an article or an owner may be the noun.
const reach = 3

// SubjectOf returns the subject of a statement. A statement with the first person anywhere is about its speaker, unless
// the speaker only introduces news of another person.
// SubjectOf reads English. In German, Spanish, French, Portuguese and Italian, it reads statements that begin with
// a pronoun, or with a noun and its owner.
func SubjectOf(said string) Subject {
	if phrase, _, ok := CutAbout(said); ok {
		noted := Words(phrase)
		return Subject{Other: true, Person: true, Heads: nounsOf(noted), Relation: companionIn(noted, companions, IsStopWord)}
	}
	words := Words(said)
	for len(words) > reach && fronted[words[0].Lower] {
		words = words[1:]
	}
	for len(words) > reach+1 && reporting[words[0].Lower+" "+words[1].Lower] {
		words = words[2:]
	}
	if s, ok := friendOfMine(words); ok {
		return s
	}
	if s, ok := relatedSubject(words); ok {
		return s
	}
	if s := knownBySpeaker(words); s.Other {
		return s
	}
	if isIntroduced(words) {
		return Subject{Other: true, Person: true}
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
	case isThirdPerson(first.Lower) && actsAt(words) == 0: // a note without a subject: "Lives in Rome now."
		return Subject{Other: true, Person: true}
	case firstOwner[first.Lower]:
		return ownedSubject(words[1:])
	case next[0].Lower == "of" && len(words) > reach && firstOwner[next[1].Lower]: // "one of my friends"
		if s := ownedSubject(words[reach:]); s.Other {
			return s
		}
	case otherPerson[first.Lower], first.Lower == "it" && actsAt(words[1:]) >= 0 && actsAt(words[1:]) < reach:
		return Subject{Other: true, Person: true}
	case otherOwner[first.Lower]:
		c := companionIn(next, companions, IsStopWord)
		return Subject{Other: true, Person: first.Lower != "the" || c != "", Heads: nounsOf(next)}
	}
	if n := nameLength(words); n > 0 && n < len(words) && (nameVerbs[words[n].Lower] ||
		names()[foldAccents(words[0].Lower)] && IsPersonalVerb(words[n].Lower)) {
		return Subject{Other: true, Person: true, Heads: nounsOf(words[:n])}
	}
	return Subject{}
}

// nameLength is how many words at the beginning of a statement are written as a name, a title among them.
func nameLength(words []Word) int {
	n := 0
	for n < len(words) && n < reach && words[n].Capital && !IsStopWord(words[n].Lower) {
		n++
	}
	if n > 1 && !titles[words[0].Lower] && nameVerbs[words[1].Lower] {
		return 1
	}
	return n
}

// ownedSubject reads a statement about the speaker's companion or thing, from the noun on. The subject is the other
// person, or the speaker if it is a thing.
func ownedSubject(words []Word) Subject {
	c := companionIn(words[:min(len(words), reach)], companions, IsStopWord)
	if c == "" {
		if c = nounBefore(words, actsAt(words)); c == "" || belongings[c] {
			return Subject{Speaker: true}
		}
	}
	return Subject{Other: true, Person: true, Heads: []string{c}, Relation: c}
}

// friendOfMine reads a statement that begins with "a friend of mine".
func friendOfMine(words []Word) (s Subject, ok bool) {
	for i := 1; i < len(words) && i <= reach; i++ {
		if words[i].Lower != "mine" && words[i].Lower != "ours" {
			continue
		}
		if i < 2 || words[i-1].Lower != "of" || slices.ContainsFunc(words[i+1:], func(w Word) bool {
			return firstPerson[w.Lower]
		}) {
			return s, false
		}
		noun := words[i-2].Lower
		if !companions[noun] && (actsAt(words[i+1:]) != 0 || belongings[noun]) {
			return s, false
		}
		return Subject{Other: true, Person: true, Heads: []string{noun}, Relation: noun}, true
	}
	return s, false
}

// maxClause is the maximum number of words of a relative clause.
const maxClause = 10

// knownBySpeaker reads a statement about a person that a relative clause with the speaker names: "the guy I work
// with lives in Rome". It returns the zero value for other statements.
func knownBySpeaker(words []Word) Subject {
	if len(words) < reach || !articles[words[0].Lower] && !firstOwner[words[0].Lower] {
		return Subject{}
	}
	from := 1 + slices.IndexFunc(words[1:min(len(words), reach+reach)], func(w Word) bool { return relatives[w.Lower] })
	if from < 2 {
		return Subject{}
	}
	noun := words[from-1].Lower
	if relatives[noun] && from > 2 {
		noun = words[from-2].Lower
	}
	if belongings[noun] || IsStopWord(noun) && !relatives[noun] {
		return Subject{}
	}
	clause := words[from+1 : min(len(words), from+1+maxClause)]
	for i := 1; i < len(clause); i++ {
		before, verb := clause[i-1].Lower, clause[i].Lower
		if firstPerson[before] || before == "and" {
			continue
		}
		if (isThirdPerson(verb) || pastMoves[verb] || linking[verb] || prepositions[before] && personVerbs[verb]) &&
			actsAt(clause[i:]) == 0 {
			return Subject{Other: true, Person: true, Heads: []string{noun}}
		}
	}
	return Subject{}
}

// IsPersonalVerb reports whether a word in lower case, behind a given name, may be its verb.
func IsPersonalVerb(lower string) bool {
	return personVerbs[lower] || linking[lower] || irregularPasts[lower] || strings.HasSuffix(lower, "ed") ||
		isThirdPerson(lower)
}

// isThirdPerson reports whether a verb of persons, in lower case, is of the third person: "lives".
func isThirdPerson(verb string) bool {
	return strings.HasSuffix(verb, "s") && (personVerbs[verb] || employed[verb])
}

// maxNoun is the maximum number of words of a noun phrase before the verb.
const maxNoun = 7

// actsAt returns which of the first words is a verb with which only persons are the subject; -1 where none is.
func actsAt(words []Word) int {
	for i, w := range words[:min(len(words), maxNoun)] {
		rest := words[i+1:]
		switch {
		case employed[w.Lower] && len(rest) > 0 && employers[rest[0].Lower], personVerbs[w.Lower]:
			return i
		case !linking[w.Lower]:
			continue
		}
		for j, next := range rest[:min(len(rest), reach)] {
			if traits[next.Lower] || employed[next.Lower] && j+1 < len(rest) && employers[rest[j+1].Lower] {
				return i
			}
		}
		return -1
	}
	return -1
}

// nounBefore returns the noun of a phrase that ends before word n, in lower case. It is the last word before a stop
// word.
func nounBefore(words []Word, n int) string {
	noun := ""
	for _, w := range words[:max(0, n)] {
		if IsStopWord(w.Lower) || fronted[w.Lower] {
			break
		}
		noun = strings.TrimSuffix(w.Lower, "'s")
	}
	return noun
}

// companionIn returns the first companion among words, up to a word that ends the phrase. It is empty if there is
// no companion.
func companionIn(words []Word, known map[string]bool, ends func(string) bool) string {
	for _, w := range words {
		lower := strings.TrimSuffix(w.Lower, "'s")
		switch {
		case known[lower]:
			return lower
		case isCompound(lower, known):
			return lower
		case ends(lower):
			return ""
		}
	}
	return ""
}

// isCompound reports whether a word with hyphens names a companion: "ex-wife", "brother-in-law".
func isCompound(lower string, known map[string]bool) bool {
	first, rest, ok := strings.Cut(lower, "-")
	return ok && (known[first] || known[rest] || rest == "worker" || first == "ex")
}

// nounsOf are the words with content before the first verb.
func nounsOf(words []Word) []string {
	var out []string
	for _, w := range words {
		if len(out) > 0 && (nameVerbs[w.Lower] || personVerbs[w.Lower] || linking[w.Lower]) {
			break
		}
		if !IsStopWord(w.Lower) {
			out = append(out, w.Lower)
		}
	}
	return out
}

// IsAboutAnother reports whether a statement is about a person or thing that an older statement about its speaker
// does not name. Such a statement does not change the speaker's older one.
func IsAboutAnother(said, older string) bool {
	s := SubjectOf(said)
	if !s.Other || !SubjectOf(older).Speaker {
		return false
	}
	known := StemSet(older)
	return !slices.ContainsFunc(s.Heads, func(head string) bool { return known[Stem(head)] })
}
