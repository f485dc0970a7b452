package text

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// grammars.txt has the words of languages that mark the subject of a statement, by the fields of reader.
//
//go:embed grammars.txt
var grammarFile string

// reader has the words of a language that mark the subject of a statement.
type reader struct {
	language Language
	// ending ends verbs of "we".
	ending string
	// self are forms of the first person except possessives. verbs are common verbs of the first person, for
	// languages that leave the pronoun out.
	self, verbs map[string]bool
	// articles may stand before owners. owners belong to the speaker, others to another person.
	articles, owners, others map[string]bool
	// pronouns refer to another person. The unsure ones do so only before one of sureVerbs.
	pronouns, unsure, sureVerbs, companions map[string]bool
	// lives are verbs with which only persons are the subject, unless it is one of things; determiners stand before
	// companions.
	lives, things, determiners map[string]bool
	// ends are words that end the phrase of an owner. joins are the ends that join statements.
	ends, joins map[string]bool
}

var readers = sync.OnceValue(func() []reader {
	var out []reader
	lists := ReadWordLists(grammarFile)
	for _, code := range []string{"de", "es", "fr", "pt", "it"} {
		at := slices.IndexFunc(languages[:], func(l languageEntry) bool { return l.code == code })
		set := func(name string) map[string]bool { return WordSet(lists[code+" "+name]) }
		out = append(out, reader{
			Language(at), lists[code+" ending"], set("self"), set("verbs"), set("articles"), //nolint:gosec // a few
			set("owners"), set("others"), set("pronouns"), set("unsure"), set("sureVerbs"), set("companions"),
			set("lives"), set("things"), set("determiners"), set("ends"), set("joins"),
		})
	}
	return out
})

// relatedSubject reads a statement that begins with a person and their owner, in a language other than English. ok
// is false for other statements.
func relatedSubject(words []Word) (s Subject, ok bool) {
	for _, r := range readers() {
		rest := words
		if len(rest) > 1 && r.articles[rest[0].Lower] && (r.owners[rest[1].Lower] || r.others[rest[1].Lower]) {
			rest = rest[1:]
		}
		if len(rest) < reach {
			continue
		}
		owned := r.owners[rest[0].Lower] || r.others[rest[0].Lower]
		c := ""
		switch {
		case owned:
			c = companionIn(rest[1:min(len(rest), reach+1)], r.companions, func(w string) bool { return r.ends[w] })
			if c == "" {
				c = r.acting(rest[1:])
			}
		case r.determiners[rest[0].Lower] && r.companions[rest[1].Lower] && r.lives[rest[2].Lower]:
			c = rest[1].Lower
		}
		if c == "" {
			continue
		}
		if r.saysSelf(words) {
			return Subject{Speaker: true}, true
		}
		s = Subject{Other: true, Person: true, Heads: []string{c}}
		if r.owners[rest[0].Lower] {
			s.Relation = c
		}
		return s, true
	}
	return Subject{}, false
}

// acting returns the noun at the beginning of some words, in lower case, if its verb makes it a person. It is empty
// otherwise.
func (r reader) acting(words []Word) string {
	for _, w := range words[:min(len(words), reach+1)] {
		switch {
		case r.lives[w.Lower]:
			return words[0].Lower
		case r.things[w.Lower], r.ends[w.Lower]:
			return ""
		}
	}
	return ""
}

// pronounSubject reads a statement that begins with a pronoun, or speaks of its speaker, in a language other than
// English.
func pronounSubject(said string, words []Word) Subject {
	for _, r := range readers() {
		switch {
		case len(words) == 0 || Detect(said, r.language) != r.language:
		case r.saysSelf(words):
			return Subject{Speaker: true}
		case len(words) < reach:
		case r.pronouns[words[0].Lower], r.unsure[words[0].Lower] && r.sureVerbs[words[1].Lower],
			r.lives[words[0].Lower] && (r.pronouns[words[1].Lower] || r.unsure[words[1].Lower]): // "jetzt wohnt er"
			return Subject{Other: true, Person: true}
		}
	}
	return Subject{}
}

// saysSelf reports whether a statement has the first person: a pronoun, or a verb at its beginning or after a
// joining word.
func (r reader) saysSelf(words []Word) bool {
	const leastVerb = 5
	opens := true
	for _, w := range words {
		first, _, _ := strings.Cut(w.Lower, "'")
		switch {
		case r.self[first], opens && r.verbs[w.Lower]:
			return true
		case r.ending != "" && len(w.Lower) >= leastVerb && strings.HasSuffix(w.Lower, r.ending):
			return true
		}
		opens = r.joins[w.Lower] || opens && denying[w.Lower]
	}
	return false
}

// denying words and adverbs of time may stand before a verb that leaves its pronoun out.
var denying = WordSet("no não non ahora agora adesso ora ya já già actualmente atualmente attualmente también " +
	"também anche")

// spanishParticiples are irregular.
var spanishParticiples = WordSet("hecho visto dicho escrito puesto vuelto abierto roto muerto sido estado ido cubierto")

// isSpanishPerfect reports whether a word behind "he" makes it a Spanish verb of the first person: "He comprado un
// coche."
func isSpanishPerfect(next string) bool {
	return spanishParticiples[next] || strings.HasSuffix(next, "ado") || strings.HasSuffix(next, "ido")
}
