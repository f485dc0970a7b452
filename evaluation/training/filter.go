// Package training makes the shipped models (saliency filter, judge of changes, shared prior of the reranker) from synthetic
// dialogues. The same options give the same bytes.
package training

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/mneme-memory/mneme/evaluation/synthesis"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
)

// FilterVersion names the models that this package makes.
const FilterVersion = "embedded-filter/2"

// FilterOptions are what a model is made from. They are recorded in it.
type FilterOptions struct {
	// Seed chooses the people and the variations.
	Seed uint64 `json:"seed"`
	// Persons is how many people's dialogues are learned from, at least 4. A quarter as many again, with other
	// words and phrasings, are held out to set the threshold.
	Persons int `json:"persons"`
	// Recall is the share of the held-out salient turns that the threshold keeps, between 0 and 1.
	Recall float64 `json:"recall"`
	// RecallWeight is the share of the loss that salient turns have; the rest is the others'. SaliMory weighs recall by 0.6.
	RecallWeight float64 `json:"recall_weight"`
	// Ridge is the weight of the squared weights.
	Ridge float64 `json:"ridge"`
}

// FilterDefaults are the options of the model that the binary carries.
func FilterDefaults() FilterOptions {
	return FilterOptions{Seed: 1, Persons: 44, Recall: 0.976, RecallWeight: 0.6, Ridge: 1e-3}
}

func (o FilterOptions) check() error {
	switch {
	case o.Persons < 4 || o.Persons > 100_000:
		return fault.Terminal("persons", "is %d, want 4 to 100000", o.Persons)
	case !(o.Recall > 0 && o.Recall < 1):
		return fault.Terminal("recall", "is %v, want more than 0 and less than 1", o.Recall)
	case !(o.RecallWeight > 0 && o.RecallWeight < 1):
		return fault.Terminal("recall-weight", "is %v, want more than 0 and less than 1", o.RecallWeight)
	case !(o.Ridge > 0 && o.Ridge < 1e3):
		return fault.Terminal("ridge", "is %v, want more than 0", o.Ridge)
	}
	return nil
}

// FilterRecord says what a model was made from and what came out; it stands in the model's file.
type FilterRecord struct {
	Options FilterOptions `json:"options"`
	// Turns and Salient count the training data, Heldout and HeldoutSalient the held-out data.
	Turns          int `json:"turns"`
	Salient        int `json:"salient"`
	Heldout        int `json:"heldout"`
	HeldoutSalient int `json:"heldout_salient"`
	// Loss is the mean weighted logistic loss on the training data.
	Loss float64 `json:"loss"`
	// AUC, Kept and Dropped are measured on the held-out data: the area under the ROC curve, the share of salient turns
	// at or above the threshold, and the share of the others below it.
	AUC     float64 `json:"auc"`
	Kept    float64 `json:"kept"`
	Dropped float64 `json:"dropped"`
}

// Filter makes a model. Its errors are terminal: an option out of range.
func Filter(o FilterOptions) (saliency.Model, FilterRecord, error) {
	if err := o.check(); err != nil {
		return saliency.Model{}, FilterRecord{}, err
	}
	learn, err := collect(o, synthesis.SplitTrain, o.Persons)
	if err != nil {
		return saliency.Model{}, FilterRecord{}, err
	}
	heldout, err := collect(o, synthesis.SplitHeldout, o.Persons/4)
	if err != nil {
		return saliency.Model{}, FilterRecord{}, err
	}
	f := fit(learn, fitOptions{recallWeight: o.RecallWeight, ridge: o.Ridge, signs: signs()})
	f.round()
	m := saliency.Model{Version: FilterVersion, Bias: f.bias, Weights: map[string]float64{}}
	for i, name := range saliency.FeatureNames() {
		if f.weights[i] != 0 {
			m.Weights[name] = f.weights[i]
		}
	}
	r := FilterRecord{
		Options: o, Turns: len(learn), Salient: salient(learn), Heldout: len(heldout), HeldoutSalient: salient(heldout), Loss: rounded(f.loss),
	}
	m.Threshold = r.measure(f, heldout)
	if m.Training, err = json.Marshal(r); err != nil {
		return saliency.Model{}, FilterRecord{}, fmt.Errorf("record training: %w", err)
	}
	return m, r, nil
}

// EncodeFilter returns the bytes of a model's file.
func EncodeFilter(m saliency.Model) ([]byte, error) {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode model: %w", err)
	}
	return append(b, '\n'), nil
}

func salient(samples []sample) int {
	n := 0
	for _, s := range samples {
		if s.salient {
			n++
		}
	}
	return n
}

// rounded keeps four decimals, so that the last bits of a processor's arithmetic do not reach the file.
func rounded(x float64) float64 { return math.Round(x*1e4) / 1e4 }

func (f *fitted) round() {
	f.bias = rounded(f.bias)
	for i, w := range f.weights {
		f.weights[i] = rounded(w)
	}
}

func (f *fitted) score(x []float64) float64 {
	sum := f.bias
	for i, v := range x {
		sum += float64(v * f.weights[i])
	}
	return logistic(sum)
}

// measure scores the held-out samples, fills in the record, and returns the threshold.
func (r *FilterRecord) measure(f fitted, samples []sample) float64 {
	type scored struct {
		score   float64
		salient bool
	}
	all := make([]scored, len(samples))
	for i, s := range samples {
		all[i] = scored{f.score(s.x), s.salient}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	miss := int(math.Floor((1 - r.Options.Recall) * float64(r.HeldoutSalient)))
	threshold, salientBelow, othersBelow, pairs := 0.0, 0, 0, 0.0
	for _, s := range all {
		if !s.salient {
			othersBelow++
			continue
		}
		if salientBelow == miss {
			threshold = max(1e-4, math.Floor(s.score*1e4)/1e4)
		}
		salientBelow++
		pairs += float64(othersBelow)
	}
	others := r.Heldout - r.HeldoutSalient
	r.AUC = rounded(pairs / (float64(r.HeldoutSalient) * float64(others)))
	kept, dropped := 0, 0
	for _, s := range all {
		switch {
		case s.salient && s.score >= threshold:
			kept++
		case !s.salient && s.score < threshold:
			dropped++
		}
	}
	r.Kept = rounded(float64(kept) / float64(r.HeldoutSalient))
	r.Dropped = rounded(float64(dropped) / float64(others))
	return threshold
}
