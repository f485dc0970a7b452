package embedded

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/query/intent"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/text"
)

// wanted is one content word that a question asks for.
type wanted struct {
	lower, stem string
	weight      float64
}

// asked is the part of a query that support is measured against.
type asked struct {
	language text.Language
	words    []wanted
	// person is the one asked about; empty where the question names none, or several.
	person string
	// user reports that the query is about the user, and not about a relation of the user.
	user bool
	// blank reports that the query has no content word. fact reports that it asks for a fact, and not for an action.
	blank, fact bool
	// plain reports an English question for a fact, with a question word. open reports one that a denial does not
	// answer, and denies that it denies something.
	plain, open, denies bool
}

// askedOf finds the content words of a query, and of the messages before it as far as they count. It leaves out the
// names of people, which are in known. If the query has no clear language, it is in the usual one.
func askedOf(q query.Query, when bool, known map[string]bool, usual text.Language) asked {
	self := q.Parts[0].Phrase
	a := asked{
		language: q.Language(usual), blank: len(self.Words) == 0,
		fact: q.Wants.Has(query.Fact), user: q.Wants.Has(query.AboutUser),
	}
	if a.language != text.English {
		a.readForeign(q.Parts, known)
		return a
	}
	a.plain = q.Wants.Has(query.Fact) && q.Wants.Has(query.Interrogative) &&
		(len(self.Words) < 2 || self.Words[1].Lower != "to") // "what to cook" asks for advice
	a.readDenial(self.Words)
	seen := map[string]bool{}
	for i, p := range q.Parts {
		for k, w := range p.Words {
			lower := strings.TrimSuffix(w.Lower, "'s")
			stem := text.Stem(lower)
			weight := float64(p.Weight)
			switch {
			case text.IsFiller(p.Text, p.Words, k), known[lower] && w.Capital,
				when && query.IsTimeNoun(lower), i > 0 && seen[stem]:
				continue
			case text.NamesUser(p.Words, k): // every memory is of the user
				continue
			case weakWords[lower]:
				weight *= weakWeight
			}
			seen[stem] = true
			a.words = append(a.words, wanted{lower, stem, weight})
		}
	}
	if a.person = onePerson(self, known); a.person == "" {
		a.person = onePerson(q.People, known)
	}
	return a
}

// onePerson returns the only known person in a phrase. It is empty if the phrase names no known person, or several.
func onePerson(p query.Phrase, known map[string]bool) string {
	person := ""
	for i, w := range p.Words {
		lower := strings.TrimSuffix(w.Lower, "'s")
		switch {
		case text.IsFiller(p.Text, p.Words, i), !known[lower], !w.Capital, lower == person:
		case person != "":
			return ""
		default:
			person = lower
		}
	}
	return person
}

// people returns first names in lower case: of all speakers in the evidence, and of the subjects at the start of
// statements.
func people(cited []memory.Memory, window []memory.Turn) map[string]bool {
	out := map[string]bool{}
	add := func(name string) {
		for n := range strings.FieldsSeq(strings.ToLower(name)) {
			out[n] = true
		}
	}
	for _, m := range cited {
		for text := range strings.Lines(m.Value) {
			speaker, _, _ := spokenBy(text)
			add(speaker)
		}
		add(subject(m))
	}
	for _, t := range window {
		add(t.Speaker)
	}
	return out
}

// subject returns the first name of a quotation's speaker. Otherwise it is the first word of the statement, without
// the possessive. It is empty if that is not a name.
func subject(m memory.Memory) string {
	if first, _, _ := strings.Cut(strings.ToLower(m.Speaker), " "); first != "" {
		return first
	}
	words := text.Words(m.Content)
	if len(words) == 0 || !words[0].Capital || text.IsFiller(m.Content, words, 0) {
		return ""
	}
	return strings.TrimSuffix(words[0].Lower, "'s")
}

// standing is how a memory stands to the one asked about.
type standing int

const (
	// own memories are from the subject of the question, or about the subject.
	own standing = iota
	// aside memories are another person's and mention the subject.
	aside
	// foreign memories are another person's.
	foreign
)

func (a asked) standing(m memory.Memory, owner memory.Owner) standing {
	if a.person == "" && a.user && m.Speaker != "" && owner.Known() && !owner.Is(m.Speaker) {
		return foreign
	}
	if a.person == "" || subject(m) == a.person {
		return own
	}
	for text := range strings.Lines(m.Value) {
		speaker, _, _ := spokenBy(text)
		if slices.Contains(strings.Fields(strings.ToLower(speaker)), a.person) {
			return own
		}
	}
	if text.StemSet(m.Content)[text.Stem(a.person)] {
		return aside
	}
	return foreign
}

