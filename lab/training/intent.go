package training

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/model/classifier"
	"github.com/mneme-memory/mneme/shared/query/intent"
	"github.com/mneme-memory/mneme/shared/text"
)

// IntentOptions are the training options of the model of intents. The record in the model's file has them.
type IntentOptions struct {
	Cost     float64 `json:"cost" range:"(0,1e4)" use:"weight of a question's loss against the squared weights"`
	DateCost float64 `json:"date_cost" range:"(0,1e4)" use:"weight of a date's loss against the squared weights"`
	Holders  int     `json:"holders" range:"[1,]" use:"questions that have to have a feature"`
	// The labelled questions have more questions about the past than a user's questions have.
	FalsePast float64 `json:"false_past" range:"(0,1e3)" use:"missed questions about the past that weigh as much as one wrongly read so"`
	// Errors has no effect on the model.
	Errors bool `json:"-" flag:"errors" use:"print the held-out questions whose past is misread"`
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
	// Misread are the questions with a wrong decision about the past, behind their labels.
	Misread []string `json:"misread,omitempty"`
}

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
			f.Misread = append(f.Misread, q.Label+" "+q.Text)
		}
		for _, d := range r.Dates {
			f.Dates++
			f.DatesRight += count(d.Asked == q.AsksAt(d.Start, d.End))
		}
	}
	return f
}

// namedDates returns the times that a question names.
func namedDates(q corpus.Question) []text.DateMention {
	return text.Dates(q.Text, corpus.QuestionsAsked)
}

// example is one training example of a linear model.
type example struct {
	features []classifier.Feature
	class    int
}

// intentReport is the record with figures of held-out questions, which the file does not have.
type intentReport struct {
	IntentRecord
	English IntentFigures `json:"heldout_english"`
	Others  IntentFigures `json:"heldout_other_languages"`
}

// Intent trains the model of intents. The model is two multinomial logistic regressions: one over the intent of a
// question, one over whether it asks about a date in it. Thresholds are chosen on other questions.
func Intent(_ context.Context, o IntentOptions) (Made, error) {
	var sets [3][]corpus.Question
	for i, s := range []corpus.Split{corpus.Train, corpus.Choose, corpus.Heldout} {
		var err error
		if sets[i], err = corpus.Questions(s); err != nil {
			return Made{}, err
		}
	}
	var questions, dates []example
	digest := fnv.New64a()
	for _, q := range sets[0] {
		read := intent.Analyse(q.Text, namedDates(q), corpus.QuestionsAsked)
		questions = append(questions, example{read.Features, int(q.Intent())})
		for _, d := range read.Dates {
			dates = append(dates, example{d.Features, count(q.AsksAt(d.Start, d.End))})
		}
		fmt.Fprintf(digest, "%q %s %q\n", q.Text, q.Label, q.At)
	}
	m := &intent.Model{
		Header: classifier.Header{Version: "intent/1"}, Threshold: 1,
		Intents: fitLinear(questions, 3, o.Holders, o.Cost), Dates: fitLinear(dates, 2, o.Holders, o.DateCost),
	}
	m.Threshold = pastThreshold(m, sets[1], o.FalsePast)
	r := IntentRecord{
		Options: o, Questions: len(sets[0]), Dates: len(dates), Chosen: len(sets[1]),
		Features: len(m.Intents.Keys) + len(m.Dates.Keys),
		Digest:   strconv.FormatUint(digest.Sum64(), 16),
	}
	out, err := made(m, &m.Header, r, m.Threshold, "")
	languages := map[bool][]corpus.Question{}
	for _, q := range sets[2] {
		english := q.Language == "en"
		languages[english] = append(languages[english], q)
	}
	report := intentReport{r, MeasureIntent(m, languages[true]), MeasureIntent(m, languages[false])}
	if !o.Errors {
		report.English.Misread, report.Others.Misread = nil, nil
	}
	out.Record = report
	return out, err
}

// fitLinear fits a multinomial logistic regression to examples.
func fitLinear(examples []example, classes, holders int, cost float64) classifier.Linear {
	count := map[uint32]int{}
	for _, e := range examples {
		for _, f := range e.features {
			count[f.Key]++
		}
	}
	var l classifier.Linear
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
				rows[i] = append(rows[i], cell{int32(k * classes), f.Value})
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
	settings := &optimize.Settings{MajorIterations: 60, GradientThreshold: 1e-2}
	return bytesOf(l, minimise(bias+classes, settings, evaluate), classes)
}

// bytesOf puts weights into a model. It rounds each to one of 255 steps of its class.
func bytesOf(l classifier.Linear, learned []float64, classes int) classifier.Linear {
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
