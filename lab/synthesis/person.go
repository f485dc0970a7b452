package synthesis

import (
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Person is one made-up user with the truth of the dialogues.
type Person struct {
	// ID names the person: split, seed and number; usable as a user id.
	ID string
	// Profile describes the user.
	Profile Profile
	// Other describes the user's partner: a friend, or an assistant.
	Other Profile
	// Form is FormAssistant or FormFriends.
	Form Form
	// Sessions are in order of time.
	Sessions []Session
	// Targets are the expected operations of the sessions, in the order of telling.
	Targets []Target
	// Questions have their answers in the dialogues.
	Questions []Question
}

// Profile describes a speaker.
type Profile struct {
	Name string
	Role memory.Role
}

// Session is one conversation.
type Session struct {
	// ID is unique within the person.
	ID string
	// Time is the start.
	Time time.Time
	// ClosedAt is the end, after the last turn.
	ClosedAt time.Time
	Turns    []Turn
}

// TurnKind is the main purpose of a turn.
type TurnKind string

// The kinds of turn. Only KindTell and KindAnswer are salient.
const (
	// KindTell states a fact.
	KindTell TurnKind = "tell"
	// KindAnswer states a fact that needs its question.
	KindAnswer TurnKind = "answer"
	// KindQuestion asks.
	KindQuestion TurnKind = "question"
	// KindReaction comments on the last turn, praises, encourages or thanks.
	KindReaction TurnKind = "reaction"
	// KindEcho repeats the other speaker's last statement.
	KindEcho TurnKind = "echo"
	// KindAdvice is generic advice.
	KindAdvice TurnKind = "advice"
	// KindChatter is small talk.
	KindChatter TurnKind = "chatter"
	// KindOpening greets.
	KindOpening TurnKind = "opening"
	// KindClosing says goodbye.
	KindClosing TurnKind = "closing"
	// KindHostile instructs the assistant or the memory, and tells no fact.
	KindHostile TurnKind = "hostile"
)

// Turn is an utterance with its labels.
type Turn struct {
	memory.Turn
	// Salient is true for a turn with a fact that a later question may need.
	Salient bool
	// Targets are indices into Person.Targets of the told targets. A salient turn may have no target (an opinion, a
	// detail).
	Targets []int
	// Kind is its main purpose.
	Kind TurnKind
}

// Evolution is the origin of a target (DeltaMem).
type Evolution string

// The evolutions.
const (
	EvolutionNew     Evolution = "new"
	EvolutionExpand  Evolution = "expand"
	EvolutionAdjust  Evolution = "adjust"
	EvolutionShift   Evolution = "shift"
	EvolutionPartial Evolution = "partial"
	// EvolutionEnd is a DELETE: no statement replaces the predecessor.
	EvolutionEnd Evolution = "end"
	// EvolutionAgain is a NONE: the turn tells the predecessor again.
	EvolutionAgain Evolution = "again"
	// EvolutionNear is an ADD about another person that looks like a change of the user's fact.
	EvolutionNear Evolution = "near"
	// EvolutionWish is an ADD of a hope or an idea. It changes nothing yet.
	EvolutionWish Evolution = "wish"
)

// Target is one expected operation of a session.
type Target struct {
	// Session is an index into Person.Sessions.
	Session int
	// Turns are the ids of the turns that tell it, at least one.
	Turns []string
	// Operation is ADD, UPDATE, DELETE or NONE.
	Operation memory.OpKind
	// Evolution is the origin of the target.
	Evolution Evolution
	// Predecessor is the index of the target that UPDATE and DELETE close, and that NONE repeats; -1 for ADD.
	Predecessor int
	// Ends are the targets with statements that hold no more after this one, the predecessor first. An expansion that
	// ends with it came before it. It is empty for ADD, NONE and an expansion.
	Ends []int
	// Unlike is the index of the target that a near statement or a wish must leave alone; -1 for others.
	Unlike int
	// Statement is the memory in the third person. For DELETE it says that the fact holds no more.
	Statement string
	Kind      memory.Kind
	// Domain is the part of life: career, health, relationship, preference, home and so on.
	Domain string
	// Subject is the person of the statement.
	Subject string
	// Slot is subject and attribute. At most one target of a slot holds at a time.
	Slot string
	// Value is the new value of the slot, short.
	Value string
	// Question asks for the value while it holds. It is empty for a target without a value.
	Question string
	// Keywords are exactly three words or short phrases that are in the statement; the first is in the turns, too.
	Keywords []string
	// EventTime is the time of the event, where a turn tells it.
	EventTime memory.EventTime
	// ValidFrom is the time of the first turn that tells it.
	ValidFrom time.Time
	// ValidTo is the end of validity: the successor's ValidFrom. It is zero while the statement holds.
	ValidTo time.Time
}

// Question asks for a told fact.
type Question struct {
	Text   string
	Answer string
	// Evidence has the ids of the turns with the answer.
	Evidence []string
	// Target is the index of the target with the answer.
	Target int
	// AsOf is the time of the question's subject. Zero means the end. A question about the past has the answer of
	// that time.
	AsOf time.Time
	// Category is one of the Category constants.
	Category Category
}

// Category is a sort of question.
type Category string

// The categories.
const (
	// CategoryNow asks for a value that holds at the end.
	CategoryNow Category = "now"
	// CategoryPast asks for a value that held at AsOf and was superseded.
	CategoryPast Category = "past"
	// CategoryWhen asks for a date.
	CategoryWhen Category = "when"
)
