// Package conversation reads a query in the light of the messages just before it: "and for her?" asks for what they are about. It is pure,
// takes any input, and leaves a query without messages as it is.
package conversation

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// How much the talk counts beside a query. The numbers were chosen on the choose half of lab/corpus/talks.
const (
	// pointing and plain are what the last user message counts for a query that has no words of its own: one that points out of itself
	// ("her", "the second", "others"), and one that does not.
	pointing, plain = 0.6, 0.3
	// ownWord is how fast that falls with each content word of its own.
	ownWord = 0.6
	// assistants and tools count less than the user, and all less the further back they are, a message each.
	assistants, tools, back = 0.5, 0.25, 0.7
	// reach is how many messages count at all, fullWords how many content words of one count in full: of more, each counts less.
	reach, fullWords = 6, 10
	// meant is what somebody or something counts that the query points to and the talk names.
	meant = 0.9
	// least is the weight below which a message is left alone, however few words it has.
	least = 0.1
	// opening is how much of a message is read for what it is about, in bytes: of a long answer, the rest are details.
	opening = 400
	// spelled is how much of the talk is written out behind the query, in bytes, or a part more.
	spelled = 800
)

// Part is a run of words that is asked for, and how much it counts beside the query's own words, which count 1.
type Part struct {
	Text   string
	Weight float32
}

// Reading is a query as it is understood.
type Reading struct {
	// Parts are what is asked for: the query first, with weight 1, then what the talk adds, what counts most first.
	Parts []Part
	// People are those whom the query's pronouns may mean; empty where it has none, or nobody was named.
	People string
	// Text is the query with what it leaves to the talk behind it, as one text: who reads only the beginning has the query.
	Text string
	// Question is what tells by its form what would answer, such as a time: the query, behind the question before it where it asks nothing
	// itself ("And Ana?").
	Question string
}

// Read understands a query by the messages before it, oldest first. A last message that is the query itself is passed over.
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
		if weight < least || items != nil && i == len(messages)-1 { // of what that offers, the query says which
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

// before leaves out of the messages what does not come before the query, and what is too far back.
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

// diluted is how much each word of a message counts: less where there are many.
func diluted(said string) float64 {
	return min(1, fullWords/float64(max(1, len(text.SearchTerms(said)))))
}

// form is how a query is made.
type form struct {
	query string
	words []text.Word
	// own counts the content words that say what is asked for, and names, which say whom it is about, half.
	own float64
	// bare is whether it asks nothing itself: it has no content words but names, or is "and ...?" and one of them.
	bare bool
	// points is whether it points to what it does not name.
	points bool
	// she, he, they are the pronouns that it has where nothing of its own comes before them; place is the place in a list that it names
	// there, 0 for none, and among the stem of what is listed, where it says so.
	she, he, they bool
	place         int
	among         string
}

const (
	// ownEnough is how many content words make what a pronoun behind them points to likely to be among them.
	ownEnough = 2
	// named is what a name counts of a content word.
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

// spell writes the query out with what it leaves to the talk.
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
