package reinforcement

import (
	"context"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/rehearsal"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// mayFall is the largest fall of a measure of conversations for a released policy, as a share. Learning on made-up
// lives must not cost elsewhere.
const mayFall = 0.005

// Compared is a measure of a policy and of the rules, both 0 to 1.
type Compared struct {
	Measure string  `json:"measure"`
	Rules   float64 `json:"rules"`
	Policy  float64 `json:"policy"`
	// MayFall is the largest allowed fall below the rules' measure.
	MayFall float64 `json:"may_fall"`
}

// Met reports whether the measure allows a release.
func (c Compared) Met() bool { return c.Policy >= c.Rules-c.MayFall-1e-9 }

// CompareRelease measures the conditions of a release. On conversations with evidence for their questions it measures
// three shares. They are the answers that memories contain, the evidence that the filter keeps, and the evidence
// among the first ten memories. On made-up people it measures the updates that hit. These people tell facts that
// people typed, in words outside the training data.
func CompareRelease(
	ctx context.Context, p *decision.Policy, conversations []dataset.Subject, persons int,
) ([]Compared, error) {
	asked := 0
	for _, s := range conversations {
		asked += len(s.Questions)
	}
	if asked == 0 {
		return nil, fault.Terminal("conversations", "have no questions, want some with evidence")
	}
	phrasings, err := corpus.Phrasings(corpus.Heldout)
	if err != nil {
		return nil, err
	}
	people, err := synthesis.Generate(synthesis.Options{
		Seed: heldSeeds, Persons: persons, Sessions: Defaults().Sessions, Split: synthesis.SplitHeldout, Phrasings: phrasings,
	})
	if err != nil {
		return nil, err
	}
	e, known := embedding.Cached(builtin.New(), 50_000), newKnown()
	measures := func(choose decision.Chooser) (map[string]float64, error) {
		out, err := onConversations(ctx, newMaker(e).withChooser(choose, "measured"), conversations)
		if err != nil {
			return nil, err
		}
		m, err := measure(ctx, choose, people, known, decided(choose))
		out[updatesHit] = m.UpdateHits
		return out, err
	}
	rules, err := measures(decision.Rules{})
	if err != nil {
		return nil, err
	}
	own, err := measures(p)
	if err != nil {
		return nil, err
	}
	var out []Compared
	for _, name := range []string{answersContained, evidenceKept, recallAt10} {
		out = append(out, Compared{name, rules[name], own[name], mayFall})
	}
	return append(out, Compared{updatesHit, rules[updatesHit], own[updatesHit], 0}), nil
}

// The measures of CompareRelease.
const (
	answersContained = "answers contained"
	evidenceKept     = "evidence turns kept"
	recallAt10       = "evidence among ten"
	updatesHit       = "updates that hit, as others typed"
)

func onConversations(
	ctx context.Context, by formation.Pipeline, conversations []dataset.Subject,
) (map[string]float64, error) {
	prior, err := features.Prior()
	if err != nil {
		return nil, err
	}
	lives := make([]formation.Formed, len(conversations))
	recalled := make([][]float64, len(conversations))
	err = each(ctx, len(conversations), func(ctx context.Context, i int) error {
		l, err := by.Begin(conversations[i])
		if err != nil {
			return err
		}
		for l.Next() != nil {
			if err := l.Step(ctx); err != nil {
				return err
			}
		}
		if lives[i], err = l.Formed(ctx); err != nil {
			return err
		}
		keep := func(r rehearsal.Rehearsed) error {
			at, err := r.RecallAt(prior.Weights, 10)
			recalled[i] = append(recalled[i], at...)
			return err
		}
		return rehearsal.Retrieve(ctx, by.Embedder, l.Bank(), conversations[i], prior.Weights.W, ranking.MaxCandidates, keep)
	})
	if err != nil {
		return nil, err
	}
	tally, sum, n := formation.NewTally(), 0.0, 0
	for i, s := range conversations {
		tally.Add(s, lives[i])
		for _, r := range recalled[i] {
			sum, n = sum+r, n+1
		}
	}
	m := tally.Measures()
	return map[string]float64{
		answersContained: m.Containment, evidenceKept: m.KeptEvidence, recallAt10: sum / float64(max(1, n)),
	}, nil
}
