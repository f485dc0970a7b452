package embedded

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/text"
)

// wanted is one content word that a question asks for.
type wanted struct {
	lower, stem string
	weight      float64
}

// asked is what support is measured against.
type asked struct {
	words []wanted
	// person is the one asked about; empty where the question names none, or several.
	person string
}

// readAsked reads the content words of a query, leaving out the names of people, who are those in known.
func readAsked(query string, when bool, known map[string]bool) asked {
	var a asked
	people := map[string]bool{}
	words := text.Words(query)
	for i, w := range words {
		lower := strings.TrimSuffix(w.Lower, "'s")
		switch {
		case text.IsFiller(query, words, i):
		case known[lower] && w.Capital:
			people[lower] = true
			a.person = lower
		case when && text.WhenNoun(lower):
		case weakWords[lower]:
			a.words = append(a.words, wanted{lower, text.Stem(lower), weakWeight})
		default:
			a.words = append(a.words, wanted{lower, text.Stem(lower), 1})
		}
	}
	if len(people) != 1 {
		a.person = ""
	}
	return a
}

// people returns the first names, in lower case, of all who speak in the evidence, and the first words of statements, which are what
// they are about.
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

// subject is whose words a memory quotes, by first name, else the word that its statement begins with, without the possessive; empty where
// that is no name.
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
	// own memories are said by the one asked about, or are about them.
	own standing = iota
	// aside ones are somebody else's and mention them.
	aside
	// foreign ones are somebody else's.
	foreign
)

func (a asked) standing(m memory.Memory) standing {
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

// cover is how much of the question a memory tells, 0 to 1: for each word, by its weight, 1 where the memory has it or another word for it,
// and otherwise how like the nearest of its words is.
func (a asked) cover(table *wordvector.Table, m memory.Memory) float64 {
	if len(a.words) == 0 {
		return 0
	}
	have := index(m)
	var near []int32
	told := recall.Plain(m.Speaker + " " + m.Content + " " + m.Value)
	words := text.Words(told)
	for i, w := range words {
		if text.IsFiller(told, words, i) {
			continue
		}
		have[text.Stem(w.Lower)] = true
		if n, ok := find(table, w.Lower); ok {
			near = append(near, n)
		}
	}
	sum, all := 0.0, 0.0
	for _, w := range a.words {
		all += w.weight
		if matches(have, w.stem) {
			sum += w.weight
			continue
		}
		sum += w.weight * nearest(table, w.lower, near)
	}
	return sum / all
}

// find returns the number of a word; a name that is a stop word, too, has none: the table has the other.
func find(table *wordvector.Table, lower string) (int32, bool) {
	if text.IsStopWord(lower) {
		return 0, false
	}
	return table.Find(lower)
}

// nearest is the likeness of a word to the one of others that is most like it; 0 for a word that the table does not have.
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
