package reward

import (
	"context"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Judge supplies the judgements for SaliMory's rewards (E.1 to E.3), and classifies how personal an answer is (B.3).
// Implementations are safe for concurrent use. A missing judgement is an error, never a score. It is one of package
// fault's terminal errors where the input lacks a part. It is another error where a retry may help.
type Judge interface {
	// Response marks an answer against the right one (E.1).
	Response(ctx context.Context, a Answered) (Response, error)
	// Entries counts a bank's entries that are faithful to their sources, and the vague ones (E.2). It counts all
	// entries. An empty bank gives zero counts and no error.
	Entries(ctx context.Context, bank []BankEntry) (Entries, error)
	// Utilization returns the usefulness of the profile for the question, 0 to 1 (E.3).
	Utilization(ctx context.Context, a Answered) (float64, error)
	// Personalization classifies the answer's use of memories about the user (B.3).
	Personalization(ctx context.Context, a Answered) (Personalization, error)
}

// Utterance is one speaker's turn in a conversation.
type Utterance struct {
	// ID is the id of the turn.
	ID      string
	Speaker string
	Text    string
	Time    time.Time
}

// BankEntry is an active entry of a bank, with its source utterances.
type BankEntry struct {
	Text string
	// Speaker is the speaker of the entry, Time the start of its validity. Either may be unknown.
	Speaker string
	Time    time.Time
	From    []Utterance
}

// Answered is a question with an answer from a memory, in a judge's view.
type Answered struct {
	Question string
	// Conversation has the utterances right before the question, in order. Like the question's text, it is no memory.
	Conversation []Utterance
	// Memory has the active entries of the bank. Profile has the parts of them that the answer's model saw.
	Memory  []BankEntry
	Profile []string
	Answer  string
	// Golden is the right answer. Outdated is the earlier right answer.
	Golden   string
	Outdated []string
}

// CheckMarked returns a terminal error where a part is missing that a mark needs.
func (a Answered) CheckMarked() error {
	if err := a.CheckAsked(); err != nil {
		return err
	}
	if a.Golden == "" {
		return fault.Terminal("golden", "is empty, want the right answer")
	}
	return nil
}

// CheckAsked returns a terminal error where the question is missing.
func (a Answered) CheckAsked() error {
	if a.Question == "" {
		return fault.Terminal("question", "is empty, want one")
	}
	return nil
}
