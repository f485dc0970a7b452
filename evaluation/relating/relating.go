// Package relating measures the model of relations on labelled pairs.
package relating

import (
	"cmp"
	"errors"
	"slices"

	"github.com/mneme-memory/mneme/evaluation/corpus"
	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/shared/formation/relation"
)

// ErrNoPairs says that there is nothing to measure on.
var ErrNoPairs = errors.New("no pairs")

// falseBar is the share of pairs without a change that may be taken for one: where recall is compared whatever the threshold.
const falseBar = 0.04

// leastOfKind is how many pairs a writer's kind needs to be told by itself.
const leastOfKind = 5

// bins is how many rows the reliability table has.
const bins = 10

// strangers is how many statements of other pairs of the batch each later one is compared with, as if they were in the user's bank.
const strangers = 20

// Report says how well a model tells changes.
type Report struct {
	// Pairs and Changes count what was measured.
	Pairs   int `json:"pairs"`
	Changes int `json:"changes"`
	// Certain and Possible are measured at the model's thresholds, AtBar where 4 % of the others are above.
	Certain  At `json:"certain"`
	Possible At `json:"possible"`
	AtBar    At `json:"at_bar"`
	// Accuracy is the share of pairs whose likeliest label is the true one.
	Accuracy float64 `json:"accuracy"`
	// Confusion counts pairs by true label and likeliest label.
	Confusion [relation.Labels][relation.Labels]int `json:"confusion"`
	// Kinds are look-alikes of a kind, with how many of them are taken for a change for certain; rare kinds together at the end.
	Kinds []Kind `json:"kinds"`
	// Reliability compares the probability of a change with how often there is one.
	Reliability [bins]Bin `json:"reliability"`
	// Strangers are pairs with what was never said about the same, taken for a change for certain; Statements are the later statements that
	// at least one such pair is taken for a change of.
	Strangers  Share `json:"strangers"`
	Statements Share `json:"statements"`
	// FalseChanges and Misses are the worst errors, the worst first.
	FalseChanges []Judged `json:"false_changes,omitempty"`
	Misses       []Judged `json:"misses,omitempty"`
}

// At is what a threshold comes to.
type At struct {
	Threshold float64 `json:"threshold"`
	// Recall is the share of changes that are at or above the threshold, False the share of the others; ends and replacements apart.
	Recall   float64        `json:"recall"`
	Within   score.Interval `json:"within"`
	Replaces float64        `json:"replaces"`
	Ends     float64        `json:"ends"`
	False    float64        `json:"false"`
}

// Share is Of a number.
type Share struct {
	Count int `json:"count"`
	Of    int `json:"of"`
}

// Kind is what a writer calls a case.
type Kind struct {
	Name  string `json:"name"`
	Label string `json:"label"`
	Share
}

// Bin has the pairs whose probability of a change is in a tenth.
type Bin struct {
	Pairs int `json:"pairs"`
	// Told is the mean probability, Found the share of changes.
	Told  float64 `json:"told"`
	Found float64 `json:"found"`
}

// Judged is a pair with the probability of a change that the model gives.
type Judged struct {
	corpus.Pair
	Change float64 `json:"change"`
}

// Evaluate measures a model on pairs, and keeps as many of the worst errors of either sort.
func Evaluate(m *relation.Model, pairs []corpus.Pair, worst int) (Report, error) {
	r := Report{Pairs: len(pairs)}
	judged := make([]Judged, len(pairs))
	for i, p := range pairs {
		later, stored := p.Statements()
		told := m.Judge(later, stored)
		judged[i] = Judged{p, told.Change()}
		r.Confusion[p.Relation()][told.Likeliest()]++
		if told.Likeliest() == p.Relation() {
			r.Accuracy += 1 / float64(len(pairs))
		}
		if p.Relation().Changes() {
			r.Changes++
		}
	}
	if r.Changes == 0 || r.Changes == len(pairs) {
		return Report{}, ErrNoPairs
	}
	t := m.Thresholds()
	r.Certain, r.Possible, r.AtBar = at(judged, t.Certain), at(judged, t.Possible), at(judged, barOf(judged))
	r.Kinds = kinds(judged, t.Certain)
	r.Reliability = reliability(judged)
	r.meet(m, pairs)
	slices.SortStableFunc(judged, func(a, b Judged) int { return cmp.Compare(b.Change, a.Change) })
	for _, j := range judged {
		if !j.Relation().Changes() && len(r.FalseChanges) < worst {
			r.FalseChanges = append(r.FalseChanges, j)
		}
	}
	for _, j := range slices.Backward(judged) {
		if j.Relation().Changes() && len(r.Misses) < worst {
			r.Misses = append(r.Misses, j)
		}
	}
	return r, nil
}

