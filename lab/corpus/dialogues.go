package corpus

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mneme-memory/mneme/shared/memory"
)

//go:embed dialogues/*.jsonl
var dialogueFiles embed.FS

// ErrDialogue is the error for a line that is no dialogue.
var ErrDialogue = errors.New("not a labelled dialogue")

// maxTurn bounds a turn, in bytes.
const maxTurn = 20_000

// Dialogue is a conversation of a person with an assistant, or of two friends.
type Dialogue struct {
	// ID names the file and the line.
	ID string `json:"id"`
	// Topic is one or more words. Person is the name of the user, or of the first friend.
	Topic  string       `json:"topic"`
	Person string       `json:"person"`
	Turns  []SpokenTurn `json:"turns"`
	// Remember are the turns, from 0, that a later conversation may need.
	Remember []int `json:"remember"`
	// Requests are the person's requests on another day.
	Requests []Request `json:"requests"`
	// Batch is the name of the file without its ending.
	Batch string `json:"-"`
}

// SpokenTurn is a turn of a dialogue.
type SpokenTurn struct {
	Role memory.Role `json:"role"`
	Text string      `json:"text"`
	// Speaker is a friend's name. It is empty in a dialogue with an assistant.
	Speaker string `json:"speaker,omitempty"`
	// Caption describes an image.
	Caption string `json:"caption,omitempty"`
}

// Request is a later request. Its good answer needs turns of the dialogue.
type Request struct {
	Text  string `json:"text"`
	Needs []int  `json:"needs"`
}

// InPassing reports whether the dialogue was written for facts told in passing. There, a turn outside Remember may
// still be worth remembering.
func (d Dialogue) InPassing() bool { return strings.HasPrefix(d.Batch, "p") }

// LabelledTurn is a turn with its labels.
type LabelledTurn struct {
	Turn memory.Turn
	// Remember is true for a turn worth remembering, Needed for a turn that a later request needs.
	Remember, Needed bool
	Split            Split
}

// dialogueSplits has whole batches: a writer is in one split.
var dialogueSplits = map[string]Split{"d05": Choose, "p06": Choose, "d06": Heldout, "p07": Heldout}

// Split returns the split of the dialogue.
func (d Dialogue) Split() Split {
	if s, ok := dialogueSplits[d.Batch]; ok {
		return s
	}
	return Train
}

// Labelled returns the turns with their labels.
func (d Dialogue) Labelled() []LabelledTurn {
	out := make([]LabelledTurn, len(d.Turns))
	for i, t := range d.Turns {
		speaker := t.Speaker
		switch {
		case speaker != "":
		case t.Role == memory.RoleAssistant:
			speaker = "Assistant"
		default:
			speaker = d.Person
		}
		out[i] = LabelledTurn{
			Turn: memory.Turn{
				ID: fmt.Sprintf("%s:%d", d.ID, i), SessionID: d.ID, Speaker: speaker, Role: t.Role, Text: t.Text,
				Caption: t.Caption,
			},
			Remember: slices.Contains(d.Remember, i), Split: d.Split(),
			Needed: slices.ContainsFunc(d.Requests, func(r Request) bool { return slices.Contains(r.Needs, i) }),
		}
	}
	return out
}

// Dialogues returns all dialogues in the order of files and lines.
var Dialogues = sync.OnceValues(func() ([]Dialogue, error) {
	return eachFile(dialogueFiles, "dialogues", ReadDialogues)
})

// ReadDialogues reads the dialogues of a batch, a JSON object a line. A line that is no dialogue is an ErrDialogue
// with its number.
func ReadDialogues(batch string, data []byte) ([]Dialogue, error) {
	return eachLine(data, ErrDialogue, func() Dialogue { return Dialogue{Batch: batch} }, Dialogue.check)
}

func (d Dialogue) check() error {
	if d.ID == "" || len(d.Turns) == 0 {
		return errors.New("it has no id or no turns")
	}
	for i, t := range d.Turns {
		if t.Role != memory.RoleUser && t.Role != memory.RoleAssistant {
			return fmt.Errorf("turn %d has role %q", i, t.Role)
		}
		if strings.TrimSpace(t.Text) == "" || len(t.Text) > maxTurn {
			return fmt.Errorf("turn %d is empty or longer than %d bytes", i, maxTurn)
		}
	}
	for _, i := range d.Remember {
		if i < 0 || i >= len(d.Turns) {
			return fmt.Errorf("there is no turn %d to remember", i)
		}
	}
	for _, r := range d.Requests {
		if strings.TrimSpace(r.Text) == "" || len(r.Needs) == 0 {
			return errors.New("a request is empty or needs nothing")
		}
		for _, i := range r.Needs {
			if !slices.Contains(d.Remember, i) {
				return fmt.Errorf("a request needs turn %d, which is not to remember", i)
			}
		}
	}
	return nil
}
