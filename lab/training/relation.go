package training

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
)

// RelationOptions are the training options of the model of relations. The record in the model's file has them.
type RelationOptions struct {
	Seed   uint64  `json:"seed" use:"chooses groups of words, and strangers"`
	Cost   float64 `json:"cost" range:"(0,1e4)" use:"weight of the loss against the squared weights"`
	Rounds int     `json:"rounds" range:"[1,10000]" use:"steps of the optimiser at most"`
	// Groups is the number of groups of the words of the table.
	Groups int `json:"groups" range:"[1,255]"`
	// Holders is the least number of training examples with a feature.
	Holders int `json:"holders" range:"[1,]"`
	// Lengths are the scaled lengths of the blocks of sparse features.
	Lengths [relation.Blocks]float64 `json:"lengths"`
	// Numbers is the scaled standard deviation of a dense number.
	Numbers float64 `json:"numbers"`
	// Strangers is the number of statements of other pairs that join a pair's stored statement. They stand for the many
	// entries of a bank.
	Strangers int `json:"strangers" range:"[0,100]"`
	// Lives is the number of made-up people that the training adds to the corpus.
	Lives int `json:"lives" range:"[0,1000]"`
	Most  int `json:"most,omitempty" flag:"most" range:"[0,]" use:"pairs, banks, dialogues and people at most, for a trial; 0: no bound"`
	falseChanges
}

// falseChanges are the shares of statements without a change that score above each threshold. They apply to the
// statements on which the thresholds are chosen.
type falseChanges struct {
	FalseCertain  float64 `json:"false_certain" range:"(0,1)" use:"share of the statements without a change that count as certain changes"`
	FalsePossible float64 `json:"false_possible" range:"(0,1)" use:"the same share for possible changes, at least that of certain ones"`
}

func (f falseChanges) check() error {
	if f.FalsePossible < f.FalseCertain {
		return fault.Terminal("false-possible", "is %v, want at least that of certain ones, %v", f.FalsePossible,
			f.FalseCertain)
	}
	return nil
}

// RelationDefaults are the training options of the model in the binary.
func RelationDefaults() RelationOptions {
	return RelationOptions{
		Seed: 1, Cost: 6, Rounds: 80, Groups: 60, Holders: 3, Lengths: [relation.Blocks]float64{1, 1.4, 0.5, 0.5, 1, 0.8},
		Numbers: 0.4, Strangers: 12, Lives: 24, falseChanges: falseChanges{0.04, 0.15},
	}
}

// RelationRecord records the options and the data of a model. The model's file has it.
type RelationRecord struct {
	Options RelationOptions `json:"options"`
	// Statements and Changes count the later training statements, MadeUp the statements of made-up people among them.
	// Chosen counts the statements on which temperature and thresholds are chosen.
	Statements int `json:"statements"`
	MadeUp     int `json:"made_up"`
	Changes    int `json:"changes"`
	Chosen     int `json:"chosen"`
	Features   int `json:"features"`
	// Digest is the digest of all training statements, without the statements of made-up people.
	Digest string `json:"digest"`
}

// trainRelation trains the model of relations on the statements of the corpus.
func trainRelation(ctx context.Context, o RelationOptions) (Made, error) {
	train, err := Statements(ctx, corpus.Train, o)
	if err != nil {
		return Made{}, err
	}
	choose, err := Statements(ctx, corpus.Choose, o)
	if err != nil {
		return Made{}, err
	}
	model, r, err := Relation(train, choose, o)
	if err != nil {
		return Made{}, err
	}
	file, err := model.Encode()
	return Made{file, r, float64(model.Thresholds().Certain)}, err
}

