package training

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/memory"
)

// ConstraintVersion names the models of constraints that this package makes.
const ConstraintVersion = "constraint/1"

// ConstraintOptions are the options of a model of constraints. The record in the model's file has them.
type ConstraintOptions struct {
	// Seed draws the statements from patterns and the order of learning.
	Seed uint64 `json:"seed"`
	// Phrased is the number of binding statements that are drawn from patterns. Of statements that do not bind, four
	// thirds as many are drawn.
	Phrased int `json:"phrased"`
	// Passing is the share of the statements that do not bind and that the threshold lets pass, measured on the
	// statements for the choice of options.
	Passing float64 `json:"passing"`
	// Epochs, Rate and Decay are as in FilterOptions.
	Epochs int     `json:"epochs"`
	Rate   float64 `json:"rate"`
	Decay  float64 `json:"decay"`
}

// ConstraintDefaults are the options of the model that the binary carries.
func ConstraintDefaults() ConstraintOptions {
	return ConstraintOptions{Seed: 1, Phrased: 2000, Passing: 0.05, Epochs: 10, Rate: 0.05, Decay: 4e-3}
}

func (o ConstraintOptions) check() error {
	switch {
	case o.Phrased < 0 || o.Phrased > 1_000_000:
		return fault.Terminal("phrased", "is %d, want 0 to 1000000", o.Phrased)
	case !(o.Passing > 0 && o.Passing < 1):
		return fault.Terminal("passing", "is %v, want more than 0 and less than 1", o.Passing)
	}
	return o.network().check()
}

// network returns the options of learning. Persons and recall are options of the filter alone.
func (o ConstraintOptions) network() FilterOptions {
	f := FilterDefaults()
	f.Seed, f.RecallWeight, f.Epochs, f.Rate, f.Decay = o.Seed, 0.5, o.Epochs, o.Rate, o.Decay
	return f
}

// ConstraintRecord records the options, the data and the figures of a model. The model's file has it.
type ConstraintRecord struct {
	Options ConstraintOptions `json:"options"`
	// Labelled counts the training statements with a hand-made label. Digest is the digest of all training
	// statements.
	Labelled map[corpus.Binding]int `json:"labelled"`
	Digest   string                 `json:"digest"`
	// Loss is the mean weighted logistic loss of the last epoch.
	Loss float64 `json:"loss"`
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

// Constraint trains a model. An option out of range is a terminal error.
func Constraint(o ConstraintOptions) (saliency.Model, ConstraintRecord, error) {
	fail := func(err error) (saliency.Model, ConstraintRecord, error) {
		return saliency.Model{}, ConstraintRecord{}, err
	}
	r, samples, err := constraintRecord(o)
	if err != nil {
		return fail(err)
	}
	labelled, err := corpus.Constraints()
	if err != nil {
		return fail(err)
	}
	ls, n := lessons(samples, o.network().RecallWeight)
	n, loss := learn(ls, n, o.network())
	r.Loss = rounded(loss)
	m := saliency.Model{Version: ConstraintVersion, Threshold: 0.5}
	m.SetNetwork(n)
	f, err := saliency.NewFilter(m)
	if err != nil {
		return fail(err)
	}
	parts := map[string][]corpus.Constraint{}
	for _, c := range labelled {
		part := string(c.Split())
		if c.Written() && c.Split() == corpus.Heldout {
			part = "written"
		}
		parts[part] = append(parts[part], c)
	}
	none := scoresOf(f, parts[string(corpus.Choose)])[corpus.BindsNot]
	slices.SortFunc(none, func(a, b float64) int { return cmp.Compare(b, a) })
	m.Threshold = min(0.9999, max(1e-4, rounded(none[int(o.Passing*float64(len(none)))]+1e-4)))
	r.Chosen = constraintFigures(f, parts[string(corpus.Choose)], m.Threshold)
	r.Heldout = constraintFigures(f, parts[string(corpus.Heldout)], m.Threshold)
	r.Written = constraintFigures(f, parts["written"], m.Threshold)
	if m.Training, err = json.Marshal(r); err != nil {
		return fail(fmt.Errorf("record training: %w", err))
	}
	return m, r, nil
}

// ConstraintData returns the record of the model's data. It trains no model.
func ConstraintData(o ConstraintOptions) (ConstraintRecord, error) {
	r, _, err := constraintRecord(o)
	return r, err
}

func constraintRecord(o ConstraintOptions) (ConstraintRecord, []sample, error) {
	if err := o.check(); err != nil {
		return ConstraintRecord{}, nil, err
	}
	labelled, err := corpus.Constraints()
	if err != nil {
		return ConstraintRecord{}, nil, err
	}
	samples, err := constraintSamples(o, labelled)
	r, h := ConstraintRecord{Options: o, Labelled: map[corpus.Binding]int{}}, sha256.New()
	for _, c := range labelled {
		if c.Split() == corpus.Train {
			r.Labelled[c.Label]++
		}
	}
	for _, s := range samples {
		fmt.Fprintf(h, "%q %t %g\n", s.turn.Text, s.salient, s.weight)
	}
	r.Digest = hex.EncodeToString(h.Sum(nil)[:8])
	return r, samples, err
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
	"I'm ", "Rahel is ", "i'm ", "Rahel is ", "im ", "Rahel is ", "I've ", "Rahel has ", "i've ", "Rahel has ", "I have ", "Rahel has ",
	"i have ", "Rahel has ", "I am ", "Rahel is ", "I can't ", "Rahel cannot ", "i can't ", "Rahel cannot ", "I don't ", "Rahel does not ",
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
	made, err := madeUp(FilterOptions{Seed: o.Seed}, synthesis.SplitTrain, chatting)
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

// scoresOf returns the scores of statements by label. A statement that the model cannot read has score 0, as in the
// service.
func scoresOf(f *saliency.Filter, statements []corpus.Constraint) map[corpus.Binding][]float64 {
	out := map[corpus.Binding][]float64{}
	for _, c := range statements {
		score, ok := f.Read(memory.Turn{Role: memory.RoleUser, Text: c.Text})
		if !ok {
			score = 0
		}
		out[c.Label] = append(out[c.Label], score)
	}
	return out
}

func constraintFigures(f *saliency.Filter, statements []corpus.Constraint, threshold float64) ConstraintFigures {
	out := ConstraintFigures{Statements: map[corpus.Binding]int{}, Passed: map[corpus.Binding]int{}}
	scores := scoresOf(f, statements)
	for label, s := range scores {
		out.Statements[label] = len(s)
		for _, x := range s {
			out.Passed[label] += count(x >= threshold)
		}
	}
	above := 0.0
	for _, a := range scores[corpus.BindsAlways] {
		for _, b := range scores[corpus.BindsNot] {
			above += float64(count(a > b)+count(a >= b)) / 2
		}
	}
	if pairs := out.Statements[corpus.BindsAlways] * out.Statements[corpus.BindsNot]; pairs > 0 {
		out.AUC = rounded(above / float64(pairs))
	}
	return out
}
