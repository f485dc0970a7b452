package ranking

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/mneme-memory/mneme/shared/fault"
)

// triedExpected is the least expected probability of a citation where a candidate was tried: one in five, as by chance.
// A larger value learns faster where the prior is wrong, but two hundred false reports could then reverse an order.
const triedExpected = 0.2

// Outcome is the effect of a trace on the weights.
type Outcome struct {
	// Rewarded is the number of chosen memories with a known reward, and Cited the number of cited ones among them.
	// Without a rewarded memory the state is unchanged.
	Rewarded, Cited int
	// Stale says that the trace was ranked with another version than the weights it teaches.
	Stale bool
	// FeatureNorm and MapNorm are the lengths of the gradient before it was clipped.
	FeatureNorm, MapNorm float64
	// Stepped says that the batch was full and the weights took a step; Bounded that the trust region shortened it.
	Stepped, Bounded bool
	// Distance is how far the weights are from the prior after it.
	Distance float64
}

// Learn applies the citations of the shown memories, and returns the new state; the given state is unchanged.
//
// RMM's update (equation 3) is eta (R - b) grad log P of the ordered selection. Its text gives each memory a reward,
// +1 for a citation and -1 for a shown memory without one. The equation has one R for the selection. As log P is a sum
// over the places of the selection, each place here has the reward of its memory. The update is the sum of (R_i - b)
// grad log p_i, where p_i is the probability of taking the i-th memory among the remaining ones. Equal rewards give
// the paper's formula.
//
// This is valid for selections that were drawn. Where the best by score were taken (not Explored), grad log P does not
// average to zero. A candidate far down that was not taken is compared with few others, and the update lifts the
// omitted candidates. On synthetic conversations, recall of held-out questions then fell with learning. This was so at
// each rate that moved the weights, also with the mean reward for b. In this case the weights follow the citations
// alone. They go up the mean log probability of taking a cited memory first among the shown and judged ones, which is
// the objective of the prior. The factor is the probability p of taking any cited memory. With one cited memory that is
// the exact gradient of p, the expected reward of a draw. Without the factor, unexpected reports would move the weights
// most. Most of these are errors or false reports, and a few could reverse an order. A selection without a citation
// then has no effect.
//
// Where the last place was given to a candidate to explore (Tried), its citation is unexpected, and is the only
// evidence about such candidates. There p is at least triedExpected, times the inverse of the candidate's propensity.
// On average over the draws, every candidate without a place then counts alike, independent of the weights.
//
// Feature weights go along the natural gradient. Many features are nearly equal, so plain steps are slow along the
// important directions and unstable in the others. The Fisher information of the traces is gathered together with the
// gradient, and a step is (1/FeatureRate + Fisher)^-1 times the mean gradient. The first steps have the length of
// FeatureRate, and later ones are shorter where more is known.
//
// The gradient is clipped and gathered. The Batch-th trace applies the mean as one step of ascent, cut back to the
// trust region around the prior, and makes a new version. Shown memories that the trace did not choose are ignored. A
// cited memory that was not shown is a terminal error, and so are a trace or state of other features (ErrFeatureSet)
// and numbers that are not finite.
func (s Settings) Learn(state State, prior Weights, trace Trace, shown, cited []string) (State, Outcome, error) {
	if err := s.checkLearn(state, prior, trace); err != nil {
		return State{}, Outcome{}, fmt.Errorf("learn: %w", err)
	}
	rewards, err := trace.rewards(shown, cited)
	if err != nil {
		return State{}, Outcome{}, fmt.Errorf("learn: %w", err)
	}
	outcome := Outcome{Stale: trace.WeightsVersion != state.Weights.Version, Distance: state.Weights.Distance(prior)}
	outcome.count(rewards)
	if outcome.Rewarded == 0 {
		return state, outcome, nil
	}
	trace, rewards = trace.judged(rewards)
	g, err := s.gradient(state.Weights, trace, rewards, outcome)
	if err != nil {
		return State{}, Outcome{}, fmt.Errorf("learn: %w", err)
	}
	if norm(g.W) > 0 {
		scores := state.Weights.scores(trace.Query, trace.Candidates)
		g.fisher = state.Weights.curvature(trace, scores, prior.scale, s.Temperature)
	}
	for i := range g.W {
		g.W[i] /= prior.scale(i)
	}
	if s.LearningRate == 0 || s.MapRadius == 0 {
		g.Aq, g.Am = nil, nil
	}
	outcome.FeatureNorm, outcome.MapNorm = norm(g.W), norm(g.Aq, g.Am)
	state.Pending = state.Pending.plus(g, s.ClipNorm)
	state.Pending.Fisher = add(state.Pending.Fisher, g.fisher, 1)
	state.Learned++
	if state.Pending.Count >= s.Batch {
		state, outcome.Bounded = s.step(state, prior)
		outcome.Stepped, outcome.Distance = true, state.Weights.Distance(prior)
	}
	return state, outcome, nil
}

