// Package relating measures the model of relations on statements labelled by hand.
package relating

import (
	"cmp"
	"errors"
	"slices"

	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/formation/relation"
)

// ErrNoStatements is the error for missing statements to measure on.
var ErrNoStatements = errors.New("no statements, or none that changes something, or none that changes nothing")

// falseBar is the share of statements without a change that may close an entry. At this share updates are compared
// for any threshold.
const falseBar = 0.04

// leastOfKind is the least number of statements of a writer's kind for a separate row.
const leastOfKind = 10

// bins is the number of rows of the reliability table.
const bins = 10

// Report has the measures of a model on later statements, each with stored ones that it may change.
type Report struct {
	// Statements and Changes count the measured statements and changes.
	Statements int `json:"statements"`
	Changes    int `json:"changes"`
	// Certain and Possible are measured at the model's thresholds. AtBar is measured at the threshold that 4 % of the
	// statements without a change pass.
	Certain  At `json:"certain"`
	Possible At `json:"possible"`
	AtBar    At `json:"at_bar"`
	// Kinds has the look-alikes by kind, with the number that close an entry for certain. Rare kinds share a row at
	// the end.
	Kinds []Kind `json:"kinds"`
	// Reliability compares the highest probability of a change with the frequency of that change.
	Reliability [bins]Bin `json:"reliability"`
	// FalseChanges and Misses are the worst errors, the worst first.
	FalseChanges []Judged `json:"falselychanges,omitempty"`
	Misses       []Judged `json:"misses,omitempty"`
}

// At is the result at a threshold.
type At struct {
	Threshold float64 `json:"threshold"`
	// Right is the share of changes that close the right entry. Wrong is the share that closes another one. Within is
	// an interval of Right.
	Right  float64        `json:"right"`
	Within score.Interval `json:"within"`
	Wrong  float64        `json:"wrong"`
	// Replaces and Ends are Right by label.
	Replaces float64 `json:"replaces"`
	Ends     float64 `json:"ends"`
	// False is the share of statements without a change that close an entry.
	False float64 `json:"false"`
}

// Kind is a writer's name of a case.
type Kind struct {
	Name  string `json:"name"`
	Label string `json:"label"`
	Count int    `json:"count"`
	Of    int    `json:"of"`
}

// Bin has the statements with a highest probability of a change in one tenth.
type Bin struct {
	Statements int `json:"statements"`
	// Told is the mean probability, Found the share of statements that change that entry.
	Told  float64 `json:"told"`
	Found float64 `json:"found"`
}

// Judged is a statement with the entry that it most likely changes.
type Judged struct {
	Later  string  `json:"later"`
	Stored string  `json:"stored"`
	Kind   string  `json:"kind"`
	Change float64 `json:"change"`

	whole float64 // the probability of any change
	label relation.Label
	right bool   // whether it changes Stored
	about string // the label of the pair
}

// Judge is a model under measurement.
type Judge interface {
	// Judge returns the effect of a later statement on each of the stored ones.
	Judge(later relation.Statement, stored []relation.Statement) []relation.Relation
	// Thresholds returns the thresholds that close and link entries.
	Thresholds() relation.Thresholds
}

// Evaluate measures a judge on statements. It keeps the given number of the worst errors of each sort.
func Evaluate(m Judge, sets []corpus.Among, worst int) (Report, error) {
	r := Report{Statements: len(sets)}
	judged := make([]Judged, len(sets))
	for i, s := range sets {
		j := Judged{Later: s.Later.Text, Kind: s.Kind, label: s.Label}
		if s.Looks >= 0 {
			j.about = s.Stored[s.Looks].Text
		}
		told := m.Judge(s.Later, s.Stored)
		var k int
		if k, j.Change, j.whole = relation.Changed(told); k >= 0 {
			j.Stored, j.right = s.Stored[k].Text, k == s.Looks && s.Label.Changes()
		}
		judged[i] = j
		if s.Label.Changes() {
			r.Changes++
		}
	}
	if r.Changes == 0 || r.Changes == len(sets) {
		return Report{}, ErrNoStatements
	}
	t := m.Thresholds()
	r.Certain, r.AtBar = at(judged, t.Certain, certainty), at(judged, barOf(judged), certainty)
	r.Possible = at(judged, t.Possible, func(j Judged) float64 { return j.Change })
	r.Kinds = kinds(judged, t.Certain)
	r.Reliability = reliability(judged)
	slices.SortStableFunc(judged, func(a, b Judged) int { return cmp.Compare(b.Change, a.Change) })
	for _, j := range judged {
		if !j.label.Changes() && len(r.FalseChanges) < worst {
			r.FalseChanges = append(r.FalseChanges, j)
		}
	}
	for _, j := range slices.Backward(judged) {
		if j.label.Changes() && len(r.Misses) < worst {
			j.Stored = j.about
			r.Misses = append(r.Misses, j)
		}
	}
	return r, nil
}

// certainty is the probability that decides whether the likeliest entry is closed.
func certainty(j Judged) float64 {
	if j.Change < relation.LeastOwn {
		return 0
	}
	return j.whole
}

func at(judged []Judged, threshold float64, probability func(Judged) float64) At {
	var units []score.Unit
	counts, right := [relation.Labels]int{}, [relation.Labels]int{}
	wrong, falsely, changes := 0, 0, 0
	for _, j := range judged {
		counts[j.label]++
		closes := probability(j) >= threshold
		switch {
		case !j.label.Changes():
			if closes {
				falsely++
			}
			continue
		case closes && j.right:
			right[j.label]++
		case closes:
			wrong++
		}
		changes++
		units = append(units, score.Unit{Sum: flag(closes && j.right), N: 1})
	}
	share := func(n, of int) float64 { return float64(n) / float64(max(1, of)) }
	return At{
		Threshold: threshold, Within: score.Bootstrap(units), Wrong: share(wrong, changes),
		False:    share(falsely, len(judged)-changes),
		Right:    share(right[relation.Replaces]+right[relation.Ends], changes),
		Replaces: share(right[relation.Replaces], counts[relation.Replaces]),
		Ends:     share(right[relation.Ends], counts[relation.Ends]),
	}
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// barOf is the lowest threshold at which at most falseBar of the statements without a change close an entry.
func barOf(judged []Judged) float64 {
	var others []float64
	for _, j := range judged {
		if !j.label.Changes() {
			others = append(others, certainty(j))
		}
	}
	slices.Sort(others)
	highest := others[len(others)-1-int(falseBar*float64(len(others)))]
	best := 1.0
	for _, j := range judged {
		if certainty(j) > highest {
			best = min(best, certainty(j))
		}
	}
	return best
}

func kinds(judged []Judged, threshold float64) []Kind {
	found := map[[2]string]*Kind{}
	for _, j := range judged {
		if j.label.Changes() {
			continue
		}
		key := [2]string{j.Kind, j.label.String()}
		if found[key] == nil {
			found[key] = &Kind{Name: j.Kind, Label: j.label.String()}
		}
		found[key].Of++
		if certainty(j) >= threshold {
			found[key].Count++
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
		b.Statements++
		b.Told += j.Change
		b.Found += flag(j.right)
	}
	for i := range out {
		if n := float64(out[i].Statements); n > 0 {
			out[i].Told /= n
			out[i].Found /= n
		}
	}
	return out
}
