// Package training makes the shipped models: saliency filter, judge of changes, and shared prior of the reranker. It
// learns from labelled and synthetic dialogues. The same options give the same bytes.
package training

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/memory"
)

// FilterVersion names the models that this package makes.
const FilterVersion = "embedded-filter/3"

// FilterOptions are the options of a filter model. The record in the model's file has them.
type FilterOptions struct {
	// Seed chooses the made-up people, the variations, and the order of learning.
	Seed uint64 `json:"seed"`
	// Persons is the number of made-up people with training dialogues, at least 4. A quarter as many people, with
	// other words and phrasings, are held out.
	Persons int `json:"persons"`
	// Recall is the share of the turns needed by later requests that the threshold keeps, in the dialogues for the
	// choice of options.
	Recall float64 `json:"recall"`
	// RecallWeight is the share of salient turns in the loss. The other turns have the rest. SaliMory weighs recall
	// by 0.6.
	RecallWeight float64 `json:"recall_weight"`
	// Epochs is the number of passes over all turns, Rate the first learning rate, Decay the pull of every weight to
	// zero.
	Epochs int     `json:"epochs"`
	Rate   float64 `json:"rate"`
	Decay  float64 `json:"decay"`
}

// FilterDefaults are the options of the model that the binary carries.
func FilterDefaults() FilterOptions {
	return FilterOptions{Seed: 1, Persons: 44, Recall: 0.975, RecallWeight: 0.6, Epochs: 4, Rate: 0.05, Decay: 2e-3}
}

func (o FilterOptions) check() error {
	switch {
	case o.Persons < 4 || o.Persons > 100_000:
		return fault.Terminal("persons", "is %d, want 4 to 100000", o.Persons)
	case !(o.Recall > 0 && o.Recall < 1):
		return fault.Terminal("recall", "is %v, want more than 0 and less than 1", o.Recall)
	case !(o.RecallWeight > 0 && o.RecallWeight < 1):
		return fault.Terminal("recall-weight", "is %v, want more than 0 and less than 1", o.RecallWeight)
	case o.Epochs < 1 || o.Epochs > 1000:
		return fault.Terminal("epochs", "is %d, want 1 to 1000", o.Epochs)
	case !(o.Rate > 0 && o.Rate <= 1):
		return fault.Terminal("rate", "is %v, want more than 0 and at most 1", o.Rate)
	case !(o.Decay >= 0 && o.Decay < 1):
		return fault.Terminal("decay", "is %v, want 0 or more and less than 1", o.Decay)
	}
	return nil
}

// FilterRecord records the options, the data and the figures of a model. The model's file has it.
type FilterRecord struct {
	Options FilterOptions `json:"options"`
	// Turns and Salient count the training data. Digest is the digest of all training data.
	Turns   int    `json:"turns"`
	Salient int    `json:"salient"`
	Digest  string `json:"digest"`
	// Loss is the mean weighted logistic loss of the last epoch.
	Loss float64 `json:"loss"`
	// MadeUp is measured on made-up people with other words. Chosen and Heldout are measured on user turns of
	// dialogues with an assistant: Chosen on the turns on which the threshold is chosen, Heldout on turns that no
	// choice uses.
	MadeUp  FilterFigures `json:"made_up"`
	Chosen  FilterFigures `json:"chosen"`
	Heldout FilterFigures `json:"heldout"`
	// HeldoutAssistant is measured on the assistant's turns of the held-out dialogues.
	HeldoutAssistant FilterFigures `json:"heldout_assistant"`
}

// FilterFigures are the results of a filter on labelled turns.
type FilterFigures struct {
	Turns   int `json:"turns"`
	Salient int `json:"salient"`
	Needed  int `json:"needed,omitempty"`
	// AUC is the area under the ROC curve of the salient turns.
	AUC float64 `json:"auc"`
	// Kept is the share of the salient turns that the filter keeps. NeededKept is the same share for the turns that
	// later requests need. Dropped is the share of all turns that the filter drops.
	Kept       float64 `json:"kept"`
	NeededKept float64 `json:"needed_kept,omitempty"`
	Dropped    float64 `json:"dropped"`
	// Reliability has for each fifth of the scores from 0 to 1 the number of turns and the number of salient turns.
	Reliability [5][2]int `json:"reliability"`
}

// Filter trains a model. An option out of range is a terminal error.
func Filter(o FilterOptions) (saliency.Model, FilterRecord, error) {
	r, learned, err := recordOf(o)
	if err != nil {
		return saliency.Model{}, FilterRecord{}, err
	}
	ls, n := lessons(learned, o.RecallWeight)
	n, r.Loss = learn(ls, n, o)
	r.Loss = rounded(r.Loss)
	m := saliency.Model{Version: FilterVersion, Threshold: 0.5}
	m.SetNetwork(n)
	if err := r.measure(&m); err != nil {
		return saliency.Model{}, FilterRecord{}, err
	}
	if m.Training, err = json.Marshal(r); err != nil {
		return saliency.Model{}, FilterRecord{}, fmt.Errorf("record training: %w", err)
	}
	return m, r, nil
}

