package training

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/query/intent"
	"github.com/mneme-memory/mneme/shared/text"
)

// intentVersion is the name and version of the model.
const intentVersion = "intent/1"

// IntentOptions are the training options of the model of intents. The record in the model's file has them.
type IntentOptions struct {
	// Cost and DateCost weigh the loss of a question, and of a date, against the squared weights.
	Cost     float64 `json:"cost"`
	DateCost float64 `json:"date_cost"`
	// Holders is the least number of training questions with a feature.
	Holders int `json:"holders"`
	// FalsePast sets the choice of the threshold: so many missed questions about the past weigh as much as one false
	// past. The labelled questions have more questions about the past than a user's questions have.
	FalsePast float64 `json:"false_past"`
}

// IntentDefaults are the training options of the model in the binary.
func IntentDefaults() IntentOptions {
	return IntentOptions{Cost: 20, DateCost: 20, Holders: 2, FalsePast: 4}
}

func (o IntentOptions) check() error {
	switch {
	case !(o.Cost > 0 && o.Cost < 1e4) || !(o.DateCost > 0 && o.DateCost < 1e4):
		return fault.Terminal("cost", "is %v, and %v for dates, want more than 0", o.Cost, o.DateCost)
	case o.Holders < 1:
		return fault.Terminal("holders", "is %d, want 1 or more", o.Holders)
	case !(o.FalsePast > 0 && o.FalsePast < 1e3):
		return fault.Terminal("false-past", "is %v, want more than 0", o.FalsePast)
	}
	return nil
}

// IntentRecord records the options and the data of a model. The model's file has it.
type IntentRecord struct {
	Options IntentOptions `json:"options"`
	// Questions and Dates count the training data. Chosen counts the questions on which thresholds are chosen.
	Questions int `json:"questions"`
	Dates     int `json:"dates"`
	Chosen    int `json:"chosen"`
	Features  int `json:"features"`
	// Digest is the digest of all training questions.
	Digest string `json:"digest"`
}

// IntentFigures are the results of a model on labelled questions.
type IntentFigures struct {
	Questions int `json:"questions"`
	// Right counts the questions with the right intent.
	Right int `json:"right"`
	// Past counts the questions about the past. Found counts those that the model reads as the past.
	Past  int `json:"past"`
	Found int `json:"found"`
	// Present and Events count the other questions. Wrong and WrongEvents count those that the model reads as the
	// past.
	Present     int `json:"present"`
	Wrong       int `json:"wrong"`
	Events      int `json:"events"`
	WrongEvents int `json:"wrong_events"`
	// Dates counts the past dates that the reader finds. DatesRight counts the dates with the right decision, asked
	// about or not.
	Dates      int `json:"dates"`
	DatesRight int `json:"dates_right"`
	// Misread are the questions with a wrong decision about the past.
	Misread []corpus.Question `json:"-"`
}

// Accuracy is the share of the questions with the right intent.
func (f IntentFigures) Accuracy() float64 { return share(f.Right, f.Questions) }

// Precision is the share of right ones among the questions that the model reads as the past.
func (f IntentFigures) Precision() float64 { return share(f.Found, f.Found+f.Wrong+f.WrongEvents) }

// Recall is the share of the questions about the past that the model reads as the past.
func (f IntentFigures) Recall() float64 { return share(f.Found, f.Past) }

// MeasureIntent measures a model on labelled questions.
func MeasureIntent(m *intent.Model, questions []corpus.Question) IntentFigures {
	f := IntentFigures{Questions: len(questions)}
	for _, q := range questions {
		r, want := m.Read(q.Text, namedDates(q), corpus.QuestionsAsked), q.Intent()
		f.Right += count(r.Likeliest() == want)
		switch want {
		case intent.Past:
			f.Past++
			f.Found += count(r.Past)
		case intent.Event:
			f.Events++
			f.WrongEvents += count(r.Past)
		default:
			f.Present++
			f.Wrong += count(r.Past)
		}
		if r.Past != (want == intent.Past) {
			f.Misread = append(f.Misread, q)
		}
		for _, d := range r.Dates {
			f.Dates++
			f.DatesRight += count(d.Asked == q.AsksAt(d.Start, d.End))
		}
	}
	return f
}

// namedDates returns the times that a question names.
func namedDates(q corpus.Question) []text.DateMention { return text.Dates(q.Text, corpus.QuestionsAsked) }

// example is one training example of a linear model.
type example struct {
	features []intent.Feature
	class    int
}