func at(judged []Judged, threshold float64) At {
	var units []score.Unit
	counts, above := [relation.Labels]int{}, [relation.Labels]int{}
	for _, j := range judged {
		l, hit := j.Relation(), 0
		if j.Change >= threshold {
			hit = 1
		}
		counts[l]++
		above[l] += hit
		if l.Changes() {
			units = append(units, score.Unit{Sum: float64(hit), N: 1})
		}
	}
	share := func(labels ...relation.Label) float64 {
		n, of := 0, 0
		for _, l := range labels {
			n, of = n+above[l], of+counts[l]
		}
		if of == 0 {
			return 0
		}
		return float64(n) / float64(of)
	}
	return At{
		Threshold: threshold, Recall: share(relation.Replaces, relation.Ends), Within: score.Bootstrap(units), Replaces: share(relation.Replaces),
		Ends: share(relation.Ends), False: share(relation.Unrelated, relation.Same, relation.Adds),
	}
}

// barOf is the lowest threshold at which at most falseBar of the pairs without a change are taken for one.
func barOf(judged []Judged) float64 {
	var others []float64
	for _, j := range judged {
		if !j.Relation().Changes() {
			others = append(others, j.Change)
		}
	}
	slices.Sort(others)
	highest := others[len(others)-1-int(falseBar*float64(len(others)))]
	best := 1.0
	for _, j := range judged {
		if j.Change > highest {
			best = min(best, j.Change)
		}
	}
	return best
}

func kinds(judged []Judged, threshold float64) []Kind {
	type key struct{ name, label string }
	found := map[key]*Kind{}
	for _, j := range judged {
		if j.Relation().Changes() {
			continue
		}
		k := key{j.Kind, j.Label}
		if found[k] == nil {
			found[k] = &Kind{Name: k.name, Label: k.label}
		}
		found[k].Of++
		if j.Change >= threshold {
			found[k].Count++
		}
	}
	var out []Kind
	rare := map[string]*Kind{}
	for _, k := range found {
		if k.Of >= leastOfKind {
			out = append(out, *k)
			continue
		}
		if rare[k.Label] == nil {
			rare[k.Label] = &Kind{Name: "(rarer)", Label: k.Label}
		}
		rare[k.Label].Count += k.Count
		rare[k.Label].Of += k.Of
	}
	for _, k := range rare {
		out = append(out, *k)
	}
	slices.SortFunc(out, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(b.Of, a.Of), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Label, b.Label))
	})
	return out
}

func reliability(judged []Judged) (out [bins]Bin) {
	for _, j := range judged {
		b := &out[min(bins-1, int(j.Change*bins))]
		b.Pairs++
		b.Told += j.Change
		if j.Relation().Changes() {
			b.Found++
		}
	}
	for i := range out {
		if n := float64(out[i].Pairs); n > 0 {
			out[i].Told /= n
			out[i].Found /= n
		}
	}
	return out
}

// meet compares each later statement with stored ones of other pairs of its batch: those that come next.
func (r *Report) meet(m *relation.Model, pairs []corpus.Pair) {
	batches := map[string][]corpus.Pair{}
	for _, p := range pairs {
		batches[p.Batch] = append(batches[p.Batch], p)
	}
	for _, batch := range batches {
		stored := make([]relation.Reading, len(batch))
		for i, p := range batch {
			_, s := p.Statements()
			stored[i] = m.Read(s)
		}
		for i, p := range batch {
			l, _ := p.Statements()
			later, taken := m.Read(l), 0
			for n := range min(strangers, len(batch)-1) {
				j := (i + n + 1) % len(batch)
				if batch[j].Stored == p.Stored {
					continue
				}
				r.Strangers.Of++
				if m.Compare(later, stored[j]).Change() >= m.Thresholds().Certain {
					taken++
				}
			}
			r.Strangers.Count += taken
			r.Statements.Of++
			if taken > 0 {
				r.Statements.Count++
			}
		}
	}
}