// FilterData returns the record of the model's data. It trains no model.
func FilterData(o FilterOptions) (FilterRecord, error) {
	r, _, err := recordOf(o)
	return r, err
}

func recordOf(o FilterOptions) (FilterRecord, []sample, error) {
	if err := o.check(); err != nil {
		return FilterRecord{}, nil, err
	}
	samples, err := learnedFrom(o)
	if err != nil {
		return FilterRecord{}, nil, err
	}
	r, h := FilterRecord{Options: o, Turns: len(samples)}, sha256.New()
	for _, s := range samples {
		if s.salient {
			r.Salient++
		}
		fmt.Fprintf(h, "%q %q %q %q %t %g\n", s.turn.Role, s.turn.Speaker, s.turn.Text, s.turn.Caption, s.salient, s.weight)
	}
	r.Digest = hex.EncodeToString(h.Sum(nil)[:8])
	return r, samples, nil
}

// EncodeFilter returns the bytes of a model's file.
func EncodeFilter(m saliency.Model) ([]byte, error) {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode model: %w", err)
	}
	return append(b, '\n'), nil
}

// rounded keeps four decimals, so that the rounding differences of processors do not reach the file.
func rounded(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// measure sets the threshold of a model, and fills in the figures.
func (r *FilterRecord) measure(m *saliency.Model) error {
	f, err := saliency.NewFilter(*m)
	if err != nil {
		return err
	}
	made, err := madeUp(r.Options, synthesis.SplitHeldout, r.Options.Persons/4)
	if err != nil {
		return err
	}
	chosen, err := spokenTurns(corpus.Choose)
	if err != nil {
		return err
	}
	heldout, err := spokenTurns(corpus.Heldout)
	if err != nil {
		return err
	}
	var scores []float64
	for _, s := range chosen[memory.RoleUser] {
		if s.needed {
			scores = append(scores, f.Score(s.turn))
		}
	}
	slices.Sort(scores)
	miss := int((1 - r.Options.Recall) * float64(len(scores)))
	least := scores[miss]
	if miss > 0 { // half way to the missing share: other people's turns scatter around these
		least = (least + scores[miss-1]) / 2
	}
	m.Threshold = min(0.9999, max(1e-4, math.Floor(least*1e4)/1e4))
	if f, err = saliency.NewFilter(*m); err != nil { // turns in unknown words score the threshold
		return err
	}
	r.MadeUp, r.Chosen = figures(f, made, m.Threshold), figures(f, chosen[memory.RoleUser], m.Threshold)
	r.Heldout, r.HeldoutAssistant = figures(f, heldout[memory.RoleUser], m.Threshold), figures(f, heldout[memory.RoleAssistant], m.Threshold)
	return nil
}

// spokenTurns are the turns of the dialogues of a split, by role.
func spokenTurns(split corpus.Split) (map[memory.Role][]sample, error) {
	dialogues, err := corpus.Dialogues()
	if err != nil {
		return nil, err
	}
	out := map[memory.Role][]sample{}
	for _, d := range dialogues {
		if d.Split() != split || d.InPassing() {
			continue
		}
		for _, l := range d.Labelled() {
			out[l.Turn.Role] = append(out[l.Turn.Role], sample{turn: l.Turn, salient: l.Remember, needed: l.Needed})
		}
	}
	return out, nil
}

// figures measures a filter.
func figures(f *saliency.Filter, samples []sample, threshold float64) FilterFigures {
	type scored struct {
		score   float64
		salient bool
	}
	var all []scored
	out := FilterFigures{Turns: len(samples)}
	kept, neededKept, dropped := 0, 0, 0
	for _, s := range samples {
		x := scored{f.Score(s.turn), s.salient}
		all = append(all, x)
		fifth := &out.Reliability[min(4, int(x.score*5))]
		fifth[0]++
		keeps := x.score >= threshold
		if !keeps {
			dropped++
		}
		if s.salient {
			out.Salient++
			fifth[1]++
			kept += count(keeps)
		}
		if s.needed {
			out.Needed++
			neededKept += count(keeps)
		}
	}
	out.Kept, out.Dropped = share(kept, out.Salient), share(dropped, out.Turns)
	out.NeededKept = share(neededKept, out.Needed)
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	pairs, below := 0.0, 0
	for i := 0; i < len(all); {
		j, salient := i, 0
		for ; j < len(all) && all[j].score == all[i].score; j++ {
			salient += count(all[j].salient)
		}
		others := j - i - salient
		pairs += float64(salient) * (float64(below) + float64(others)/2)
		below += others
		i = j
	}
	if others := out.Turns - out.Salient; others > 0 && out.Salient > 0 {
		out.AUC = rounded(pairs / (float64(out.Salient) * float64(others)))
	}
	return out
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func share(part, whole int) float64 { return rounded(float64(part) / float64(max(1, whole))) }
