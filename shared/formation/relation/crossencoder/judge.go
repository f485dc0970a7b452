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
	"github.com/mneme-memory/mneme/shared/text"
)

// Choice says how the models go together. Temperature and thresholds are for the logits of all of them.
type Choice struct {
	relation.Choice
	// From is the probability that a message changes anything from which the cross-encoder is asked; see Model.Change.
	From float64 `json:"from"`
	// Most is the most stored statements for the cross-encoder. The linear model selects the ones that are likeliest
	// to change.
	Most int `json:"most"`
	// Share is the weight of the cross-encoder's logits; the linear model's have the rest.
	Share float64 `json:"share"`
	// Message is the weight of the message's logit. It is added to the logits of a change where the cross-encoder
	// reads the pair.
	Message float64 `json:"message"`
	// Unasked replaces the cross-encoder's logits of a change where it does not read the pair: an unread statement is
	// rarely closed.
	Unasked float64 `json:"unasked"`
	// Training is the JSON value that says how the choice came about.
	Training json.RawMessage `json:"training,omitempty"`
}

func (c Choice) check() error {
	switch {
	case !(c.Temperature > 0):
		return fmt.Errorf("%w: temperature is %v, want more than 0", ErrModel, c.Temperature)
	case !(0 < c.Thresholds.Possible && c.Thresholds.Possible <= 1 && 0 < c.Thresholds.Certain &&
		c.Thresholds.Certain <= 1):
		return fmt.Errorf("%w: thresholds are %+v, want more than 0, up to 1", ErrModel, c.Thresholds)
	case !(c.Share >= 0 && c.Share <= 1):
		return fmt.Errorf("%w: share is %v, want 0 to 1", ErrModel, c.Share)
	case !(c.Message >= 0):
		return fmt.Errorf("%w: message is %v, want 0 or more", ErrModel, c.Message)
	case !(c.From >= 0 && c.From <= 1):
		return fmt.Errorf("%w: from is %v, want 0 to 1", ErrModel, c.From)
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

// Thresholds returns the thresholds of the choice.
func (j *Judge) Thresholds() relation.Thresholds { return j.choice.Thresholds }

// Judge returns the effect of a later statement on each of the stored results of a search; see relation.Model.Judge.
func (j *Judge) Judge(later relation.Statement, stored []relation.Statement) []relation.Relation {
	return j.Session().Judge(later, stored)
}

// Session judges like its judge, and reads each text once. It is for work that compares the same statements again and
// again. It is not safe for concurrent use.
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

const (
	// leastOdds bounds how much a message alone can say.
	leastOdds = 1e-6
	// nothing is the logit of a pair without a comparison.
	nothing = -7
)

var changes = []relation.Label{relation.Replaces, relation.Ends}

// corrects is the probability of a change for a message that names itself a correction. The model of messages takes
// such messages for no news.
const corrects = 0.99

// Logits returns the logits behind the probabilities of Judge, by stored statement. A message that is unlikely to
// change a statement is compared only with statements that have all its words, and with values of the same attribute.
// Such a message repeats them, or states the opposite or a new value.
func (s *Session) Logits(later relation.Statement, stored []relation.Statement) []relation.Logits {
	c := s.judge.choice
	out := make([]relation.Logits, len(stored))
	for i := range out {
		for o := range out[i] {
			out[i][o] = nothing
		}
	}
	if len(stored) == 0 {
		return out
	}
	message, correction := s.message(later.Text), relation.Corrects(later.Text)
	if correction {
		message = max(message, corrects)
	}
	which := make([]int, 0, len(stored))
	words := text.ContentStems(later.Text)
	telling := make([]float64, len(stored))
	for i, m := range stored {
		telling[i] = message
		if relation.SameAttribute(m.Text, later.Text) {
			telling[i] = max(message, foreign)
		}
		if telling[i] >= c.From || repeats(words, m.Text) {
			which = append(which, i)
		}
	}
	likeliest, linear := s.order(later, stored, which)
	for place, k := range likeliest {
		z := linear[k]
		if i := which[k]; place < c.Most {
			for o, x := range s.pair(stored[i].Text, later.Text).Logits {
				z[o] += float32(c.Share) * (x - z[o])
			}
			p := telling[i]
			told := float32(c.Message * math.Log(max(p, leastOdds)/max(1-p, leastOdds)))
			for _, l := range changes {
				z[l-1] += told
			}
			if correction {
				z = corrected(z, relation.TakesBack(later.Text, stored[i].Text))
			}
		} else {
			for _, l := range changes {
				z[l-1] += float32(c.Share) * (float32(c.Unasked) - z[l-1])
			}
		}
		out[which[k]] = z
	}
	return out
}

// taken is how far the logit of an end leads the others where a message takes back a statement.
const taken = 4

// corrected returns the logits of a correction. A correction repeats nothing and adds nothing: a statement with the
// same content has a new value.
func corrected(z relation.Logits, takesBack bool) relation.Logits {
	sum := 0.0
	for _, l := range []relation.Label{relation.Same, relation.Adds, relation.Replaces} {
		sum += math.Exp(float64(z[l-1]))
	}
	z[relation.Replaces-1] = float32(math.Log(sum))
	z[relation.Same-1], z[relation.Adds-1] = nothing, nothing
	if takesBack {
		z[relation.Ends-1] = max(0, slices.Max(z[:])) + taken
	}
	return z
}

// Between returns the effect of a statement on one stored statement. It reads the pair even where the statement hardly
// looks like a change. It decides whether two texts have the same content. It also decides the effect of a part of a
// message on an entry that the whole message may change.
func (s *Session) Between(later, stored relation.Statement) relation.Relation {
	z := s.linear.Logits(later, []relation.Statement{stored})
	for o, x := range s.pair(stored.Text, later.Text).Logits {
		z[0][o] += float32(s.judge.choice.Share) * (x - z[0][o])
	}
	return relation.Softmax(z, s.judge.choice.Temperature)[0]
}

// order compares a message with some of the stored statements by the linear model. It returns them in order, likeliest
// change first.
func (s *Session) order(
	later relation.Statement, stored []relation.Statement, which []int,
) (likeliest []int, logits []relation.Logits) {
	if len(which) == 0 {
		return nil, nil
	}
	some := make([]relation.Statement, len(which))
	for k, i := range which {
		some[k] = stored[i]
		likeliest = append(likeliest, k)
	}
	logits = s.linear.Logits(later, some)
	changed := relation.Softmax(logits, 1)
	slices.SortStableFunc(likeliest, func(a, b int) int { return cmp.Compare(changed[b].Change(), changed[a].Change()) })
	return likeliest, logits
}

// repeats reports whether a stored statement has all content words of a message, which must have at least one.
func repeats(words []string, stored string) bool {
	if len(words) == 0 {
		return false
	}
	have := text.StemSet(stored)
	return !slices.ContainsFunc(words, func(w string) bool { return !have[w] })
}

// foreign is the least probability of a change where the model of messages cannot exclude one. It learned too little of
// languages other than English, and it cannot see that an attribute has an earlier value.
const foreign = 0.5

// message is the probability that a message changes anything.
func (s *Session) message(said string) float64 {
	p, ok := s.change[said]
	if !ok {
		p = s.judge.model().Change(said)
		if text.TallyWords(text.Words(said)).Foreign() {
			p = max(p, foreign)
		}
		s.change[said] = p
	}
	return p
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

// surelyChanged is the least lead of a change's logit over the other labels' logits for a sure change. The weight of a
// part with a larger lead is at least 1.
const surelyChanged = 3

// hardlyChanged is the lead up to which a part would not be changed alone.
const hardlyChanged = -2

// Gone returns the probability that each part of a stored statement no longer holds, given that the later statement
// changes at least one part. The model reads the words of all parts together. The result is weighted by the parts'
// separate judgements: which part would most likely be changed, rather than repeated, if it stood alone. Parts beyond
// the model's limit of tokens have 0.
func (s *Session) Gone(later relation.Statement, parts []string) []float64 {
	gone := s.judge.model().Read(parts, later.Text).Gone
	var read []int
	for i, p := range gone {
		if p > 0 {
			read = append(read, i)
		}
	}
	if len(read) < 2 {
		return gone
	}
	z, odds, sum, most := make([]float64, len(parts)), make([]float64, len(parts)), 0.0, math.Inf(-1)
	for _, i := range read {
		l := s.pair(parts[i], later.Text).Logits
		z[i] = float64(max(l[relation.Replaces-1], l[relation.Ends-1]) - max(0, l[relation.Same-1], l[relation.Adds-1]))
		odds[i] = math.Exp(z[i])
		sum, most = sum+odds[i], max(most, z[i])
	}
	if most <= hardlyChanged {
		return gone // which of several that alone would not be changed is the likeliest is chance
	}
	for _, i := range read {
		weight := odds[i] / sum * float64(len(read))
		if z[i] > surelyChanged {
			weight = max(1, weight)
		}
		odds := gone[i] / max(1-gone[i], leastOdds) * weight
		gone[i] = odds / (1 + odds)
	}
	return gone
}