// count counts the known rewards.
func (o *Outcome) count(rewards []float64) {
	for _, reward := range rewards {
		if reward != 0 {
			o.Rewarded++
		}
		if reward == citedReward {
			o.Cited++
		}
	}
}

// gradient returns the gradient of the rewards: by the order of a drawn selection, else by the citations.
func (s Settings) gradient(w Weights, t Trace, rewards []float64, known Outcome) (Gradient, error) {
	if t.Explored {
		advantages := make([]float64, len(rewards))
		for i, reward := range rewards {
			if reward != 0 {
				advantages[i] = reward - s.Baseline
			}
		}
		return w.Gradient(t, advantages, s.Temperature)
	}
	scores, err := w.Scores(t.Query, t.Candidates)
	if err != nil || known.Cited == 0 {
		return Gradient{W: make([]float64, len(w.W))}, err
	}
	// The gradient of the mean log probability of the cited candidates. Rewards are in the order of the candidates.
	expected := 0.0
	byScore := softmax(scores, s.Temperature)
	for i, share := range byScore {
		byScore[i] = -share / s.Temperature
		if rewards[i] == citedReward {
			expected += share
			byScore[i] += 1 / (float64(known.Cited) * s.Temperature)
		}
	}
	if t.Tried.Place > 0 {
		expected = max(expected, triedExpected) * t.Tried.weight()
	}
	floats.Scale(expected, byScore)
	return w.chain(t.Query, t.Candidates, byScore), nil
}

// judged returns the part of a trace and its rewards that learning uses: all of a drawn one. Of another it returns the
// shown and judged memories, in that order, since it is unknown whether other memories would have been cited.
func (t Trace) judged(rewards []float64) (Trace, []float64) {
	if t.Explored {
		return t, rewards
	}
	if t.Tried.Place > 0 && rewards[t.Tried.Place-1] == 0 {
		t.Tried = Tried{} // the profile left it out
	}
	all, shown, known := t.Candidates, t.Shown, []float64(nil)
	t.Candidates, t.Shown = nil, nil
	for i, reward := range rewards {
		if reward != 0 {
			t.Shown, known = append(t.Shown, len(known)), append(known, reward)
			t.Candidates = append(t.Candidates, all[shown[i]])
		}
	}
	return t, known
}

