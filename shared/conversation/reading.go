// Package conversation reads a query together with the messages before it. For example, "and for her?" asks about
// the subject of those messages. The package is pure and takes any input. A query without messages stays unchanged.
package conversation

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Weights of the conversation relative to the query. The numbers are chosen on the choose half of lab/corpus/talks.
const (
	// pointing and plain weigh the last user message for a query without content words. A query that refers to
	// something else ("her", "the second", "others") uses pointing. Every other query uses plain.
	pointing, plain = 0.6, 0.3
	// ownWord is how fast that weight falls with each content word of the query.
	ownWord = 0.6
	// Assistants and tools weigh less than the user. Each step back by one message multiplies the weight by back.
	assistants, tools, back = 0.5, 0.25, 0.7
	// reach is the maximum number of messages that count. A message of at most fullWords content words counts in
	// full. In a longer message each word counts less.
	reach, fullWords = 6, 10
	// meant weighs a person or a thing that the query refers to and the conversation names.
	meant = 0.9
	// least is the weight below which a message is left out, even for a query of few words.
	least = 0.1
	// opening is how many bytes of a message are read for its subject. The rest of a long answer is details.
	opening = 400
	// spelled is how many bytes of the conversation are written after the query. The last part may pass this limit.
	spelled = 800
)

// Part is a run of words to search for, with its weight. The query itself has weight 1.
type Part struct {
	Text   string
	Weight float32
}

// Reading is a query together with the conversation that explains it.
type Reading struct {
	// Parts are the texts to search for. The query is first, with weight 1. Parts of the conversation follow by
	// descending weight.
	Parts []Part
	// People are the people that the pronouns of the query may mean. It is empty where the query has no pronoun, or
	// no message names a person.
	People string
	// Text is the query, followed by the conversation that it needs, as one text. A reader of the beginning alone
	// gets the query.
	Text string
	// Question is the text that shows by its form the kind of answer, such as a time. A query that asks nothing
	// itself ("And Ana?") comes after the question before it.
	Question string
}

// Read reads a query with the messages before it, oldest first. It skips a last message that equals the query.
func Read(query string, messages []memory.Message) Reading {
	out := Reading{Parts: []Part{{query, 1}}, Text: query, Question: query}
	messages = before(query, messages)
	if len(messages) == 0 {
		return out
	}
	q := readForm(query)
	discount := plain
	if q.points {
		discount = pointing
	}
	discount *= math.Exp(-ownWord * q.own)
	items := q.pick(messages)
	for i, m := range slices.Backward(messages) {
		weight := discount * math.Pow(back, float64(len(messages)-1-i)) * share(m.Role)
		if weight < least || items != nil && i == len(messages)-1 { // the query names one item of this list
			continue
		}
		said := text.Cut(m.Content, opening)
		out.Parts = append(out.Parts, Part{said, float32(weight * diluted(said))})
	}
	people := q.people(messages)
	for _, s := range append(items, people...) {
		out.Parts = append(out.Parts, Part{s, float32(meant * diluted(s))})
	}
	out.People = strings.Join(people, " ")
	out.Text, out.Question = q.spell(out.Parts, messages)
	slices.SortStableFunc(out.Parts[1:], func(a, b Part) int { return cmp.Compare(b.Weight, a.Weight) })
	return out
}

// before removes the query itself from the messages, and the messages beyond reach.
func before(query string, messages []memory.Message) []memory.Message {
	if n := len(messages); n > 0 && messages[n-1].Role == memory.RoleUser && text.OneLine(messages[n-1].Content) == text.OneLine(query) {
		messages = messages[:n-1]
	}
	return messages[max(0, len(messages)-reach):]
}

func share(role memory.Role) float64 {
	switch role {
	case memory.RoleAssistant:
		return assistants
	case memory.RoleTool:
		return tools
	}
	return 1
}

// diluted returns the weight of each word of a message. It falls with the number of words.
func diluted(said string) float64 {
	return min(1, fullWords/float64(max(1, len(text.SearchTerms(said)))))
}

// form is the form of a query.
type form struct {
	query string
	words []text.Word
	// own counts the content words that describe the subject of the query. A name says only who the query is about,
	// so it counts half.
	own float64
	// bare says that the query asks nothing itself: it has no content words except names, or is "and ...?" with one
	// of them.
	bare bool
	// points says that the query refers to something that it does not name.
	points bool
	// she, he and they are the pronouns in the query with no content words before them. place is the list position
	// that the query names there, or 0. among is the stem of the listed noun, where the query has one.
	she, he, they bool
	place         int
	among         string
}

const (
	// ownEnough is a number of content words. After so many, a pronoun probably refers to one of them.
	ownEnough = 2
	// named weighs a name relative to a content word.
	named = 0.5
)

func readForm(query string) form {
	f := form{query: query, words: text.Words(query)}
	content, asks := 0, false
	for i, w := range f.words {
		lower := strings.TrimSuffix(w.Lower, "'s")
		if f.own < ownEnough {
			f.points = f.points || pointers[lower] || i == 0 && openers[lower]
			if f.place == 0 {
				f.place, f.among = placeAt(query, f.words, i)
			}
			f.she, f.he, f.they = f.she || female[lower] == pronoun, f.he || male[lower] == pronoun, f.they || plural[lower]
		}
		switch {
		case text.IsFiller(query, f.words, i), vague[lower]:
		case isName(query, f.words, i):
			f.own += named
		default:
			f.own++
			content++
		}
		asks = asks || askers[lower]
	}
	f.bare = content == 0 || content == 1 && !asks && openers[f.words[0].Lower]
	return f
}

// spell writes the query, followed by the conversation that it needs.
func (q form) spell(parts []Part, messages []memory.Message) (whole, question string) {
	whole, question = q.query, q.query
	for _, p := range parts[1:] { // the nearest first
		if whole += " " + p.Text; len(whole) > len(q.query)+spelled {
			break
		}
	}
	if !q.bare {
		return whole, question
	}
	for _, m := range slices.Backward(messages) {
		if m.Role == memory.RoleUser {
			return whole, m.Content + " " + q.query
		}
	}
	return whole, question
}
