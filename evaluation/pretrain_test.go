package evaluation_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/evaluation"
	"github.com/mneme-memory/mneme/evaluation/synthesis/questions"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

func TestTrainingThePriorIsDeterministic(t *testing.T) {
	o := evaluation.PriorDefaults()
	o.Conversations = 2
	var files [2][]byte
	for i := range files {
		p, r, err := evaluation.TrainPrior(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if files[i], err = ranking.EncodePrior(p); err != nil {
			t.Fatal(err)
		}
		// Chance would find some 3 % among the first ten.
		if r.Questions < 50 || r.Heldout < 20 || r.Recall10 < 0.4 || r.Recall5 > r.Recall10 || r.Recall10 > r.Recall20 {
			t.Errorf("report %+v", r)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two trainings differ")
	}
}

func TestTrainingThePriorRefusesWhatCannotBe(t *testing.T) {
	for name, change := range map[string]func(*evaluation.PriorOptions){
		"nothing": func(o *evaluation.PriorOptions) { o.Conversations = 0 }, "a rate": func(o *evaluation.PriorOptions) { o.Rates.More = 2 },
	} {
		o := evaluation.PriorDefaults()
		change(&o)
		if _, _, err := evaluation.TrainPrior(t.Context(), o); !fault.IsTerminal(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestRehearsalKnowsTheEvidence forms a made-up conversation: most evidence is remembered, and weights that know the answer find all that is.
func TestRehearsalKnowsTheEvidence(t *testing.T) {
	g, err := questions.New(questions.Options{Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	s := evaluation.FromQuestions(g.Conversation(0), "acme")
	p := evaluation.Pipeline{Filter: saliency.NewTrained(), Former: salimory.NewEmbedded(), Strategy: salimory.Name, Embedder: builtin.New()}
	all, err := evaluation.Rehearse(t.Context(), p, wordvector.Shipped(), s)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(s.Questions) {
		t.Fatalf("%d questions of %d", len(all), len(s.Questions))
	}
	found := 0.0
	for _, r := range all {
		oracle := ranking.Weights{FeatureSet: features.FeatureSet, W: []float32{1}}
		for i, relevant := range r.Example.Relevant {
			r.Example.Features[i], r.Example.Cosine[i] = []float32{0}, 0
			if relevant {
				r.Example.Features[i] = []float32{1}
			}
		}
		at, err := r.RecallAt(oracle, 1, 7)
		if err != nil {
			t.Fatal(err)
		}
		if at[0] > at[1] || slices.Contains(r.Example.Relevant, true) != (at[0] > 0) {
			t.Errorf("%q: recall %v with %d turns of evidence", r.Question.Text, at, len(r.Question.Evidence))
		}
		found += at[1] / float64(len(all))
	}
	if found < 0.9 {
		t.Errorf("%.2f of the evidence is remembered", found)
	}
}
