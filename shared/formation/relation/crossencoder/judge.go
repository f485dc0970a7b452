package crossencoder

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/mneme-memory/mneme/shared/formation/relation"
)

// Choice says how the linear model and the cross-encoder go together. Temperature and thresholds are for the logits of both.
type Choice struct {
	relation.Choice
	// From is the linear model's probability of the likeliest change from which the cross-encoder is asked; see among.
	From float64 `json:"from"`
	// Most is how many of the stored statements it is asked about, the likeliest to be changed.
	Most int `json:"most"`
	// Least is the linear model's probability of its own change that each of them has.
	Least float64 `json:"least"`
	// Share is the weight of the cross-encoder's logits; the linear model's have the rest.
	Share float64 `json:"share"`
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

// Judge is the linear model with the cross-encoder behind it. It is safe for concurrent use.
type Judge struct {
	linear *relation.Model
	// model is loaded when it is first asked: a process may never have to.
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
}

// Session returns one that has read nothing.
func (j *Judge) Session() *Session {
	return &Session{judge: j, linear: j.linear.Session(), read: map[[2]string]Read{}}
}

// Judge is the judge's.
func (s *Session) Judge(later relation.Statement, stored []relation.Statement) []relation.Relation {
	return relation.Softmax(s.Logits(later, stored), s.judge.choice.Temperature)
}

// usual is how many stored statements a later one was among, for the most part, where the linear model learned.
const usual = 10

// among is the probability of the likeliest change of n statements. Each further one is a chance more to look changed by accident, so that
// the odds fall with their number.
func among(own float64, n int) float64 {
	odds := own / max(1e-9, 1-own) * min(1, usual/float64(n))
	return odds / (1 + odds)
}

// Logits are those that Judge makes probabilities of, by stored statement.
func (s *Session) Logits(later relation.Statement, stored []relation.Statement) []relation.Logits {
	c, logits := s.judge.choice, s.linear.Logits(later, stored)
	linear := relation.Softmax(logits, 1)
	likeliest := make([]int, len(stored))
	for i := range likeliest {
		likeliest[i] = i
	}
	slices.SortStableFunc(likeliest, func(a, b int) int { return cmp.Compare(linear[b].Change(), linear[a].Change()) })
	for place, i := range likeliest {
		own, z := linear[i].Change(), &logits[i]
		if place < c.Most && among(linear[likeliest[0]].Change(), len(stored)) >= c.From && (place == 0 || own >= c.Least) {
			for o, x := range s.pair(stored[i].Text, later.Text).Logits {
				z[o] += float32(c.Share) * (x - z[o])
			}
			continue
		}
		for _, l := range []relation.Label{relation.Replaces, relation.Ends} {
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
