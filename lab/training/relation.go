package training

import (
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

// RelationOptions say what the model of relations is trained with. They are recorded in it.
type RelationOptions struct {
	// Seed chooses groups of words, and strangers.
	Seed uint64 `json:"seed"`
	// Cost weighs the loss of a statement against the squared weights.
	Cost float64 `json:"cost"`
	// Rounds is how many steps of the optimiser are made at most.
	Rounds int `json:"rounds"`
	// Groups is how many groups the words of the table are in.
	Groups int `json:"groups"`
	// Holders is how many training examples have to have a feature.
	Holders int `json:"holders"`
	// Lengths are what the blocks of sparse features are scaled to.
	Lengths [relation.Blocks]float64 `json:"lengths"`
	// Numbers is what the standard deviation of a dense number is scaled to.
	Numbers float64 `json:"numbers"`
	// Strangers is how many statements of other pairs a pair's stored statement stands among: a bank is full of them.
	Strangers int `json:"strangers"`
	// Lives is how many made-up people are learned from beside the corpus.
	Lives int `json:"lives"`
	// Most bounds how many pairs, banks, dialogues and made-up people are learned from, for a trial; 0 is no bound.
	Most int `json:"most,omitempty"`
	// FalseCertain and FalsePossible are the shares of statements without a change, of those that thresholds are chosen on, that are above
	// them.
	FalseCertain  float64 `json:"false_certain"`
	FalsePossible float64 `json:"false_possible"`
}

// RelationDefaults are what the model in the binary was trained with.
func RelationDefaults() RelationOptions {
	return RelationOptions{
		Seed: 1, Cost: 6, Rounds: 80, Groups: 60, Holders: 3, Lengths: [relation.Blocks]float64{1, 1.4, 0.5, 0.5, 1, 0.8},
		Numbers: 0.4, Strangers: 12, Lives: 24, FalseCertain: 0.04, FalsePossible: 0.15,
	}
}

// Validate reports a setting that is out of range.
func (o RelationOptions) Validate() error {
	switch {
	case !(o.Cost > 0 && o.Cost < 1e4):
		return fault.Terminal("cost", "is %v, want more than 0", o.Cost)
	case o.Rounds < 1 || o.Rounds > 10_000:
		return fault.Terminal("rounds", "is %d, want 1 to 10000", o.Rounds)
	case o.Groups < 1 || o.Groups > 255:
		return fault.Terminal("groups", "is %d, want 1 to 255", o.Groups)
	case o.Holders < 1:
		return fault.Terminal("holders", "is %d, want 1 or more", o.Holders)
	case o.Strangers < 0 || o.Strangers > 100:
		return fault.Terminal("strangers", "is %d, want 0 to 100", o.Strangers)
	case o.Lives < 0 || o.Lives > 1000:
		return fault.Terminal("lives", "is %d, want 0 to 1000", o.Lives)
	case !(o.FalseCertain > 0 && o.FalseCertain <= o.FalsePossible && o.FalsePossible < 1):
		return fault.Terminal("false-certain", "is %v and false-possible %v, want 0 < certain <= possible < 1", o.FalseCertain, o.FalsePossible)
	}
	return nil
}

// RelationRecord says what a model was made from; it stands in the model's file.
type RelationRecord struct {
	Options RelationOptions `json:"options"`
	// Statements and Changes count later statements that were learned from, MadeUp those of them that made-up people say; Chosen those that
	// temperature and thresholds were chosen on.
	Statements int `json:"statements"`
	MadeUp     int `json:"made_up"`
	Changes    int `json:"changes"`
	Chosen     int `json:"chosen"`
	Features   int `json:"features"`
	// Digest is of all statements that were learned from, but for made-up people's.
	Digest string `json:"digest"`
}

// DigestOf returns what tells whether a model is of the statements that there are.
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

// Relation trains the model of relations on later statements with the stored ones that each is among: a multinomial logistic regression
// over what it does to which of them, or to none. Temperature and thresholds are chosen on other statements. The same options and
// statements give the same model. Options out of range are terminal errors.
func Relation(train, choose []corpus.Among, o RelationOptions) (*relation.Model, RelationRecord, error) {
	if err := o.Validate(); err != nil {
		return nil, RelationRecord{}, err
	}
	if len(train) == 0 || len(choose) == 0 {
		return nil, RelationRecord{}, fault.Terminal("statements", "are %d to train and %d to choose on, want some", len(train), len(choose))
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
	r := RelationRecord{Options: o, Statements: len(train), Chosen: len(choose), Features: m.columns, Digest: DigestOf(train)}
	for _, a := range train {
		if a.Label.Changes() {
			r.Changes++
		}
		if a.Batch == livesBatch {
			r.MadeUp++
		}
	}
	raw, err := relation.New(lexicon, weights, relation.Choice{Temperature: 1, Thresholds: relation.Thresholds{Certain: 1, Possible: 1}}, nil)
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

// chooseTemperature returns the one with the least log loss of what is true.
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

// certainty is what decides whether an entry is closed, possibility whether one is linked.
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

// threshold returns the probability of a change that a share of the statements that change nothing are above.
func threshold(
	logits [][]relation.Logits, sets []corpus.Among, temperature, share float64, probability func([]relation.Relation) float64,
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
	// the next float above the last one that may be above, to four decimals
	at := others[len(others)-1-int(share*float64(len(others)))]
	return min(1, (math.Floor(at*1e4)+1)/1e4)
}
