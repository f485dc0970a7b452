// Package training makes the shipped models: saliency filter, judge of changes, and shared prior of the reranker. It
// learns from labelled and synthetic dialogues. The same options give the same bytes.
package training

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/memory"
)

// FilterOptions are the options of a filter model. The record in the model's file has them.
type FilterOptions struct {
	Seed uint64 `json:"seed" use:"draws the made-up people, their variations, and the order of learning"`
	// A quarter as many people, with other words and phrasings, are held out.
	Persons int     `json:"persons" range:"[4,100000]" use:"made-up people to learn from; a quarter as many again are held out"`
	Recall  float64 `json:"recall" range:"(0,1)" use:"share that the threshold keeps of the turns that later requests need"`
	// SaliMory weighs recall by 0.6.
	RecallWeight float64 `json:"recall_weight" range:"(0,1)" use:"share of the loss that salient turns have"`
	Descent
}

// FilterRecord records the options, the data and the figures of a model. The model's file has it.
type FilterRecord struct {
	Options FilterOptions `json:"options"`
	// Turns and Salient count the training data.
	Turns   int `json:"turns"`
	Salient int `json:"salient"`
	Fit
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

// Filter trains the saliency filter.
func Filter(_ context.Context, o FilterOptions) (Made, error) {
	r, samples, err := filterData(o)
	if err != nil {
		return Made{}, err
	}
	return trainNetwork("embedded-filter/3", samples, o.RecallWeight, o.Seed, o.Descent, r)
}

func filterData(o FilterOptions) (*FilterRecord, []sample, error) {
	samples, err := learnedFrom(o)
	r := &FilterRecord{Options: o, Turns: len(samples), Fit: fitOf(samples, func(s sample) string {
		return fmt.Sprintf("%q %q %q %q %t %g\n", s.turn.Role, s.turn.Speaker, s.turn.Text, s.turn.Caption, s.salient,
			s.weight)
	})}
	for _, s := range samples {
		r.Salient += count(s.salient)
	}
	return r, samples, err
}

// measure sets the threshold of a model, and fills in the figures.
func (r *FilterRecord) measure(m *saliency.Model, f *saliency.Filter) error {
	made, err := madeUp(r.Options.Seed, synthesis.SplitHeldout, r.Options.Persons/4)
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
	m.Threshold = probability4(math.Floor(least*1e4) / 1e4)
	if f, err = saliency.NewFilter(m); err != nil { // turns in unknown words score the threshold
		return err
	}
	r.MadeUp, r.Chosen = figures(f, made, m.Threshold), figures(f, chosen[memory.RoleUser], m.Threshold)
	r.Heldout, r.HeldoutAssistant = figures(f, heldout[memory.RoleUser], m.Threshold),
		figures(f, heldout[memory.RoleAssistant], m.Threshold)
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
	out := FilterFigures{Turns: len(samples)}
	kept, neededKept, dropped := 0, 0, 0
	var salient, others []float64
	for _, s := range samples {
		score := f.Score(s.turn)
		fifth, keeps := &out.Reliability[min(4, int(score*5))], count(score >= threshold)
		fifth[0]++
		dropped += 1 - keeps
		if s.salient {
			fifth[1]++
			kept += keeps
			salient = append(salient, score)
		} else {
			others = append(others, score)
		}
		if s.needed {
			out.Needed++
			neededKept += keeps
		}
	}
	out.Salient, out.AUC = len(salient), auc(salient, others)
	out.Kept, out.Dropped = share(kept, out.Salient), share(dropped, out.Turns)
	out.NeededKept = share(neededKept, out.Needed)
	return out
}