// Intent trains the model of intents. The model is two multinomial logistic regressions: one over the intent of a
// question, one over whether it asks about a date in it. Thresholds are chosen on other questions. The same options
// and questions give the same model. Options out of range are terminal errors.
func Intent(train, choose []corpus.Question, o IntentOptions) (*intent.Model, IntentRecord, error) {
	if err := o.check(); err != nil {
		return nil, IntentRecord{}, err
	}
	if len(train) == 0 || len(choose) == 0 {
		return nil, IntentRecord{}, fault.Terminal("questions", "are %d to train and %d to choose on, want some", len(train), len(choose))
	}
	var questions, dates []example
	digest := fnv.New64a()
	for _, q := range train {
		read := intent.Analyse(q.Text, namedDates(q), corpus.QuestionsAsked)
		questions = append(questions, example{read.Features, int(q.Intent())})
		for _, d := range read.Dates {
			dates = append(dates, example{d.Features, count(q.AsksAt(d.Start, d.End))})
		}
		fmt.Fprintf(digest, "%q %s %q\n", q.Text, q.Label, q.At)
	}
	m := &intent.Model{
		Version: intentVersion, Threshold: 1,
		Intents: fitLinear(questions, 3, o.Holders, o.Cost), Dates: fitLinear(dates, 2, o.Holders, o.DateCost),
	}
	m.Threshold = pastThreshold(m, choose, o.FalsePast)
	r := IntentRecord{
		Options: o, Questions: len(train), Dates: len(dates), Chosen: len(choose), Features: len(m.Intents.Keys) + len(m.Dates.Keys),
		Digest: strconv.FormatUint(digest.Sum64(), 16),
	}
	var err error
	m.Training, err = json.Marshal(r)
	return m, r, err
}

// fitLinear fits a multinomial logistic regression to examples.
func fitLinear(examples []example, classes, holders int, cost float64) intent.Linear {
	count := map[uint32]int{}
	for _, e := range examples {
		for _, f := range e.features {
			count[f.Key]++
		}
	}
	var l intent.Linear
	for key, n := range count {
		if n >= holders {
			l.Keys = append(l.Keys, key)
		}
	}
	slices.Sort(l.Keys)
	rows := make([][]cell, len(examples))
	for i, e := range examples {
		for _, f := range e.features {
			if k, ok := slices.BinarySearch(l.Keys, f.Key); ok {
				rows[i] = append(rows[i], cell{int32(k * classes), float32(f.Value)})
			}
		}
	}
	bias := len(l.Keys) * classes
	evaluate := func(g, w []float64) float64 {
		loss := 0.5 * floats.Dot(w[:bias], w[:bias])
		if g != nil {
			copy(g, w[:bias])
			clear(g[bias:])
		}
		z := make([]float64, classes)
		for i, e := range examples {
			copy(z, w[bias:])
			for _, k := range rows[i] {
				for c := range z {
					z[c] += float64(k.value) * w[int(k.column)+c]
				}
			}
			sum := floats.LogSumExp(z)
			loss += cost * (sum - z[e.class])
			if g == nil {
				continue
			}
			for c := range z {
				z[c] = cost * math.Exp(z[c]-sum)
			}
			z[e.class] -= cost
			floats.Add(g[bias:], z)
			for _, k := range rows[i] {
				for c := range z {
					g[int(k.column)+c] += float64(k.value) * z[c]
				}
			}
		}
		return loss
	}
	problem := optimize.Problem{
		Func: func(w []float64) float64 { return evaluate(nil, w) }, Grad: func(g, w []float64) { evaluate(g, w) },
	}
	settings := &optimize.Settings{MajorIterations: 60, GradientThreshold: 1e-2}
	result, err := optimize.Minimize(problem, make([]float64, bias+classes), settings, &optimize.LBFGS{})
	if result == nil {
		panic(err) // the problem is convex and begins at a finite point
	}
	return bytesOf(l, result.X, classes)
}

// bytesOf puts weights into a model. It rounds each to one of 255 steps of its class.
func bytesOf(l intent.Linear, learned []float64, classes int) intent.Linear {
	l.Weights = make([]byte, len(l.Keys)*classes)
	for c := range classes {
		most := 0.0
		for i := range l.Keys {
			most = max(most, math.Abs(learned[i*classes+c]))
		}
		scale := math.Ceil(most/math.MaxInt8*1e6) / 1e6
		for i := range l.Keys {
			if scale > 0 {
				l.Weights[i*classes+c] = byte(int8(math.Round(learned[i*classes+c] / scale)))
			}
		}
		l.Scales = append(l.Scales, scale)
		l.Bias = append(l.Bias, math.Round(learned[len(l.Keys)*classes+c]*1e4)/1e4)
	}
	return l
}

// pastThreshold returns the threshold with the least weight of misread questions, and the highest of several.
func pastThreshold(m *intent.Model, choose []corpus.Question, falsePast float64) float64 {
	best, least := 1.0, math.Inf(1)
	for step := range 15 {
		tried := *m
		tried.Threshold = 0.95 - 0.05*float64(step)
		f := MeasureIntent(&tried, choose)
		if weight := float64(f.Past-f.Found) + falsePast*float64(f.Wrong+f.WrongEvents); weight < least {
			best, least = rounded(tried.Threshold), weight
		}
	}
	return best
}
