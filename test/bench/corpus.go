package bench

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// corpus generates statements, the same ones for the same seed. Half of the words are common and half are rare, as in
// real statements.
type corpus struct{ random *rand.Rand }

func newCorpus(seed uint64) *corpus {
	return &corpus{rand.New(rand.NewPCG(seed, 0x6d6e656d65))}
}

func one(r *rand.Rand, words ...string) string { return words[r.IntN(len(words))] }

func (c *corpus) speaker() string {
	return one(c.random, "Ines", "Maya", "Tomas", "Jun", "Priya", "Oscar", "Lena", "Kofi", "Ana", "Ravi", "Mira", "Hugo")
}

// name returns an invented proper name, which serves as a rare word.
func (c *corpus) name() string {
	var b strings.Builder
	for range 2 + c.random.IntN(2) {
		b.WriteString(
			one(c.random, "b", "d", "k", "l", "m", "n", "r", "s", "t", "v", "z") +
				one(c.random, "a", "e", "i", "o", "u", "ai", "or"),
		)
	}
	s := b.String()
	return strings.ToUpper(s[:1]) + s[1:]
}

func (c *corpus) place() string {
	return one(c.random, "Lisbon", "Oslo", "Kyoto", "Nairobi", "Boston", "Quito", "Turin", "Leeds", "Hanoi", "Perth",
		"Lyon", "Austin",
		"Ghent", "Porto", "Davos", "Malaga")
}

// fact returns a clause with a rare name, and a question that finds it.
func (c *corpus) fact() (clause, question string) {
	name, place := c.name(), c.place()
	month := one(c.random, "January", "March", "April", "June", "August", "October", "December")
	switch c.random.IntN(6) {
	case 0:
		return "adopted a dog named " + name + " from a shelter in " + place,
			"what is the dog from the shelter in " + place + " called?"
	case 1:
		return "moved to " + place + " in " + month + " for a job at " + name,
			"when did the move to " + place + " for " + name + " happen?"
	case 2:
		return "started learning the violin with a teacher called " + name + " in " + place,
			"who teaches the violin in " + place + "?"
	case 3:
		return "is allergic to peanuts and sees doctor " + name + " in " + place,
			"which doctor in " + place + " looks after the allergy?"
	case 4:
		return "prefers the " + name + " restaurant in " + place + " for birthdays",
			"which restaurant in " + place + " is preferred for a birthday?"
	default:
		return "finished a marathon in " + place + " together with " + name + " last " + month,
			"with whom was the marathon in " + place + " finished?"
	}
}

// salient returns a turn worth remembering; chatter returns any other turn.
func (c *corpus) salient() string {
	clause, _ := c.fact()
	return "I have to tell you: my sister " + c.name() + " " + clause + ", and I am so happy about it."
}

func (c *corpus) chatter() string {
	return one(c.random, "Okay, thanks!", "Haha, thanks!", "Sure.", "Hello there!", "Bye, talk later.")
}

// memories returns n entries of a user, with a question for each.
func (c *corpus) memories(scope memory.Scope, n int, at time.Time) (entries []memory.Memory, questions []string) {
	for i := range n {
		who := c.speaker()
		clause, question := c.fact()
		turn := fmt.Sprintf("bench-%d", i)
		entries = append(entries, memory.Memory{
			ID: memory.DeriveID(scope, []string{turn}, 0), Kind: memory.KindFact, Content: who + " " + clause + ".",
			Topic: strings.Fields(clause)[1], Keywords: strings.Fields(clause)[2:4],
			RecordedAt: at.Add(time.Duration(i) * time.Second), ValidFrom: at.Add(time.Duration(i) * time.Second),
			Status: memory.StatusActive, Version: 1, Sources: []string{turn}, SessionID: fmt.Sprintf("bench-%d", i/20),
			Strategy: "salimory", PolicyVersion: "bench", OperationID: memory.DeriveID(scope, []string{turn}, 1),
		})
		questions = append(questions, fmt.Sprintf("%s, %s", who, question))
	}
	return entries, questions
}
