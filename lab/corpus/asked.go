package corpus

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed asked/*.jsonl
var askedFiles embed.FS

// ErrAsked is the error for a line that is no question about a noted talk.
var ErrAsked = errors.New("not a question about a noted talk")

// AskedQuestion is a question weeks after a noted talk, or a later request that must respect the talk.
type AskedQuestion struct {
	// Talk is the place of the talk in its file, from 0.
	Talk     int    `json:"talk"`
	Question string `json:"question"`
	// Evidence are the ids of all turns that the answer needs.
	Evidence []string `json:"evidence"`
	// Kind is one of AskedKinds.
	Kind string `json:"kind"`
	// Batch is the name of the file without its ending; the talks have the same batch.
	Batch string `json:"-"`
}

// AskedKinds are the kinds of questions. They ask for one fact, several pieces, a value that changed, a time, a topic
// over many turns, a reply of the assistant, or yes or no. A request does not mention its evidence.
func AskedKinds() []string {
	return []string{"fact", "several", "update", "request", "time", "topic", "assistant", "yesno"}
}

var allAsked = sync.OnceValues(func() ([]AskedQuestion, error) {
	return eachFile(askedFiles, "asked", ReadAskedQuestions)
})

// AskedTalk is a noted talk with its questions.
type AskedTalk struct {
	NotedTalk
	Questions []AskedQuestion
}

// AskedTalks returns the noted talks with questions of both splits, in the order of files and lines. The readers of
// notes and the writers of questions differ.
func AskedTalks() ([]AskedTalk, error) {
	questions, err := allAsked()
	if err != nil {
		return nil, err
	}
	type place struct {
		batch string
		talk  int
	}
	of := map[place][]AskedQuestion{}
	for _, q := range questions {
		at := place{q.Batch, q.Talk}
		of[at] = append(of[at], q)
	}
	var out []AskedTalk
	for _, s := range []Split{Train, Heldout} {
		talks, err := NotedTalks(s)
		if err != nil {
			return nil, err
		}
		number := map[string]int{}
		for _, t := range talks {
			at := place{t.Batch, number[t.Batch]}
			number[t.Batch]++
			if len(of[at]) == 0 {
				continue
			}
			for _, q := range of[at] {
				if err := q.isAbout(t); err != nil {
					return nil, fmt.Errorf("%w: %s, talk %d: %w", ErrAsked, q.Batch, q.Talk, err)
				}
			}
			out = append(out, AskedTalk{t, of[at]})
			delete(of, at)
		}
	}
	for at := range of {
		return nil, fmt.Errorf("%w: %s has no talk %d", ErrAsked, at.batch, at.talk)
	}
	return out, nil
}

// ReadAskedQuestions reads questions, one a line. Its errors are ErrAsked and name the line.
func ReadAskedQuestions(batch string, data []byte) ([]AskedQuestion, error) {
	return eachLine(data, ErrAsked, func() AskedQuestion { return AskedQuestion{Batch: batch} }, AskedQuestion.check)
}

func (q AskedQuestion) check() error {
	switch {
	case strings.TrimSpace(q.Question) == "" || len(q.Question) > maxText:
		return fmt.Errorf("it is empty or longer than %d bytes", maxText)
	case q.Talk < 0 || len(q.Evidence) == 0:
		return errors.New("it has no talk or no evidence")
	case !slices.Contains(AskedKinds(), q.Kind):
		return fmt.Errorf("its kind is %q, want one of %s", q.Kind, strings.Join(AskedKinds(), ", "))
	}
	return nil
}

// isAbout returns an error if the evidence is not in the talk.
func (q AskedQuestion) isAbout(t NotedTalk) error {
	for _, id := range q.Evidence {
		if !slices.ContainsFunc(t.Turns, func(u NotedTurn) bool { return u.ID == id }) {
			return fmt.Errorf("%q has evidence %q, which is no turn", q.Question, id)
		}
	}
	return nil
}