// answers returns the share of the question in a memory, as cover does. A statement about another person only gives
// that person's relation to the user.
func (a asked) answers(table *wordvector.Table, m memory.Memory) (tells, has float64) {
	if m.Speaker != "" && !passedOn(m) {
		if s, ok := a.another(m); ok {
			return a.cover(table, memory.Memory{Content: s.Relation})
		}
	}
	return a.cover(table, m)
}

// asBefore is the weight of an earlier version's words beside a memory's own words.
const asBefore = 0.8

// answersAsBefore returns the share of the question in a memory or in one of its earlier versions, whichever is more.
// For a question about the past, earlier versions answer for themselves.
func (a asked) answersAsBefore(table *wordvector.Table, m memory.Memory, e recall.Evidence) (tells, has float64) {
	tells, has = a.answers(table, m)
	if e.Query.Horizon.Intent == intent.Past {
		return tells, has
	}
	for _, old := range e.Replaced[m.ID] {
		if t, h := a.answers(table, memory.Memory{Content: old.Content, Speaker: old.Speaker}); t*asBefore > tells {
			tells, has = t*asBefore, h*asBefore
		}
	}
	return tells, has
}

// another returns the person of a memory, if the question is about the user and does not name that person.
func (a asked) another(m memory.Memory) (s text.Subject, ok bool) {
	if !a.user {
		return s, false
	}
	s = text.SubjectOf(recall.Plain(m.Content))
	return s, s.Person && !slices.ContainsFunc(a.words, func(w wanted) bool { return slices.Contains(s.Heads, w.lower) })
}

// leavesOut reports whether an answer about the user leaves out a memory when another memory answers. Such a memory
// is about another person, or may be another person's words. Without a speaker, a name may be the user's.
func (a asked) leavesOut(m memory.Memory) bool {
	s, ok := a.another(m)
	if ok && (m.Speaker != "" || s.Relation != "" || s.IsUnnamed()) {
		return true
	}
	return a.user && text.Unsure(m.Content, m.Speaker) != ""
}

// cover returns the share of the question in a memory, 0 to 1, by the weights of the words. A word counts 1 if the
// memory has it or another word for it. Otherwise the likeness of the nearest word counts. has is the part from
// words that the memory has.
func (a asked) cover(table *wordvector.Table, m memory.Memory) (tells, has float64) {
	if len(a.words) == 0 {
		return 0, 0
	}
	if a.language != text.English {
		return a.coverForeign(table, m)
	}
	have := index(m)
	var near []int32
	var rare []string // words outside the table
	told := recall.Plain(m.Speaker + " " + m.Content + " " + m.Value)
	words := text.Words(told)
	for i, w := range words {
		if text.IsFiller(told, words, i) {
			continue
		}
		have[text.Stem(w.Lower)] = true
		if n, ok := find(table, w.Lower); ok {
			near = append(near, n)
		} else if !w.Capital {
			rare = append(rare, w.Lower)
		}
	}
	all := 0.0
	for _, w := range a.words {
		all += w.weight
		if matches(have, w.stem) || isDerived(w.lower, rare) {
			has += w.weight
			continue
		}
		tells += w.weight * nearest(table, w.lower, near)
	}
	return (tells + has) / all, has / all
}

// find returns the number of a word. A name that is also a stop word has none, because the table has the stop word.
func find(table *wordvector.Table, lower string) (int32, bool) {
	if text.IsStopWord(lower) {
		return 0, false
	}
	return table.Find(lower)
}

// nearest returns the likeness of a word to the most similar of others. It is 0 for a word outside the table.
func nearest(table *wordvector.Table, word string, others []int32) float64 {
	n, ok := find(table, word)
	if !ok {
		return 0
	}
	best := float32(0)
	for _, o := range others {
		best = max(best, table.Similarity(n, o))
	}
	return float64(best)
}

// isDerived reports whether a word differs only by its ending from a word outside the table: "allergic", "allergy".
func isDerived(word string, others []string) bool {
	letters := []rune(word)
	return slices.ContainsFunc(others, func(o string) bool {
		other, shared := []rune(o), 0
		for shared < min(len(letters), len(other)) && letters[shared] == other[shared] {
			shared++
		}
		return shared >= sharedLetters && max(len(letters), len(other))-shared <= endingLetters
	})
}

// sharedLetters is the least number of letters that such words share, and endingLetters the most behind them.
const sharedLetters, endingLetters = 5, 4
