package ranking_test

import (
	"fmt"
	"testing"

	"github.com/mneme-memory/mneme/shared/ranking"
)

// TestAdversarialReportsHardlyMoveTheWeights has two hundred reports that cite the last shown memory. The weights
// rank that memory there for good reason, or it was shown to explore.
func TestAdversarialReportsHardlyMoveTheWeights(t *testing.T) {
	for name, share := range map[string]float64{"by score": 0, "exploring": 0.2} {
		t.Run(name, func(t *testing.T) { testAdversarialReports(t, share) })
	}
}

func testAdversarialReports(t *testing.T, share float64) {
	t.Helper()
	p := ranking.Weights{FeatureSet: set, W: []float32{2, 1}, FeatureScale: []float32{1, 1}}
	s, random, state := ranking.DefaultSettings(), source(5), ranking.NewState(p)
	for n := range 200 {
		tr := ranking.Trace{RecallID: fmt.Sprint("r", n), FeatureSet: set}
		for i := range 12 {
			f := []float32{random.Float32() * 2, random.Float32()}
			tr.Candidates = append(tr.Candidates, ranking.Candidate{ID: fmt.Sprint("m", i), Features: f})
		}
		scores, err := state.Weights.Scores(nil, tr.Candidates)
		if err != nil {
			t.Fatal(err)
		}
		tr.Shown = ranking.Top(tr.Candidates, scores, 5)
		if random.Float64() < share {
			tr.Shown, tr.Tried = s.Try(random, scores, tr.Shown)
		}
		if state, _, err = s.Learn(state, p, tr, ids(tr), ids(tr)[4:]); err != nil {
			t.Fatal(err)
		}
	}
	if w := state.Weights; w.Version != 50 || w.W[0] < 1.5 || w.W[1] < 0.5 {
		t.Errorf("version %d has the weights %v, want about 2 and 1", w.Version, w.W)
	}
}
