package training

import (
	"context"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/optimize"

	"github.com/mneme-memory/mneme/lab/supervised"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// fit learns the weights of all regimes. A regime without questions keeps weights 0.
func (d data) fit(ctx context.Context, o supervised.PretrainOptions) (ranking.Weights, error) {
	names := features.Names()
	out := ranking.Weights{
		FeatureSet: o.FeatureSet, W: make([]float32, len(names)), FeatureScale: make([]float32, len(names)),
	}
	for i := range out.FeatureScale {
		out.FeatureScale[i] = 1
	}
	for _, r := range features.Regimes() {
		examples := d.examples(r)
		if len(examples) == 0 {
			continue
		}
		o.NotNegative = nil
		if r == features.Requests {
			o.NotNegative = nearnessOf(r)
		}
		w, err := supervised.Pretrain(ctx, examples, o)
		if err != nil {
			return out, err
		}
		first, _ := r.Span()
		copy(out.W[first:], w.W)
		copy(out.FeatureScale[first:], w.FeatureScale)
		out.W[first] = float32(ranking.Related - d.level(r, out))
	}
	return out, nil
}

// nearness are the numbers that measure how near a memory is to a query. Many of them measure nearly the same thing, so
// free weights for requests set them against each other. On kinds of talk outside the training, a nearer memory lost by
// it. For the other regimes, bounds change nothing.
var nearness = []string{
	"statement", "coverage", "meaning", "near_words", "similarity", "topical", "dialogue", "head", "near_around",
	"focus", "answers", "around", "apart",
}

// nearnessOf returns the places of these numbers among the features of a regime.
func nearnessOf(r features.Regime) []int {
	first, end := r.Span()
	var out []int
	for i, name := range features.Names()[first:end] {
		if slices.Contains(nearness, strings.TrimPrefix(name, r.String()+"_")) {
			out = append(out, i)
		}
	}
	return out
}

// examples returns a regime's training data. Each kind of data has its share, whatever its number.
func (d data) examples(r features.Regime) []supervised.Example {
	var out []supervised.Example
	add := func(share float64, from []recalled, keep func(recalled) bool) {
		var some []supervised.Example
		for _, l := range from {
			if !l.isElsewhere && keep(l) && slices.Contains(l.relevant, true) && slices.Contains(l.relevant, false) {
				some = append(some, l.example(r, 1))
			}
		}
		for i := range some {
			some[i].Weight = share / float64(len(some))
		}
		out = append(out, some...)
	}
	of := func(regime features.Regime) func(recalled) bool {
		return func(l recalled) bool { return l.regime == regime }
	}
	last := len(groupings()) - 1
	switch r {
	case features.Companions:
		add(shareConversations, d.conversations, of(r))
		add(shareTalks, d.talks, of(r))
		add(shareOthers, d.talks, of(features.Questions))
	case features.Questions:
		add(1, d.talks, of(r))
	case features.Requests:
		add(shareDialogues, d.dialogues, of(r))
		add(shareRequests, d.talks, func(l recalled) bool { return l.regime == r && l.grouping < last })
		add(shareRequests, d.talks, func(l recalled) bool { return l.regime == r && l.grouping == last })
		add(shareOthers, d.talks, of(features.Questions))
	}
	return out
}

// level returns the best score at which a question is as likely about this user's memory as about another user's. It is
// a logistic regression of the best scores of both kinds of questions, with equal weight.
func (d data) level(r features.Regime, w ranking.Weights) float64 {
	var best [2][]float64
	first, end := r.Span()
	for _, l := range slices.Concat(d.conversations, d.talks, d.dialogues) {
		if l.regime != r || len(l.cosine) == 0 {
			continue
		}
		most := math.Inf(-1)
		for i, row := range l.as[r] {
			score := float64(l.cosine[i])
			for k, v := range row {
				score += float64(w.W[first:end][k]) * float64(v)
			}
			most = max(most, score)
		}
		if l.isElsewhere {
			best[0] = append(best[0], most)
		} else {
			best[1] = append(best[1], most)
		}
	}
	if len(best[0]) == 0 || len(best[1]) == 0 {
		return 0
	}
	learned := minimise(2, &optimize.Settings{GradientThreshold: 1e-6}, func(g, w []float64) float64 {
		const pull = 1e-3
		loss := pull / 2 * w[1] * w[1]
		if g != nil {
			g[0], g[1] = 0, pull*w[1]
		}
		for kind, scores := range best {
			sign, each := float64(2*kind-1), 1/float64(len(scores))
			for _, s := range scores {
				z := sign * (w[0] + w[1]*s)
				loss += each * math.Log1p(math.Exp(-z))
				if g != nil {
					by := -sign * each / (1 + math.Exp(z))
					g[0], g[1] = g[0]+by, g[1]+by*s
				}
			}
		}
		return loss
	})
	if learned[1] <= 0 {
		return 0
	}
	return -learned[0] / learned[1]
}