// DigestOf returns a digest of statements. It shows whether a model was trained on them.
func DigestOf(statements []corpus.Among) string {
	h := fnv.New64a()
	for _, a := range statements {
		if a.Batch == livesBatch {
			continue
		}
		fmt.Fprintf(h, "%q %d %d\n", a.Later.Text, a.Label, a.Looks)
		for _, s := range a.Stored {
			fmt.Fprintf(h, "%q\n", s.Text)
		}
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

// Relation trains the model of relations on later statements, each with stored ones. The model is a multinomial
// logistic regression over the relation to each stored statement, or to no one. Temperature and thresholds are chosen
// on other statements. The same options and statements give the same model. Options out of range are terminal errors.
func Relation(train, choose []corpus.Among, o RelationOptions) (*relation.Model, RelationRecord, error) {
	if err := errors.Join(check(o), o.falseChanges.check()); err != nil {
		return nil, RelationRecord{}, err
	}
	if len(train) == 0 || len(choose) == 0 {
		return nil, RelationRecord{}, fault.Terminal("statements", "are %d to train and %d to choose on, want some",
			len(train), len(choose))
	}
	var statements []string
	seen := map[string]bool{}
	for _, a := range train {
		for _, s := range append([]relation.Statement{a.Later}, a.Stored...) {
			if !seen[s.Text] {
				seen[s.Text] = true
				statements = append(statements, s.Text)
			}
		}
	}
	lexicon := relation.NewLexicon(wordvector.Shipped(), statements, o.Groups, o.Seed)
	m := newMatrix(lexicon, train, o)
	weights := m.fit(o)
	r := RelationRecord{Options: o, Statements: len(train), Chosen: len(choose), Features: m.columns,
		Digest: DigestOf(train)}
	for _, a := range train {
		if a.Label.Changes() {
			r.Changes++
		}
		if a.Batch == livesBatch {
			r.MadeUp++
		}
	}
	raw, err := relation.New(lexicon, weights, relation.Choice{Temperature: 1,
		Thresholds: relation.Thresholds{Certain: 1, Possible: 1}}, nil)
	if err != nil {
		return nil, RelationRecord{}, err
	}
	logits := make([][]relation.Logits, len(choose))
	for i, a := range choose {
		stored := make([]relation.Reading, len(a.Stored))
		for j, s := range a.Stored {
			stored[j] = raw.Read(s)
		}
		logits[i] = raw.Logits(raw.Read(a.Later), stored)
	}
	c := relation.Choice{Temperature: chooseTemperature(logits, choose)}
	c.Thresholds = relation.Thresholds{
		Certain:  threshold(logits, choose, c.Temperature, o.FalseCertain, certainty),
		Possible: threshold(logits, choose, c.Temperature, o.FalsePossible, possibility),
	}
	model, err := relation.New(lexicon, weights, c, r)
	return model, r, err
}

// chooseTemperature returns the temperature with the least log loss of the true labels.
func chooseTemperature(logits [][]relation.Logits, sets []corpus.Among) float64 {
	best, least := 1.0, math.Inf(1)
	for step := range 60 {
		t := 0.3 + 0.05*float64(step)
		loss := 0.0
		for i, z := range logits {
			told, none := relation.Softmax(z, t), 1.0
			for _, r := range told {
				none -= 1 - r[relation.Unrelated]
			}
			if sets[i].Label != relation.Unrelated {
				none = told[sets[i].Looks][sets[i].Label]
			}
			loss -= math.Log(max(1e-12, none))
		}
		if loss < least {
			best, least = t, loss
		}
	}
	return best
}

// certainty is the probability that decides whether an entry is closed. possibility decides whether an entry is
// linked.
func certainty(told []relation.Relation) float64 {
	if _, own, whole := relation.Changed(told); own >= relation.LeastOwn {
		return whole
	}
	return 0
}

func possibility(told []relation.Relation) float64 {
	_, own, _ := relation.Changed(told)
	return own
}

// threshold returns a probability of a change. A given share of the statements that change nothing lie above it.
func threshold(
	logits [][]relation.Logits, sets []corpus.Among, temperature, share float64,
	probability func([]relation.Relation) float64,
) float64 {
	var others []float64
	for i, z := range logits {
		if sets[i].Label.Changes() {
			continue
		}
		others = append(others, probability(relation.Softmax(z, temperature)))
	}
	slices.Sort(others)
	if len(others) == 0 {
		return 1
	}
	// the next float above the last allowed one, to four decimals
	at := others[len(others)-1-int(share*float64(len(others)))]
	return min(1, (math.Floor(at*1e4)+1)/1e4)
}
