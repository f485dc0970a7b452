package crossencoder

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/mneme-memory/mneme/shared/formation/relation"
)

// Choice says how the models go together. Temperature and thresholds are for the logits of all of them.
type Choice struct {
	relation.Choice
	// From is the probability that a message changes anything from which the cross-encoder is asked; see Model.Change.
	From float64 `json:"from"`
	// Most is how many of the stored statements it is asked about, those that the linear model finds likeliest to be changed.
	Most int `json:"most"`
	// Least is the linear model's probability of its own change that each but the first of them has.
	Least float64 `json:"least"`
	// Share is the weight of the cross-encoder's logits; the linear model's have the rest.
	Share float64 `json:"share"`
	// Message is the weight of the logit of the message alone, which those of a change have added where the cross-encoder is asked.
	Message float64 `json:"message"`
	// Unasked is the logit that stands for the cross-encoder's logits of a change where it is not asked: what is not looked at twice is hardly
	// ever closed.
	Unasked float64 `json:"unasked"`
	// Training is the JSON value that says how the choice came about.
	Training json.RawMessage `json:"training,omitempty"`
}

func (c Choice) check() error {
	switch {
	case !(c.Temperature > 0):
		return fmt.Errorf("%w: temperature is %v, want more than 0", ErrModel, c.Temperature)
	case !(0 < c.Thresholds.Possible && c.Thresholds.Possible <= 1 && 0 < c.Thresholds.Certain && c.Thresholds.Certain <= 1):
		return fmt.Errorf("%w: thresholds are %+v, want more than 0, up to 1", ErrModel, c.Thresholds)
	case !(c.Share >= 0 && c.Share <= 1):
		return fmt.Errorf("%w: share is %v, want 0 to 1", ErrModel, c.Share)
	case !(c.Message >= 0):
		return fmt.Errorf("%w: message is %v, want 0 or more", ErrModel, c.Message)
	case c.Most < 1:
		return fmt.Errorf("%w: most is %d, want 1 or more", ErrModel, c.Most)
	}
	return nil
}

//go:embed choice.json
var shippedChoice []byte

// ShippedChoice is the one of this package.
var ShippedChoice = sync.OnceValue(func() Choice {
	var c Choice
	if err := json.Unmarshal(shippedChoice, &c); err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	return c
})

// Judge is all three models. It is safe for concurrent use.
type Judge struct {
	linear *relation.Model
	// model is loaded when the first message is read.
	model  func() *Model
	choice Choice
}

// NewJudge puts a judge together. A choice that cannot be is an ErrModel.
func NewJudge(linear *relation.Model, model func() *Model, c Choice) (*Judge, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return &Judge{linear: linear, model: model, choice: c}, nil
}

// ShippedJudge is the one that is part of the program, made once.
var ShippedJudge = sync.OnceValue(func() *Judge {
	j, err := NewJudge(relation.Shipped(), Shipped, ShippedChoice())
	if err != nil {
		panic(err) // as above
	}
	return j
})

// Thresholds are those of the choice.
func (j *Judge) Thresholds() relation.Thresholds { return j.choice.Thresholds }

// Judge says what a later statement does to each of the stored ones that a search found for it; see relation.Model.Judge.
func (j *Judge) Judge(later relation.Statement, stored []relation.Statement) []relation.Relation {
	return j.Session().Judge(later, stored)
}

// Session judges like its judge, and reads nothing twice: for a piece of work in which the same statements come up again and again. It is
// not safe for concurrent use.
type Session struct {
	judge  *Judge
	linear *relation.Session
	read   map[[2]string]Read
	change map[string]float64
}

// Session returns one that has read nothing.
func (j *Judge) Session() *Session {
	return &Session{judge: j, linear: j.linear.Session(), read: map[[2]string]Read{}, change: map[string]float64{}}
}

// Judge is the judge's.
func (s *Session) Judge(later relation.Statement, stored []relation.Statement) []relation.Relation {
	return relation.Softmax(s.Logits(later, stored), s.judge.choice.Temperature)
}

// leastOdds bounds how much a message alone can say.
const leastOdds = 1e-6

var changes = []relation.Label{relation.Replaces, relation.Ends}

// Changes reports whether a message may change anything that was told before, whatever it is: what may not is hardly ever found to by Judge.
func (s *Session) Changes(later relation.Statement) bool {
	return s.alone(later.Text) >= s.judge.choice.From
}

func (s *Session) alone(message string) float64 {
	z, ok := s.change[message]
	if !ok {
		z = s.judge.model().Change(message)
		s.change[message] = z
	}
	return z
}

// Logits are those that Judge makes probabilities of, by stored statement.
func (s *Session) Logits(later relation.Statement, stored []relation.Statement) []relation.Logits {
	c, logits := s.judge.choice, s.linear.Logits(later, stored)
	if len(stored) == 0 {
		return logits
	}
	asked, alone := s.Changes(later), s.alone(later.Text)
	alone = c.Message * math.Log(max(alone, leastOdds)/max(1-alone, leastOdds))
	linear := relation.Softmax(logits, 1)
	likeliest := make([]int, len(stored))
	for i := range likeliest {
		likeliest[i] = i
	}
	slices.SortStableFunc(likeliest, func(a, b int) int { return cmp.Compare(linear[b].Change(), linear[a].Change()) })
	for place, i := range likeliest {
		own, z := linear[i].Change(), &logits[i]
		if asked && place < c.Most && (place == 0 || own >= c.Least) {
			for o, x := range s.pair(stored[i].Text, later.Text).Logits {
				z[o] += float32(c.Share) * (x - z[o])
			}
			for _, l := range changes {
				z[l-1] += float32(alone)
			}
			continue
		}
		for _, l := range changes {
			z[l-1] += float32(c.Share) * (float32(c.Unasked) - z[l-1])
		}
	}
	return logits
}

func (s *Session) pair(stored, later string) Read {
	key := [2]string{stored, later}
	r, ok := s.read[key]
	if !ok {
		r = s.judge.model().Read([]string{stored}, later)
		s.read[key] = r
	}
	return r
}

// Gone returns the probability of each part of a stored statement that it holds no more, given that the later one changes something of it.
func (s *Session) Gone(later relation.Statement, parts []string) []float64 {
	return s.judge.model().Read(parts, later.Text).Gone
}
