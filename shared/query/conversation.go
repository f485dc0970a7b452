package query

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

// resolve reads the references of the query, whose own phrase is self, to the messages before it.
func (q *Query) resolve(self Phrase) {
	q.Parts, q.Resolved, q.Question = []Part{{self, 1}}, q.Text, self
	messages := messagesBefore(q.Text, q.Messages)
	if len(messages) == 0 {
		return
	}
	f := readForm(self)
	discount := plain
	if f.points {
		discount = pointing
	}
	discount *= math.Exp(-ownWord * f.own)
	items := f.listedItem(messages)
	for i, m := range slices.Backward(messages) {
		weight := discount * math.Pow(back, float64(len(messages)-1-i)) * roleWeight(m.Role)
		if weight < least || items != nil && i == len(messages)-1 { // the query names one item of this list
			continue
		}
		q.addPart(text.Cut(m.Content, opening), weight)
	}
	people := f.people(messages)
	for _, s := range append(items, people...) {
		q.addPart(s, meant)
	}
	if len(people) > 0 {
		q.People = phraseOf(strings.Join(people, " "))
	}
	q.Resolved = f.spell(q.Parts)
	if f.bare {
		if previous := lastOfUser(messages); previous != "" {
			q.Question = phraseOf(previous + " " + q.Text)
		}
	}
	slices.SortStableFunc(q.Parts[1:], func(a, b Part) int { return cmp.Compare(b.Weight, a.Weight) })
}

// addPart adds a part of the conversation. The weight of each word falls with the number of words.
func (q *Query) addPart(said string, weight float64) {
	diluted := min(1, fullWords/float64(max(1, len(text.SearchTerms(said)))))
	q.Parts = append(q.Parts, Part{phraseOf(said), float32(weight * diluted)})
}

// messagesBefore removes the query itself from the messages, and the messages beyond reach.
func messagesBefore(query string, messages []memory.Message) []memory.Message {
	if n := len(messages); n > 0 {
		last := messages[n-1]
		if last.Role == memory.RoleUser && text.OneLine(last.Content) == text.OneLine(query) {
			messages = messages[:n-1]
		}
	}
	return messages[max(0, len(messages)-reach):]
}

// roleWeight returns the weight of the messages of a role.
func roleWeight(role memory.Role) float64 {
	switch role {
	case memory.RoleAssistant:
		return assistants
	case memory.RoleTool:
		return tools
	}
	return 1
}

// form is the form of a query.
type form struct {
	Phrase
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

func readForm(p Phrase) form {
	f := form{Phrase: p}
	content, asks := 0, false
	for i, w := range f.Words {
		lower := strings.TrimSuffix(w.Lower, "'s")
		if f.own < ownEnough {
			f.points = f.points || pointers[lower] || i == 0 && openers[lower]
			if f.place == 0 {
				f.place, f.among = placeAt(p, i)
			}
			f.she = f.she || female[lower] == pronoun
			f.he = f.he || male[lower] == pronoun
			f.they = f.they || plural[lower]
		}
		switch {
		case text.IsFiller(p.Text, p.Words, i), vague[lower]:
		case isName(p, i):
			f.own += named
		default:
			f.own++
			content++
		}
		asks = asks || askers[lower]
	}
	f.bare = content == 0 || content == 1 && !asks && openers[p.Words[0].Lower]
	return f
}

// spell writes the query, followed by the conversation that it needs. The nearest message comes first.
func (f form) spell(parts []Part) string {
	whole := f.Text
	for _, p := range parts[1:] {
		if whole += " " + p.Text; len(whole) > len(f.Text)+spelled {
			break
		}
	}
	return whole
}

// lastOfUser returns the user's last message. It is empty without one.
func lastOfUser(messages []memory.Message) string {
	for _, m := range slices.Backward(messages) {
		if m.Role == memory.RoleUser {
			return m.Content
		}
	}
	return ""
}
