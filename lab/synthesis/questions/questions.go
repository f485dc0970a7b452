// Package questions makes conversations that never took place, with questions and the known turns that answer them.
// They train the ranker's prior.
//
// A conversation is months of dated sessions between two friends, or a user and an assistant. The speakers come back
// to a few threads of their lives. One tells a fact, the other asks about it, and the detail comes in an answer that
// does not repeat the topic. Some facts come again later, or the other tells the same about themselves. Questions
// name people in the third person and use other words: a hypernym, a synonym, a noun for a verb. These traits
// separate a good feature of a ranker from a bad one.
//
// All text comes from the files in words, by a small grammar; see words/README.md. Everything is a function of
// Options: conversation i is the same for any number of conversations, on every machine.
package questions

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Category is a kind of question.
type Category string

// The categories.
const (
	// CategoryTold asks for a fact that a turn tells directly.
	CategoryTold Category = "told"
	// CategoryDetail asks for a detail that mostly came in an answer.
	CategoryDetail Category = "detail"
	// CategoryTemporal asks when something happened.
	CategoryTemporal Category = "temporal"
	// CategoryMulti asks for several facts from separate turns.
	CategoryMulti Category = "multi"
	// CategoryNow asks for the last value of a fact that changed.
	CategoryNow Category = "now"
	// CategoryMistaken asks one person for a fact that only the other told. No turn answers it.
	CategoryMistaken Category = "mistaken"
)

// Question is a question with the turns that answer it.
type Question struct {
	Text     string
	Category Category
	// Evidence has the ids of turns, in order. A mistaken question has the misleading turns.
	Evidence []string
	// AskedAt is after the last session.
	AskedAt time.Time
}

// Conversation has all turns of two people, and questions about them.
type Conversation struct {
	// User identifies it.
	User string
	// Assistant is true for a user's talk with an assistant. Then the user's questions are in the first person.
	Assistant bool
	Sessions  []dataset.Session
	Questions []Question
}

// Limits of Options, to catch mistakes.
const (
	maxConversations = 100_000
	maxSessions      = 200
	maxQuestions     = 2_000
)

// Options are the options of a Generator. The zero value of a field means its default.
type Options struct {
	// Seed chooses the conversations. Every value, zero too, is a different seed.
	Seed uint64
	// Conversations is the number of conversations; default 1.
	Conversations int
	// Sessions is the number of sessions of a conversation; default 0: 18 to 30, drawn for each.
	Sessions int
	// Questions is the largest number of questions on a conversation; default 80.
	Questions int
	// Split selects the words; default synthesis.SplitTrain. Names, things and wordings of one split do not occur in
	// the other.
	Split synthesis.Split
	// Rates are the frequencies of events in conversations. The zero value means DefaultRates.
	Rates Rates
}

func (o Options) filled() (Options, error) {
	if o.Conversations == 0 {
		o.Conversations = 1
	}
	if o.Questions == 0 {
		o.Questions = 80
	}
	if o.Split == "" {
		o.Split = synthesis.SplitTrain
	}
	if o.Rates == (Rates{}) {
		o.Rates = DefaultRates()
	}
	switch {
	case o.Conversations < 1 || o.Conversations > maxConversations:
		return o, fault.Terminal("conversations", "is %d, want 1 to %d", o.Conversations, maxConversations)
	case o.Sessions < 0 || o.Sessions > maxSessions:
		return o, fault.Terminal("sessions", "is %d, want 0 to %d", o.Sessions, maxSessions)
	case o.Questions < 1 || o.Questions > maxQuestions:
		return o, fault.Terminal("questions", "is %d, want 1 to %d", o.Questions, maxQuestions)
	case o.Split != synthesis.SplitTrain && o.Split != synthesis.SplitHeldout:
		return o, fault.Terminal("split", "is %q, want train or heldout", o.Split)
	}
	return o, o.Rates.check()
}

// Generator makes conversations one at a time. It is safe for concurrent use.
type Generator struct {
	options Options
	words   *library
}

// New reads the words of the split. Its errors are terminal: an option out of range, or broken word files.
func New(o Options) (*Generator, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	words, err := loadLibrary(o.Split)
	if err != nil {
		return nil, fmt.Errorf("load words: %w", err)
	}
	return &Generator{options: o, words: words}, nil
}

// Len returns the number of conversations.
func (g *Generator) Len() int { return g.options.Conversations }

// Conversation makes conversation i, from zero.
func (g *Generator) Conversation(i int) Conversation {
	// The second word of the state separates conversations; the multiplier spreads small numbers.
	r := rand.New(rand.NewPCG(g.options.Seed, (uint64(i)+1)*0x9e3779b97f4a7c15))
	t := newTalk(g, r, i)
	t.hold()
	asked := t.ask()
	return Conversation{User: t.user, Assistant: t.people[1].assistant, Sessions: t.sessions,
		Questions: append(asked, t.mistake()...)}
}

// Subjects returns all conversations in the form of evaluations.
func (g *Generator) Subjects(tenant string) []dataset.Subject {
	out := make([]dataset.Subject, g.Len())
	for i := range out {
		c := g.Conversation(i)
		out[i] = dataset.Subject{Scope: memory.Scope{Tenant: tenant, User: c.User}, Sessions: c.Sessions}
		for _, q := range c.Questions {
			out[i].Questions = append(out[i].Questions, dataset.Question{
				Text: q.Text, Category: string(q.Category), Evidence: q.Evidence, AskedAt: q.AskedAt,
				SingleHop: q.Category == CategoryTold || q.Category == CategoryDetail, Unanswerable: q.Category == CategoryMistaken,
			})
		}
	}
	return out
}
