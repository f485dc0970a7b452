// Package synthesis makes people who never lived. Each has a profile, twenty to thirty dated sessions of talk over
// one to three years, the expected memory operations of every session, and questions with their evidence. It follows
// DeltaMem's memory-evolving synthesis (arXiv:2604.01560, section 3.2 and appendix A), with templates in place of a
// model. There are changes within an event (expand, adjust, shift, partial deletion). There are changes of an earlier
// event's meaning (feeling, meaning, belief about oneself). Filling and repetitions change nothing.
//
// Everything is a function of Options: the same options make the same people on every machine. Person i is the same
// for any number of persons. All text comes from the files in words.
package synthesis

import (
	"fmt"
	"math/rand/v2"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Split names a half of the words. Names, values and phrasings of one split do not occur in the other. Closed classes
// (weekdays, months, colours, relatives) and the wording of statements belong to both.
type Split string

// The splits: two thirds of each list are for training, one third is held out.
const (
	SplitTrain   Split = "train"
	SplitHeldout Split = "heldout"
)

// Form names the speakers of a dialogue.
type Form string

// The forms of dialogue.
const (
	// FormMixed takes FormFriends for two persons in three and FormAssistant for the rest.
	FormMixed Form = "mixed"
	// FormAssistant is a user with an assistant; every session begins with the user.
	FormAssistant Form = "assistant"
	// FormFriends is two people, both of RoleUser, who both tell facts about themselves.
	FormFriends Form = "friends"
)

// Limits of Options, to catch mistakes.
const (
	maxPersons  = 1_000_000
	maxSessions = 200
	maxBeats    = 40
)

// Options are the options of a Generator. The zero value of a field means its default.
type Options struct {
	// Seed chooses the people. Every value, zero too, is a different seed.
	Seed uint64
	// Persons is the number of people that Generate makes; default 1, at most a million.
	Persons int
	// Sessions is the number of sessions of a person; default 0: 20 to 30, drawn for each person. At most 200.
	Sessions int
	// Beats is the mean number of told facts in a session; default 8, at most 40. A session has about two and a half
	// turns a beat.
	Beats int
	// Split selects the words; default SplitTrain.
	Split Split
	// Form selects the speakers; default FormMixed.
	Form Form
	// Phrasings are people's statements, by writer. With any, a person tells one writer's statements in place of the
	// themes, amid the same small talk. Default empty.
	Phrasings [][]Phrasing
	// Clean leaves out typing errors, chat spelling and lower-cased lines.
	Clean bool
}

func (o Options) withDefaults() (Options, error) {
	if o.Persons == 0 {
		o.Persons = 1
	}
	if o.Beats == 0 {
		o.Beats = 8
	}
	if o.Split == "" {
		o.Split = SplitTrain
	}
	if o.Form == "" {
		o.Form = FormMixed
	}
	switch {
	case o.Persons < 1 || o.Persons > maxPersons:
		return o, fault.Terminal("persons", "is %d, want 1 to %d", o.Persons, maxPersons)
	case o.Sessions < 0 || o.Sessions > maxSessions:
		return o, fault.Terminal("sessions", "is %d, want 0 to %d", o.Sessions, maxSessions)
	case o.Beats < 1 || o.Beats > maxBeats:
		return o, fault.Terminal("beats", "is %d, want 1 to %d", o.Beats, maxBeats)
	case o.Split != SplitTrain && o.Split != SplitHeldout:
		return o, fault.Terminal("split", "is %q, want train or heldout", o.Split)
	case o.Form != FormMixed && o.Form != FormAssistant && o.Form != FormFriends:
		return o, fault.Terminal("form", "is %q, want mixed, assistant or friends", o.Form)
	}
	return o, nil
}

// Generator makes people one at a time. It is safe for concurrent use.
type Generator struct {
	options Options
	words   *library
	phrased [][]*theme
}

// New reads the words of the split. Its errors are terminal: an option out of range, a later statement that evolves in
// no known way, or broken word files.
func New(o Options) (*Generator, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	words, err := loadLibrary(o.Split)
	if err != nil {
		return nil, fmt.Errorf("load words: %w", err)
	}
	phrased, err := phrasedThemes(o.Phrasings)
	if err != nil {
		return nil, err
	}
	return &Generator{options: o, words: words, phrased: phrased}, nil
}

// Generate makes Options.Persons people. For many, Generator.Person needs less memory.
func Generate(o Options) ([]Person, error) {
	g, err := New(o)
	if err != nil {
		return nil, err
	}
	out := make([]Person, g.options.Persons)
	for i := range out {
		out[i] = g.Person(i)
	}
	return out, nil
}

// Person makes person i, from zero.
func (g *Generator) Person(i int) Person {
	// The second word of the state separates persons; the multiplier is the golden ratio's, to spread small numbers.
	r := rand.New(rand.NewPCG(g.options.Seed, (uint64(i)+1)*0x9e3779b97f4a7c15))
	return newLife(g, r, i).live()
}
