package practice

import (
	"context"
	"fmt"

	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/lab/supervised"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// recallDepth is the number of memories in the recall of a Quality.
const recallDepth = 5

// quality measures weights on questions.
func quality(of []exercise, w ranking.Weights, shown int) (Quality, error) {
	orders := make([][]string, len(of))
	for i, e := range of {
		scores, err := w.Scores(e.asked, e.read)
		if err != nil {
			return Quality{}, fmt.Errorf("score candidates: %w", err)
		}
		for _, place := range ranking.Top(e.read, scores, len(scores)) {
			orders[i] = append(orders[i], e.read[place].ID)
		}
	}
	return meanQuality(of, orders, shown), nil
}

// best returns the quality of orders that put memories with evidence first, the most evidence first.
func best(of []exercise, shown int) Quality {
	orders := make([][]string, len(of))
	for i, e := range of {
		orders[i] = e.best()
	}
	return meanQuality(of, orders, shown)
}

func (e exercise) best() (ids []string) {
	missing, left := map[int]bool{}, map[string]bool{}
	for i := range e.evidence {
		missing[i] = true
	}
	for id := range e.covers {
		left[id] = true
	}
	for len(left) > 0 {
		id := most(e, left, missing)
		delete(left, id)
		for _, turn := range e.covers[id] {
			delete(missing, turn)
		}
		ids = append(ids, id)
	}
	return ids
}

// most returns the memory among those left that covers the most missing evidence.
func most(e exercise, left map[string]bool, missing map[int]bool) (found string) {
	top := -1
	for _, c := range e.read {
		if !left[c.ID] {
			continue
		}
		n := 0
		for _, turn := range e.covers[c.ID] {
			if missing[turn] {
				n++
			}
		}
		if n > top {
			found, top = c.ID, n
		}
	}
	return found
}

// meanQuality returns the mean quality of an order of each question's memories.
func meanQuality(of []exercise, orders [][]string, shown int) (s Quality) {
	useful, all := 0, 0
	for q, e := range of {
		covered := map[int]bool{}
		for i, id := range orders[q] {
			if i < recallDepth {
				for _, turn := range e.covers[id] {
					covered[turn] = true
				}
			}
			if i < shown && len(e.covers[id]) > 0 {
				useful++
			}
		}
		all += min(shown, len(e.read))
		s.Recall5 += score.Share(len(covered), e.evidence) / float64(len(of))
	}
	s.Useful = score.Share(useful, all)
	return s
}

// describe describes a tenant, and measures the most that it can learn.
func (p *practice) describe(ctx context.Context, o Options) (Tenant, error) {
	examples := make([]supervised.Example, len(p.streamed))
	for i, e := range p.streamed {
		for _, c := range e.read {
			examples[i].Features = append(examples[i].Features, c.Features)
			examples[i].Cosine = append(examples[i].Cosine, c.Cosine)
			examples[i].Relevant = append(examples[i].Relevant, len(e.covers[c.ID]) > 0)
		}
	}
	training := supervised.DefaultPretrainOptions(features.FeatureSet)
	w, err := supervised.Pretrain(ctx, examples, training)
	if err != nil {
		return Tenant{}, fmt.Errorf("supervised weights of %s: %w", p.name, err)
	}
	supervised, err := quality(p.held, w, o.Shown)
	return Tenant{
		Name: p.name, Habits: p.habits, Streamed: len(p.streamed), HeldOut: len(p.held),
		Best: best(p.held, o.Shown), Supervised: supervised,
	}, err
}
