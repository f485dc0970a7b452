package membuilder

import (
	"slices"
	"strings"
	"sync"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/text"
)

const (
	reasonCommon = "common knowledge"
	// judges is the least cosine of a word with the judging words for a word of opinion.
	judges = 0.45
	// leastMark is the least length of a stop word that shows a readable language. Other languages share the short
	// ones.
	leastMark = 3
)

// firstPerson are the words by which people speak of themselves. referring are all words that point to people and
// things of a conversation.
var (
	firstPerson = text.WordSet("i im ive me my mine we us our ours")
	referring   = text.Union(firstPerson, text.WordSet(`you your yours he him his she her hers they them their theirs it
		its this that these those here there`))
)

// judging is the direction of the words that state an opinion.
var judging = sync.OnceValue(func() memory.Vector {
	sum := memory.Vector{}
	for _, w := range []string{"good", "better", "best", "great", "nice", "bad", "worse", "worst", "awful", "terrible"} {
		sum = add(sum, w)
	}
	return sum
})

// add adds the vector of a word.
func add(sum memory.Vector, word string) memory.Vector {
	table := wordvector.Shipped()
	if len(sum) == 0 {
		sum = make(memory.Vector, table.Dimension())
	}
	if i, ok := table.Find(word); ok {
		table.Add(sum, i, 1)
	}
	return sum
}

// common reports whether a statement has only common knowledge, and no fact about the user's world. In doubt it
// returns false, since a skipped statement is lost. The statement must be readable word by word, and the filter must
// rate it low. It must point to no person, name no person and state no opinion. It must share no word with known
// entries or with the other statements.
func (f *Embedded) common(r formation.Related, told []formation.Related) bool {
	c := r.Candidate
	if c.Kind != memory.KindFact && c.Kind != memory.KindSemantic || len(c.Sources) > 1 ||
		strings.ContainsAny(c.Content, "?[") ||
		!c.EventTime.Time.IsZero() || f.WorthAlone(c) || !general(text.Words(c.Content)) {
		return false
	}
	matter := text.StemSet(c.Content)
	touches := func(content string) bool {
		return slices.ContainsFunc(text.ContentStems(content), func(stem string) bool { return matter[stem] })
	}
	return !slices.ContainsFunc(r.Memories, func(m memory.Memory) bool { return touches(m.Content) }) &&
		!slices.ContainsFunc(told, func(o formation.Related) bool {
			return o.Candidate.Content != c.Content && touches(o.Candidate.Content)
		})
}

// general reports whether words refer to no person and to no particular thing.
func general(words []text.Word) bool {
	read := false
	for i, w := range words {
		_, known := wordvector.Shipped().Find(w.Lower)
		stop := text.IsStopWord(w.Lower)
		switch {
		case !known, i > 0 && w.Capital, referring[w.Lower], text.IsTimeWord(w), text.IsTimeWord(singular(w)):
			return false
		case !stop && memory.Cosine(add(nil, w.Lower), judging()) >= judges:
			return false
		}
		read = read || stop && len(w.Lower) >= leastMark
	}
	return read && words[0].Lower != "the"
}

func singular(w text.Word) text.Word {
	w.Lower = strings.TrimSuffix(w.Lower, "s")
	return w
}
