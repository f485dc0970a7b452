package reward

import (
	"context"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Judge says what SaliMory's rewards are computed from (E.1 to E.3), and how personal an answer is (B.3). Implementations are safe for
// concurrent use. What cannot be judged is an error and no score: one of package fault's terminal errors where what is to be judged lacks
// something, any other where judging it again may help.
type Judge interface {
	// Response marks an answer beside the right one (E.1).
	Response(ctx context.Context, a Answered) (Response, error)
	// Entries says how many entries of a bank are faithful to what they were made from, and how many too vague (E.2). All of them are
	// counted; of no entries there is nothing to say, and no error.
	Entries(ctx context.Context, bank []BankEntry) (Entries, error)
	// Utilization is how well the profile serves the question, 0 to 1 (E.3).
	Utilization(ctx context.Context, a Answered) (float64, error)
	// Personalization says how an answer uses what is remembered of the user (B.3).
	Personalization(ctx context.Context, a Answered) (Personalization, error)
}

// Utterance is what somebody said in a conversation.
type Utterance struct {
	// ID is the turn's.
	ID      string
	Speaker string
	Text    string
	Time    time.Time
}

// BankEntry is an active entry of a bank, with the utterances that it was made from.
type BankEntry struct {
	Text string
	// Speaker is who said it, Time since when it holds; either may be unknown.
	Speaker string
	Time    time.Time
	From    []Utterance
}

// Answered is a question that was answered from a memory, as a judge sees it.
type Answered struct {
	Question string
	// Conversation is what was said right before the question, in order. Like what the question says, it is no memory.
	Conversation []Utterance
	// Memory are the active entries of the bank, Profile those parts of it that were put before the answer.
	Memory  []BankEntry
	Profile []string
	Answer  string
	// Golden is the right answer, Outdated what was right before it.
	Golden   string
	Outdated []string
}

// CheckMarked is a terminal error where something is missing that it takes to mark an answer beside the right one.
func (a Answered) CheckMarked() error {
	if err := a.CheckAsked(); err != nil {
		return err
	}
	if a.Golden == "" {
		return fault.Terminal("golden", "is empty, want the right answer")
	}
	return nil
}

// CheckAsked is a terminal error where there is no question.
func (a Answered) CheckAsked() error {
	if a.Question == "" {
		return fault.Terminal("question", "is empty, want one")
	}
	return nil
}
