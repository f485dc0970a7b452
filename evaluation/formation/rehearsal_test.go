package formation_test

import (
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/evaluation/synthesis/questions"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// A made-up conversation is formed: most evidence is remembered, and weights that know the answer find all that is.
func TestRehearsalKnowsTheEvidence(t *testing.T) {
	g, err := questions.New(questions.Options{Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	subjects := g.Subjects("acme")
	s, weights := subjects[0], make([]float32, len(features.Names()))
	rehearsed, err := formation.Rehearse(t.Context(), subjects, weights, 0,
		func(_ dataset.Subject, r formation.Rehearsed) (formation.Rehearsed, error) { return r, nil })
	if err != nil {
		t.Fatal(err)
	}
	all := rehearsed[0]
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
