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

// ConstraintOptions are what a model of constraints is made from. They are recorded in it.
type ConstraintOptions struct {
	// Seed draws the statements from patterns and the order of learning.
	Seed uint64 `json:"seed"`
	// Phrased is how many statements are drawn from patterns: of what binds, and as many again and a third of what does not.
	Phrased int `json:"phrased"`
	// Passing is the share of the statements that do not bind, among those that options are chosen on, which the threshold lets pass.
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

// network are the options of learning; persons and recall are the filter's alone.
func (o ConstraintOptions) network() FilterOptions {
	f := FilterDefaults()
	f.Seed, f.RecallWeight, f.Epochs, f.Rate, f.Decay = o.Seed, 0.5, o.Epochs, o.Rate, o.Decay
	return f
}

// ConstraintRecord says what a model was made from and what came out; it stands in the model's file.
type ConstraintRecord struct {
	Options ConstraintOptions `json:"options"`
	// Labelled counts the hand-labelled statements that were learned from, Digest is of all that was.
	Labelled map[corpus.Binding]int `json:"labelled"`
	Digest   string                 `json:"digest"`
	// Loss is the mean weighted logistic loss of the last epoch.
	Loss float64 `json:"loss"`
	// Chosen is measured on the statements that the threshold was chosen on, Heldout on those that nothing was, Written on held-out ones that
	// were written for their labels.
	Chosen  ConstraintFigures `json:"chosen"`
	Heldout ConstraintFigures `json:"heldout"`
	Written ConstraintFigures `json:"written"`
}

// ConstraintFigures are what a model does with labelled statements.
type ConstraintFigures struct {
	Statements map[corpus.Binding]int `json:"statements"`
	// Passed are the statements that score the threshold.
	Passed map[corpus.Binding]int `json:"passed"`
	// AUC is the area under the ROC curve of what binds always against what does not bind.
	AUC float64 `json:"auc"`
}

// Constraint makes a model. Its errors are terminal: an option out of range.
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

// ConstraintData returns the record of what a model would be made from, without making it.
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

// Weights of a statement by where it comes from; a quoted one with a label has 1.
const (
	weightWritten    = 2.0
	weightRetold     = 0.5 // in the third person
	weightPhrased    = 0.4 // from patterns
	weightKept       = 0.3 // what is worth remembering, but no later request needs: few of it bind
	weightAside      = 0.5 // what no later request needs
	weightMadeUp     = 0.1 // talk of made-up people, who have no constraints
	weightUnlabelled = 0.1 // of the pairs, of which few bind
)

// chatting is how many made-up people's talk is learned from.
const chatting = 12

// retold tells a statement as a model would that forms memories: in the third person.
var retold = strings.NewReplacer(
	"I'm ", "Rahel is ", "i'm ", "Rahel is ", "im ", "Rahel is ", "I've ", "Rahel has ", "i've ", "Rahel has ", "I have ", "Rahel has ",
	"i have ", "Rahel has ", "I am ", "Rahel is ", "I can't ", "Rahel cannot ", "i can't ", "Rahel cannot ", "I don't ", "Rahel does not ",
	"i don't ", "Rahel does not ", "I ", "Rahel ", "My ", "Rahel's ", " my ", " Rahel's ", " me ", " Rahel ",
)

// constraintSamples are what is learned from: labelled statements, drawn ones, and what people said that hardly ever binds.
func constraintSamples(o ConstraintOptions, labelled []corpus.Constraint) ([]sample, error) {
	var out []sample
	add := func(text string, label corpus.Binding, weight float64) {
		t := memory.Turn{Role: memory.RoleUser, Text: text}
		if label == corpus.BindsTaste { // half of what binds always
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

// scoresOf are the scores of statements by label; what the model cannot read has 0, as where it is used.
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
