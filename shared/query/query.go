// Package query understands a query once. [Understand] reads its references to the conversation, its time horizon and
// the kind of answer that it wants. The utilizer calls it at the start of a recall and hands the [Query] on to
// retrieval, ranking features, profile, answer and trace. No other package reads the grammar of a question.
//
// The reranker is another process. It gets the features that the utilizer computed, and no text, so it reads nothing.
//
// The grammar of questions is English, with question words of other languages. The package is pure, takes any input,
// and treats the query only as data.
package query

import (
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/query/intent"
	"github.com/mneme-memory/mneme/shared/text"
)

// Input is a query as a caller sends it.
type Input struct {
	Text string
	// Messages are the messages before the query, oldest first. A last message that equals the query is the query.
	Messages []memory.Message
	// AsOf is the time that the query asks about. If it is zero, the text determines the time.
	AsOf time.Time
	// Now is the time of the query.
	Now time.Time
}

// Query is an understood query, made by [Understand]. It does not change, and is safe for concurrent use.
type Query struct {
	Input
	// Parts are the texts to search for. The query is first, with weight 1. Parts of the conversation follow by
	// descending weight.
	Parts []Part
	// People are the people that the pronouns of the query may mean. It is empty where the query has no pronoun, or
	// no message names a person.
	People Phrase
	// Resolved is the query, followed by the conversation that it needs, as one text. A reader of the beginning alone
	// gets the query.
	Resolved string
	// Question is the text that shows by its form the kind of answer, such as a time. A query that asks nothing
	// itself ("And Ana?") comes after the question before it.
	Question Phrase
	// Dates are the times that the query names, in order.
	Dates []text.DateMention
	// Horizon is the time that the query asks about.
	Horizon Horizon
	// Wants are the kinds of answer that the query wants.
	Wants Wants
	// Category are the words for the kind of thing that is asked for: "music" in "what kind of music".
	Category []string
	// own counts the words of the text by language, and asked counts the question's.
	own, asked text.Tally
	// when is whether the question asks for a time in English.
	when bool
}

// Phrase is a text with its words.
type Phrase struct {
	Text  string
	Words []text.Word
}

// Part is a phrase to search for, with its weight. The query itself has weight 1.
type Part struct {
	Phrase
	Weight float32
}

// Understand reads a query with the messages before it.
func Understand(in Input) Query {
	self := phraseOf(in.Text)
	q := Query{Input: in, Dates: text.Dates(in.Text, in.Now), own: text.TallyWords(self.Words)}
	q.resolve(self)
	q.asked = q.own
	dates := q.Dates
	if q.Question.Text != in.Text {
		q.asked = text.TallyWords(q.Question.Words)
		dates = text.Dates(q.Question.Text, in.Now)
	}
	q.Horizon = horizonOf(q.Question, dates, in)
	q.Wants, q.Category = wantsOf(q.Question, q.asked.Language(text.English)), categoryOf(q.Question)
	q.when = asksWhen(q.Question)
	return q
}

func phraseOf(said string) Phrase { return Phrase{Text: said, Words: text.Words(said)} }

// First returns the part of a phrase before word n, counted from 0.
func (p Phrase) First(n int) Phrase {
	if len(p.Words) <= n {
		return p
	}
	return Phrase{Text: p.Text[:p.Words[n].Start], Words: p.Words[:n]}
}

// Language returns the language of the query. A query without clear evidence, such as a short one, is in the expected
// language.
func (q Query) Language(expected text.Language) text.Language { return q.own.Language(expected) }

// AsksWhen reports whether the query asks for a time. It reads the question in its language, or in the expected one
// without clear evidence. In English the words of such a question may stand anywhere. In other languages with spaces,
// the question word is first, or second after a preposition.
func (q Query) AsksWhen(expected text.Language) bool {
	l := q.asked.Language(expected)
	if l == text.English {
		return q.when
	}
	canonical := text.English.Plain(text.Canonical(q.Question.Text)) + " "
	_, rest, _ := strings.Cut(canonical, " ")
	return slices.ContainsFunc(l.WhenWords(), func(when string) bool {
		if text.IsUnspaced(when) {
			return strings.Contains(q.Question.Text, when)
		}
		return strings.HasPrefix(canonical, when+" ") || strings.HasPrefix(rest, when+" ")
	})
}

// Horizon is the time that a query asks about.
type Horizon struct {
	// Intent is the present, a past state or an event. Superseded memories count for a past state. Memories of an
	// event count even if they are no longer valid.
	Intent intent.Intent
	// At is the last day asked about; zero where the query names none.
	At time.Time
	// Exact means that the caller gave At explicitly, so later turns are left out. A time in the query itself is
	// less strict, because people may tell of a time later.
	Exact bool
}

// horizonOf reads the horizon of a question that names these dates. An explicit time of the caller takes precedence.
func horizonOf(question Phrase, dates []text.DateMention, in Input) Horizon {
	if !in.AsOf.IsZero() {
		return Horizon{Intent: intent.Past, At: in.AsOf, Exact: true}
	}
	var h Horizon
	r := intent.Trained().Read(question.Text, dates, in.Now)
	switch {
	case r.Past:
		h.Intent = intent.Past
	case r.Event:
		h.Intent = intent.Event
	}
	if !r.At.IsZero() {
		h.At = r.At.AddDate(0, 0, 1).Add(-time.Nanosecond)
	}
	return h
}
