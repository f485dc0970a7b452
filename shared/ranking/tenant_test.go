package ranking_test

import (
	"math/rand/v2"
	"testing"

	"github.com/mneme-memory/mneme/shared/ranking"
)

// simulatedTenant is a tenant whose generator cites by weights that the prior does not have.
type simulatedTenant struct {
	random *rand.Rand
	truth  ranking.Weights
}

// query makes 20 candidates and names the two best by the tenant's weights.
func (u simulatedTenant) query(t *testing.T, width int) (ranking.Trace, map[string]bool) {
	tr := trace(u.random, 20, 4, width, 0)
	scores, err := u.truth.Scores(tr.Query, tr.Candidates)
	if err != nil {
		t.Fatal(err)
	}
	useful := map[string]bool{}
	for _, i := range ranking.Top(tr.Candidates, scores, 2) {
		useful[tr.Candidates[i].ID] = true
	}
	return tr, useful
}

// found is the share of useful memories among the 5 best, over 400 queries.
func (u simulatedTenant) found(t *testing.T, w ranking.Weights, width int) float64 {
	u.random = source(77)
	hits := 0
	for range 400 {
		tr, useful := u.query(t, width)
		scores, err := w.Scores(tr.Query, tr.Candidates)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range ranking.Top(tr.Candidates, scores, 5) {
			if useful[tr.Candidates[i].ID] {
				hits++
			}
		}
	}
	return float64(hits) / 800
}

// start is a prior without the tenant's preference.
func start() []float32 { return []float32{1, 0, 0, 0} }

// after learns from so many recalls, drawn or by score.
func (u simulatedTenant) after(
	t *testing.T, s ranking.Settings, from []float32, recalls, width int, explore bool,
) ranking.Weights {
	start := ranking.Weights{FeatureSet: set, W: from}
	state := ranking.NewState(start)
	for range recalls {
		tr, useful := u.query(t, width)
		scores, err := state.Weights.Scores(tr.Query, tr.Candidates)
		if err != nil {
			t.Fatal(err)
		}
		tr.Shown, tr.Explored, tr.WeightsVersion = ranking.Top(tr.Candidates, scores, 5), explore, state.Weights.Version
		if explore {
			tr.Shown = s.Sample(u.random, tr.Candidates, scores, 5)
		}
		var cited []string
		for _, id := range ids(tr) {
			if useful[id] {
				cited = append(cited, id)
			}
		}
		if state, _, err = s.Learn(state, start, tr, ids(tr), cited); err != nil {
			t.Fatal(err)
		}
	}
	return state.Weights
}

// TestLearningFindsWhatATenantPrefers checks that citations alone, under the default settings, turn the order towards
// a feature that the prior does not use. It also checks that a prior with this preference stays as it is.
func TestLearningFindsWhatATenantPrefers(t *testing.T) {
	s := ranking.DefaultSettings()
	truth := ranking.Weights{W: []float32{1, 2, 0, -1}}
	for name, explore := range map[string]bool{"exploring": true, "by score": false} {
		t.Run(name, func(t *testing.T) {
			u := simulatedTenant{source(20), truth}
			before, after := u.found(t, u.after(t, s, start(), 0, 0, explore), 0),
				u.found(t, u.after(t, s, start(), 800, 0, explore), 0)
			t.Logf("found %.3f before, %.3f after 800 recalls", before, after)
			if after < before+0.1 {
				t.Errorf("found %.3f of the useful memories before and %.3f after", before, after)
			}
			if kept := u.found(t, u.after(t, s, truth.W, 2000, 0, explore), 0); kept < 0.98 {
				t.Errorf("a prior that finds all finds %.3f after 2000 recalls", kept)
			}
		})
	}
}

// TestLearningFindsAMap does the same for directions of the embedding that the features do not cover.
func TestLearningFindsAMap(t *testing.T) {
	const width = 4
	truth := ranking.Weights{W: []float32{1, 0, 0, 0}, Aq: make([]float32, width*width), Am: make([]float32, width*width)}
	for i := range width {
		truth.Aq[i*width+i] = 2
	}
	s := ranking.DefaultSettings()
	s.LearningRate, s.MapRadius = 1e-2, 4
	u := simulatedTenant{source(20), truth}
	before, after := u.found(t, u.after(t, s, start(), 0, width, true), width),
		u.found(t, u.after(t, s, start(), 800, width, true), width)
	t.Logf("found %.3f before, %.3f after 800 recalls", before, after)
	if after < before+0.1 {
		t.Errorf("found %.3f of the useful memories before and %.3f after", before, after)
	}
}
