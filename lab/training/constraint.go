package training

import (
	"context"
	"math/rand/v2"
	"strings"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/memory"
)

// ConstraintOptions are the options of a model of constraints. The record in the model's file has them.
type ConstraintOptions struct {
	Seed uint64 `json:"seed" use:"draws the statements from patterns, and the order of learning"`
	// Of statements that do not bind, four thirds as many are drawn.
	Phrased int     `json:"phrased" range:"[0,1000000]" use:"statements of what binds that are drawn from patterns"`
	Passing float64 `json:"passing" range:"(0,1)" use:"share of what does not bind that the threshold lets pass, where it is chosen"`
	Descent
}

// ConstraintRecord records the options, the data and the figures of a model. The model's file has it.
type ConstraintRecord struct {
	Options ConstraintOptions `json:"options"`
	// Labelled counts the training statements with a hand-made label.
	Labelled map[corpus.Binding]int `json:"labelled"`
	Fit
	// Chosen is measured on the statements on which the threshold is chosen. Heldout is measured on statements that
	// no choice uses, Written on held-out statements that were written for their labels.
	Chosen  ConstraintFigures `json:"chosen"`
	Heldout ConstraintFigures `json:"heldout"`
	Written ConstraintFigures `json:"written"`
}

// ConstraintFigures are the results of a model on labelled statements.
type ConstraintFigures struct {
	Statements map[corpus.Binding]int `json:"statements"`
	// Passed counts the statements with a score of at least the threshold.
	Passed map[corpus.Binding]int `json:"passed"`
	// AUC is the area under the ROC curve of statements that always bind against statements that do not bind.
	AUC float64 `json:"auc"`
}

// Constraint trains the model of constraints.
func Constraint(_ context.Context, o ConstraintOptions) (Made, error) {
	r, samples, err := constraintData(o)
	if err != nil {
		return Made{}, err
	}
	return trainNetwork("constraint/1", samples, 0.5, o.Seed, o.Descent, r)
}

func constraintData(o ConstraintOptions) (*ConstraintRecord, []sample, error) {
	labelled, err := corpus.Constraints()
	if err != nil {
		return nil, nil, err
	}
	samples, err := constraintSamples(o, labelled)
	r := &ConstraintRecord{Options: o, Labelled: map[corpus.Binding]int{}, Fit: fitOf(samples, statement)}
	for _, c := range labelled {
		if c.Split() == corpus.Train {
			r.Labelled[c.Label]++
		}
	}
	return r, samples, err
}

func (r *ConstraintRecord) measure(m *saliency.Model, f *saliency.Filter) error {
	labelled, err := corpus.Constraints()
	if err != nil {
		return err
	}
	parts := map[*ConstraintFigures]map[corpus.Binding][]float64{&r.Chosen: {}, &r.Heldout: {}, &r.Written: {}}
	for _, c := range labelled {
		part := &r.Chosen
		switch split := c.Split(); {
		case split == corpus.Train:
			continue
		case split == corpus.Heldout && c.Written():
			part = &r.Written
		case split == corpus.Heldout:
			part = &r.Heldout
		}
		parts[part][c.Label] = append(parts[part][c.Label], readable(f, memory.RoleUser, c.Text))
	}
	m.Threshold = thresholdAbove(parts[&r.Chosen][corpus.BindsNot], r.Options.Passing)
	for part, scores := range parts {
		*part = ConstraintFigures{
			Statements: map[corpus.Binding]int{}, Passed: map[corpus.Binding]int{},
			AUC: auc(scores[corpus.BindsAlways], scores[corpus.BindsNot]),
		}
		for label, all := range scores {
			part.Statements[label] = len(all)
			for _, x := range all {
				part.Passed[label] += count(x >= m.Threshold)
			}
		}
	}
	return nil
}

// Weights of a statement by its source. A quoted statement with a label has weight 1.
const (
	weightWritten    = 2.0
	weightRetold     = 0.5 // in the third person
	weightPhrased    = 0.4 // from patterns
	weightKept       = 0.3 // worth remembering, but no later request needs it: few of these bind
	weightAside      = 0.5 // no later request needs it
	weightMadeUp     = 0.1 // talk of made-up people without constraints
	weightUnlabelled = 0.1 // statements of the pairs, few of which bind
)

// chatting is the number of made-up people with training talk.
const chatting = 12

// retold changes a statement to the third person, as a model does that forms memories.
var retold = strings.NewReplacer(
	"I'm ", "Rahel is ", "i'm ", "Rahel is ", "im ", "Rahel is ", "I've ", "Rahel has ", "i've ", "Rahel has ", "I have ",
	"Rahel has ",
	"i have ", "Rahel has ", "I am ", "Rahel is ", "I can't ", "Rahel cannot ", "i can't ", "Rahel cannot ", "I don't ",
	"Rahel does not ",
	"i don't ", "Rahel does not ", "I ", "Rahel ", "My ", "Rahel's ", " my ", " Rahel's ", " me ", " Rahel ",
)

// constraintSamples are the training samples: labelled statements, drawn statements, and talk that hardly ever binds.
func constraintSamples(o ConstraintOptions, labelled []corpus.Constraint) ([]sample, error) {
	var out []sample
	add := func(text string, label corpus.Binding, weight float64) {
		t := memory.Turn{Role: memory.RoleUser, Text: text}
		if label == corpus.BindsTaste { // half of the statements that always bind
			weight /= 2
			out = append(out, sample{turn: t, weight: weight})
		}
		out = append(out, sample{turn: t, salient: label != corpus.BindsNot, weight: weight})
	}
	known := map[string]bool{}
	for _, c := range labelled {
		known[c.Text] = true
		if c.Split() != corpus.Train {
			continue
		}
		weight := 1.0
		if c.Written() {
			weight = weightWritten
		}
		add(c.Text, c.Label, weight)
		if told := retold.Replace(c.Text); told != c.Text {
			add(told, c.Label, weightRetold)
		}
	}
	r := rand.New(rand.NewPCG(o.Seed, 11))
	for _, x := range []struct {
		label corpus.Binding
		n     int
	}{{corpus.BindsAlways, o.Phrased}, {corpus.BindsTaste, o.Phrased / 5}, {corpus.BindsNot, o.Phrased * 4 / 3}} {
		for range x.n {
			add(phrased(r, x.label), x.label, weightPhrased)
		}
	}
	said, err := corpus.AllSaid()
	if err != nil {
		return nil, err
	}
	for _, x := range said {
		if x.By == "user" && x.Split() == corpus.Train && !known[x.Text] {
			add(x.Text, corpus.BindsNot, weightUnlabelled)
		}
	}
	made, err := madeUp(o.Seed, synthesis.SplitTrain, chatting)
	if err != nil {
		return nil, err
	}
	for _, s := range made {
		if s.turn.Role == memory.RoleUser {
			add(s.turn.Text, corpus.BindsNot, weightMadeUp)
		}
	}
	dialogues, err := corpus.Dialogues()
	if err != nil {
		return nil, err
	}
	for _, d := range dialogues {
		if d.Split() != corpus.Train || d.InPassing() {
			continue
		}
		for _, l := range d.Labelled() {
			switch {
			case l.Turn.Role != memory.RoleUser || l.Needed:
			case l.Remember:
				add(l.Turn.Text, corpus.BindsNot, weightKept)
			default:
				add(l.Turn.Text, corpus.BindsNot, weightAside)
			}
		}
		for _, q := range d.Requests {
			add(q.Text, corpus.BindsNot, weightAside)
		}
	}
	return out, nil
}
