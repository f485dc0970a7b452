package corpus

import (
	"embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/query/intent"
)

//go:embed questions/*.jsonl
var questionFiles embed.FS

// ErrQuestion is the error for a line that is no question.
var ErrQuestion = errors.New("not a labelled question")

// QuestionsAsked is the time of all questions.
var QuestionsAsked = time.Date(2025, 9, 17, 12, 0, 0, 0, time.UTC)

// Question is a user's question or request, with the time that it is about.
type Question struct {
	// Text is the question as typed.
	Text string `json:"text"`
	// Label is the name of an intent.Intent.
	Label string `json:"label"`
	// At is the run of words of Text that names the time asked about. It is empty where no words do, or where a time
	// is named only in passing.
	At string `json:"at"`
	// Language is the code of the language, "en".
	Language string `json:"language"`
	// Batch is the name of the file without its ending: a writer with a field of topics.
	Batch string `json:"-"`
}

// Intent returns the label.
func (q Question) Intent() intent.Intent {
	i, err := intent.Parse(q.Label)
	if err != nil {
		panic(err) // readQuestions refuses others
	}
	return i
}

// AsksAt reports whether the words from start to end belong to the time asked about.
func (q Question) AsksAt(start, end int) bool {
	at := strings.Index(q.Text, q.At)
	return q.At != "" && start < at+len(q.At) && at < end
}

var questionSplits = map[string]Split{
	"q13": Choose, "q14": Choose, "q27": Choose, "f02": Choose,
	"q15": Heldout, "q16": Heldout, "q17": Heldout, "q18": Heldout, "q28": Heldout, "f03": Heldout,
}

// Split returns the split of the question.
func (q Question) Split() Split {
	if s, ok := questionSplits[q.Batch]; ok {
		return s
	}
	return Train
}

var questions = sync.OnceValues(func() ([]Question, error) {
	return eachFile(questionFiles, "questions", ReadQuestions)
})

// Questions returns the questions of a split in the order of files and lines.
func Questions(s Split) ([]Question, error) {
	all, err := questions()
	if err != nil {
		return nil, err
	}
	var out []Question
	for _, q := range all {
		if q.Split() == s {
			out = append(out, q)
		}
	}
	return out, nil
}

// ReadQuestions reads the questions of a batch, a JSON object a line. A line that is no question is an ErrQuestion
// with its number.
func ReadQuestions(batch string, data []byte) ([]Question, error) {
	return eachLine(data, ErrQuestion, func() Question { return Question{Batch: batch} }, Question.check)
}

func (q Question) check() error {
	if _, err := intent.Parse(q.Label); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(q.Text) == "" || len(q.Text) > maxText || !utf8.ValidString(q.Text):
		return fmt.Errorf("text is empty, longer than %d bytes or no UTF-8", maxText)
	case !strings.Contains(q.Text, q.At):
		return fmt.Errorf("at is %q, which is not in the text", q.At)
	case q.At != "" && q.Intent() == intent.Present:
		return errors.New("at is given for the present")
	case q.Language == "":
		return errors.New("language is empty")
	}
	return nil
}
