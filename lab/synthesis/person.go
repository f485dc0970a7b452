package synthesis

import (
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Person is one made-up user with everything that is true of the dialogues.
type Person struct {
	// ID names the person: split, seed and number; usable as a user id.
	ID string
	// Profile is who the user is.
	Profile Profile
	// Other is who the user talks to: a friend, or an assistant.
	Other Profile
	// Form is FormAssistant or FormFriends.
	Form Form
	// Sessions in order of time.
	Sessions []Session
	// Targets are the operations that the sessions should lead to, in the order in which they are told.
	Targets []Target
	// Questions can be answered from the dialogues.
	Questions []Question
}

// Profile is a speaker.
type Profile struct {
	Name string
	Role memory.Role
}

// Session is one conversation.
type Session struct {
	// ID is unique within the person.
	ID string
	// Time is when it began.
	Time time.Time
	// ClosedAt is when it ended, after its last turn.
	ClosedAt time.Time
	Turns    []Turn
}

// TurnKind is what a turn mostly does.
type TurnKind string

// The kinds of turn. Only KindTell and KindAnswer are salient.
const (
	// KindTell states something.
	KindTell TurnKind = "tell"
	// KindAnswer states something that makes sense with its question only.
	KindAnswer TurnKind = "answer"
	// KindQuestion asks.
	KindQuestion TurnKind = "question"
	// KindReaction comments on what was said, praises, encourages or thanks.
	KindReaction TurnKind = "reaction"
	// KindEcho says again what the other speaker just said.
	KindEcho TurnKind = "echo"
	// KindAdvice is generic advice.
	KindAdvice TurnKind = "advice"
	// KindChatter is small talk.
	KindChatter TurnKind = "chatter"
	// KindOpening greets.
	KindOpening TurnKind = "opening"
	// KindClosing says goodbye.
	KindClosing TurnKind = "closing"
	// KindHostile instructs the assistant or the memory, and tells nothing.
	KindHostile TurnKind = "hostile"
)

// Turn is an utterance with its labels.
type Turn struct {
	memory.Turn
	// Salient is whether it tells something that one may be asked about later.
	Salient bool
	// Targets are indices into Person.Targets of what it tells; a salient turn may have none (an opinion, a detail).
	Targets []int
	// Kind is what it mostly does.
	Kind TurnKind
}

// Evolution is how a target comes about (DeltaMem).
type Evolution string

// The evolutions.
const (
	EvolutionNew     Evolution = "new"
	EvolutionExpand  Evolution = "expand"
	EvolutionAdjust  Evolution = "adjust"
	EvolutionShift   Evolution = "shift"
	EvolutionPartial Evolution = "partial"
	// EvolutionEnd is a DELETE: nothing holds in place of the predecessor.
	EvolutionEnd Evolution = "end"
	// EvolutionAgain is a NONE: the predecessor is told once more.
	EvolutionAgain Evolution = "again"
	// EvolutionNear is an ADD about somebody else that looks like a change of the user's own.
	EvolutionNear Evolution = "near"
	// EvolutionWish is an ADD of a hope or an idea, which changes nothing yet.
	EvolutionWish Evolution = "wish"
)

// Target is one operation that a session should lead to.
type Target struct {
	// Session is an index into Person.Sessions.
	Session int
	// Turns are the ids of the turns that tell it, at least one.
	Turns []string
	// Operation is ADD, UPDATE, DELETE or NONE.
	Operation memory.OpKind
	// Evolution says how it came about.
	Evolution Evolution
	// Predecessor is the index of the target that UPDATE and DELETE close, and that NONE repeats; -1 for ADD.
	Predecessor int
	// Ends are the targets whose statements hold no longer once this one is told, the predecessor first; what an expansion ends with it was
	// told before it. None for ADD, NONE and an expansion.
	Ends []int
	// Unlike is the index of the target that a near statement or a wish must leave alone; -1 for others.
	Unlike int
	// Statement is the memory in the third person; for DELETE, that it no longer holds.
	Statement string
	Kind      memory.Kind
	// Domain is the part of life: career, health, relationship, preference, home and so on.
	Domain string
	// Subject is whom it is about.
	Subject string
	// Slot is subject and attribute. At most one target of a slot holds at a time.
	Slot string
	// Value is what the slot is set to, short.
	Value string
	// Question asks for the value while it holds; empty where the target sets none.
	Question string
	// Keywords are exactly three words or short phrases that are in the statement; the first is in the turns, too.
	Keywords []string
	// EventTime is when it happened or will, where that was said.
	EventTime memory.EventTime
	// ValidFrom is the time of the first turn that tells it.
	ValidFrom time.Time
	// ValidTo is when it ceased to hold: its successor's ValidFrom. Zero while it holds.
	ValidTo time.Time
}

// Question asks for something that was told.
type Question struct {
	Text   string
	Answer string
	// Evidence are the ids of the turns that answer it.
	Evidence []string
	// Target is the index of the target that answers it.
	Target int
	// AsOf is the time asked about; zero means the end. A question about the past has the answer that held then.
	AsOf time.Time
	// Category is one of the Category constants.
	Category Category
}

// Category is a sort of question.
type Category string

// The categories.
const (
	// CategoryNow asks for what holds at the end.
	CategoryNow Category = "now"
	// CategoryPast asks for what held at AsOf and was superseded.
	CategoryPast Category = "past"
	// CategoryWhen asks for a date.
	CategoryWhen Category = "when"
)
