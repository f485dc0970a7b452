package corpus

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/memory"
)

//go:embed talks/*.jsonl
var talkFiles embed.FS

// ErrTalk is the error for a line that is no talk.
var ErrTalk = errors.New("not a labelled talk")

// The kinds of queries in the middle of a conversation.
const (
	// FollowUp needs the messages before it to be understood.
	FollowUp = "follow_up"
	// Switch is on another topic than the messages before it, and says so itself.
	Switch = "switch"
)

// Talk has one person's statements over some months, and the same person's queries in later, independent
// conversations.
type Talk struct {
	// Who describes the person in some words. Speaker is the name.
	Who     string `json:"who"`
	Speaker string `json:"speaker"`
	// Memories are the statements, as typed.
	Memories []string       `json:"memories"`
	Requests []AskedInATalk `json:"requests"`
	// Batch is the name of the file without its ending.
	Batch string `json:"-"`
}

// AskedInATalk is a query with the messages before it.
type AskedInATalk struct {
	// Kind is FollowUp or Switch.
	Kind     string          `json:"kind"`
	Messages []SpokenMessage `json:"messages"`
	Query    string          `json:"query"`
	// Needs are the indices of the memories that a good answer needs.
	Needs []int `json:"needs"`
}

// SpokenMessage is a message as in chat completions.
type SpokenMessage struct {
	Role    memory.Role `json:"role"`
	Content string      `json:"content"`
}

// Split returns the split of the talk. t01 is for choosing the weight of a talk, t02 is held out. No model learns
// from them.
func (t Talk) Split() Split {
	if t.Batch == "t01" {
		return Choose
	}
	return Heldout
}

// Talks returns the talks of a split, in order.
func Talks(s Split) ([]Talk, error) {
	all, err := allTalks()
	return slices.DeleteFunc(slices.Clone(all), func(t Talk) bool { return t.Split() != s }), err
}

var allTalks = sync.OnceValues(func() ([]Talk, error) { return eachFile(talkFiles, "talks", ReadTalks) })

// ReadTalks reads talks of a batch, a JSON object a line. A line that is no talk is an ErrTalk with its number.
func ReadTalks(batch string, data []byte) ([]Talk, error) {
	return eachLine(data, ErrTalk, func() Talk { return Talk{Batch: batch} }, Talk.check)
}

func (t Talk) check() error {
	if t.Who == "" || t.Speaker == "" || len(t.Requests) == 0 {
		return errors.New("want who it is, a speaker and requests")
	}
	for i, s := range t.Memories {
		if strings.TrimSpace(s) == "" || len(s) > maxText || !utf8.ValidString(s) {
			return fmt.Errorf("memory %d is empty, longer than %d bytes or no UTF-8", i, maxText)
		}
	}
	for i, r := range t.Requests {
		if err := r.check(len(t.Memories)); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
	}
	return nil
}

func (r AskedInATalk) check(memories int) error {
	switch {
	case r.Kind != FollowUp && r.Kind != Switch:
		return fmt.Errorf("kind is %q, want %s or %s", r.Kind, FollowUp, Switch)
	case strings.TrimSpace(r.Query) == "" || len(r.Messages) == 0 || len(r.Needs) == 0:
		return errors.New("want a query, messages before it, and what it needs")
	}
	for _, n := range r.Needs {
		if n < 0 || n >= memories {
			return fmt.Errorf("needs memory %d of %d", n, memories)
		}
	}
	for _, m := range r.Messages {
		if (m.Role != memory.RoleUser && m.Role != memory.RoleAssistant && m.Role != memory.RoleTool) ||
			strings.TrimSpace(m.Content) == "" {
			return fmt.Errorf("a message of %q says %q, want a role and words", m.Role, m.Content)
		}
	}
	return nil
}
