package corpus

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

//go:embed chats/*.jsonl
var chatFiles embed.FS

// ErrChat is the error for a line that is no chat.
var ErrChat = errors.New("not a chat with questions")

// Chat has two friends' messages over months, and questions about them.
type Chat struct {
	ID       string `json:"id"`
	Speakers []string
	Sessions []ChatSession
	// Questions are questions of a third person, after the last session.
	Questions []ChatQuestion
	// Batch is the name of the file without its ending.
	Batch string `json:"-"`
}

// ChatSession is one talk.
type ChatSession struct {
	// Date is its start, as "2006-01-02 15:04".
	Date  string     `json:"date"`
	Turns []ChatTurn `json:"turns"`
}

// ChatTurn is a turn of the speaker with an index.
type ChatTurn struct {
	Speaker int    `json:"s"`
	Text    string `json:"t"`
}

// ChatQuestion is a question with all turns that its answer needs, as "session:turn", from 1.
type ChatQuestion struct {
	Text     string   `json:"q"`
	Evidence []string `json:"e"`
	// Kind is single, multi, when or open.
	Kind   string `json:"c"`
	Answer string `json:"a"`
}

// Split returns the split of the chat.
func (c Chat) Split() Split { return Pair{Batch: c.Batch}.Split() }

// Chats returns the chats of a split in the order of files and lines.
func Chats(s Split) ([]Chat, error) {
	all, err := allChats()
	var out []Chat
	for _, c := range all {
		if c.Split() == s {
			out = append(out, c)
		}
	}
	return out, err
}

var allChats = sync.OnceValues(func() ([]Chat, error) {
	return eachFile(chatFiles, "chats", func(batch string, data []byte) ([]Chat, error) {
		return eachLine(data, ErrChat, func() Chat { return Chat{Batch: batch} }, Chat.check)
	})
})

func (c Chat) check() error {
	if c.ID == "" || len(c.Speakers) != 2 || len(c.Sessions) == 0 || len(c.Questions) == 0 {
		return errors.New("want an id, two speakers, sessions and questions")
	}
	said := map[string]bool{}
	for i, s := range c.Sessions {
		if _, err := s.start(); err != nil {
			return fmt.Errorf("session %d: %w", i+1, err)
		}
		for k, t := range s.Turns {
			if t.Speaker < 0 || t.Speaker > 1 || strings.TrimSpace(t.Text) == "" || len(t.Text) > maxText {
				return fmt.Errorf("turn %d:%d is empty, of speaker %d, or longer than %d bytes", i+1, k+1, t.Speaker, maxText)
			}
			said[fmt.Sprintf("%d:%d", i+1, k+1)] = true
		}
	}
	for _, q := range c.Questions {
		if len(q.Evidence) == 0 {
			return fmt.Errorf("%q has no evidence", q.Text)
		}
		for _, e := range q.Evidence {
			if !said[e] {
				return fmt.Errorf("%q has evidence %q, which is no turn", q.Text, e)
			}
		}
	}
	return nil
}

func (s ChatSession) start() (time.Time, error) { return time.Parse("2006-01-02 15:04", s.Date) }

// Bounds of the number of words of a small-talk sentence.
const (
	leastSmallTalk = 3
	mostSmallTalk  = 14
)

// SmallTalk returns short sentences of turns that no question needs, each once.
func (c Chat) SmallTalk() []string {
	told := map[string]bool{}
	for _, q := range c.Questions {
		for _, e := range q.Evidence {
			told[e] = true
		}
	}
	var out []string
	splitter := text.NewSplitter()
	for i, s := range c.Sessions {
		for k, t := range s.Turns {
			if told[fmt.Sprintf("%d:%d", i+1, k+1)] {
				continue
			}
			for _, said := range splitter.Split(t.Text) {
				if n := text.CountWords(said); n >= leastSmallTalk && n <= mostSmallTalk && !slices.Contains(out, said) {
					out = append(out, said)
				}
			}
		}
	}
	return out
}

// Subject returns the memory of the first speaker, the person asked.
func (c Chat) Subject() dataset.Subject {
	out := dataset.Subject{Scope: memory.Scope{Tenant: "corpus", User: c.ID}}
	for i, s := range c.Sessions {
		at, _ := s.start() // check has parsed it
		one := dataset.Session{User: c.ID, ID: fmt.Sprintf("%s:%d", c.ID, i+1)}
		for k, t := range s.Turns {
			one.Turns = append(one.Turns, memory.Turn{
				ID: fmt.Sprintf("%d:%d", i+1, k+1), SessionID: one.ID, Speaker: c.Speakers[t.Speaker], Role: memory.RoleUser,
				Text: t.Text, Time: at,
			})
			at = at.Add(time.Minute)
		}
		one.ClosedAt = at
		out.Sessions = append(out.Sessions, one)
	}
	for _, q := range c.Questions {
		out.Questions = append(out.Questions, dataset.Question{
			Text: q.Text, Evidence: q.Evidence, Category: q.Kind, Answer: q.Answer, SingleHop: q.Kind == "single",
		})
	}
	return out
}