// checkLearn refuses inputs that do not fit together.
func (s Settings) checkLearn(state State, prior Weights, trace Trace) error {
	if err := s.Validate(); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	if err := state.Validate(); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	if err := prior.Validate(); err != nil {
		return fmt.Errorf("prior: %w", err)
	}
	if err := trace.Validate(); err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	if prior.FeatureSet != state.Weights.FeatureSet || len(prior.W) != len(state.Weights.W) {
		return fault.Terminal("state.weights.feature_set", "is %q with %d features, want %q with %d as the prior: %w",
			state.Weights.FeatureSet, len(state.Weights.W), prior.FeatureSet, len(prior.W), ErrFeatureSet)
	}
	if trace.FeatureSet != prior.FeatureSet {
		return fault.Terminal("trace.feature_set", "is %q, want %q: %w", trace.FeatureSet, prior.FeatureSet, ErrFeatureSet)
	}
	for _, rank := range []int{state.Weights.rank(), state.Pending.rank(), len(trace.Query)} {
		if mine := max(state.Weights.rank(), prior.rank(), state.Pending.rank()); rank != 0 && mine != 0 && rank != mine {
			return fault.Terminal("trace.query", "has %d numbers, and there are maps of %d and %d rows; want one rank",
				len(trace.Query), rank, mine)
		}
	}
	return nil
}

func (p Pending) rank() int { return Weights{Aq: p.Aq}.rank() }

// plus adds a gradient, clipped, to the sum.
func (p Pending) plus(g Gradient, clip float64) Pending {
	features, maps := shorten(norm(g.W), clip), shorten(norm(g.Aq, g.Am), clip)
	return Pending{Count: p.Count + 1, Fisher: p.Fisher, W: add(p.W, g.W, features), Aq: add(p.Aq, g.Aq, maps),
		Am: add(p.Am, g.Am, maps)}
}

// shorten is the factor that makes a length at most most.
func shorten(length, most float64) float64 {
	if length <= most {
		return 1
	}
	return most / length
}

// add returns sum + by*g as a new slice; empty ones are zero.
func add(sum []float32, g []float64, by float64) []float32 {
	if len(g) == 0 {
		return slices.Clone(sum)
	}
	out := make([]float32, len(g))
	for i, x := range g {
		total := x * by
		if len(sum) != 0 {
			total += float64(sum[i])
		}
		out[i] = float32(total)
	}
	return out
}

// step applies the mean of the pending gradients, inside the trust region around the prior.
func (s Settings) step(state State, prior Weights) (next State, bounded bool) {
	w, mean := state.Weights.Clone(), 1/float64(state.Pending.Count)
	w.Version++
	w.FeatureScale = slices.Clone(prior.FeatureScale)
	offset := difference(w.W, prior.W)
	for i := range offset {
		offset[i] *= prior.scale(i)
	}
	fisher := gathered(state.Fisher, state.Pending.Fisher, mean)
	offset = moved(offset, uphill(fisher, state.Pending.W, s.FeatureRate), mean)
	shrink := shorten(norm(offset), s.FeatureRadius)
	for i := range offset {
		w.W[i] = float32(float64(prior.W[i]) + offset[i]*shrink/prior.scale(i))
	}
	aq := moved(difference(w.Aq, prior.Aq), state.Pending.Aq, s.LearningRate*mean)
	am := moved(difference(w.Am, prior.Am), state.Pending.Am, s.LearningRate*mean)
	shrinkMaps := shorten(norm(aq, am), s.MapRadius)
	w.Aq, w.Am = add(prior.Aq, aq, shrinkMaps), add(prior.Am, am, shrinkMaps)
	return State{Weights: w, Learned: state.Learned, Fisher: fisher}, math.Min(shrink, shrinkMaps) < 1
}

// gathered returns the known curvature with the curvature of a step's traces.
func gathered(known, pending []float32, mean float64) []float32 {
	if len(pending) == 0 {
		return known
	}
	out := make([]float32, len(pending))
	for i, x := range pending {
		out[i] = float32(float64(x) * mean)
		if len(known) != 0 {
			out[i] += float32(memory * float64(known[i]))
		}
	}
	return out
}

// moved returns from + rate*along; empty ones are zero.
func moved(from []float64, along []float32, rate float64) []float64 {
	if len(along) == 0 {
		return from
	}
	out := make([]float64, len(along))
	copy(out, from)
	axpy(out, rate, along)
	return out
}
