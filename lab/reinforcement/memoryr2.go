package reinforcement

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/lab/learning"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/decision"
)

// MemoryR2 tries local and global groups (arXiv 2605.21768). First, without training, it compares the advantages of
// each with the value of the draws. Then it trains, with a curriculum and with long lives alone.
func MemoryR2(ctx context.Context, o ExperimentOptions) (Experiment, error) {
	const claim = "groups that begin at one state credit a session better than whole lives; so does a curriculum"
	out := Experiment{Paper: "memory-r2", Claim: claim}
	if err := o.Validate(); err != nil {
		return out, err
	}
	credits, err := o.credits(ctx)
	if err != nil {
		return out, err
	}
	share := func(local float64) func(*Options) {
		return func(o *Options) { o.Reward, o.Group, o.Local, o.Chance = RewardHorizon, max(2, o.Group/2), local, 1 }
	}
	// Both have the same number of session steps. The curriculum has equal steps of each length, so longer lives are
	// fewer. The other arm has all steps in the longest lives.
	curriculum := learning.Curriculum(o.Options.Sessions, o.Long)
	var long []int
	for times := 1; times <= o.Long; times *= 2 {
		long = append(long, o.Long*o.Options.Sessions)
	}
	lengths := func(lengths []int) func(*Options) {
		return func(o *Options) {
			share(0.5)(o)
			o.Lengths = lengths
		}
	}
	arms, err := o.trained(ctx, []training{
		{"mixed", share(0.5)}, {"global alone", share(0)}, {"local alone", share(1)},
		{"long lives", lengths(long)}, {"curriculum", lengths(curriculum)}, {"untrained", nil},
	})
	out.Arms = append(credits, arms...)
	return out, err
}

// credited has draws of a session with their estimated and true values.
type credited struct {
	estimated, true []float64
	taken           []map[decision.Role][]decision.Choice
	groups, same    int
}

func (c *credited) add(estimates, truths []float64, taken []map[decision.Role][]decision.Choice) {
	advantages, varied := learning.Advantages(estimates)
	c.groups++
	if !varied {
		c.same++
	}
	c.estimated, c.true = append(c.estimated, advantages...), append(c.true, truths...)
	c.taken = append(c.taken, taken...)
}

// credits compares advantages with the value of draws. The value takes equal numbers of continuations from the states
// after and before a draw.
func (o ExperimentOptions) credits(ctx context.Context) ([]Arm, error) {
	names := []string{"credit: local, scored at once", "credit: local, scored at the end", "credit: global"}
	trials := make([]trial, len(names)*o.Seeds)
	done := o.progress(o.Seeds)
	err := each(ctx, o.Seeds, func(ctx context.Context, seed int) error {
		found, err := o.creditsOf(ctx, seed)
		for i := range found {
			trials[i*o.Seeds+seed] = trial{measures: found[i]}
		}
		done()
		return err
	})
	if err != nil {
		return nil, err
	}
	return reports("", names, trials), nil
}

func (o ExperimentOptions) creditsOf(ctx context.Context, seed int) ([]map[string]float64, error) {
	p := o.Options
	p.Seed, p.Weak, p.Reward = uint64(seed)+1, true, RewardHorizon //nolint:gosec // not negative
	p.Group = max(2, p.Group/2)
	made, err := synthesis.New(synthesis.Options{Seed: p.Seed, Persons: 1, Sessions: p.Sessions, Clean: true})
	if err != nil {
		return nil, err
	}
	someone, m, err := newKnown().person(ctx, made.Person(0))
	if err != nil {
		return nil, err
	}
	r := &roller{o: p, person: someone, policy: StartPolicy(p), reference: StartPolicy(p), maker: m}
	wholes := make([]whole, p.Group)
	for i := range wholes {
		if wholes[i], err = r.wholeLife(ctx, i); err != nil {
			return nil, err
		}
	}
	var atOnce, atEnd, global credited
	for _, s := range []int{p.Sessions / 4, p.Sessions / 2} {
		if len(someone.stillAsked(s)) == 0 {
			continue
		}
		if err := r.compare(ctx, s, o.Continuations, wholes, &atOnce, &atEnd, &global); err != nil {
			return nil, err
		}
	}
	return []map[string]float64{r.quality(atOnce), r.quality(atEnd), r.quality(global)}, nil
}

// compare adds a session's groups: a local group from the first life's state before it, and the group of all lives. A
// draw that is scored at once takes one session step. So does a draw of a whole life, which is a draw of each of its
// sessions. A draw that is scored at the end takes all remaining sessions of the life.
func (r *roller) compare(ctx context.Context, session, times int, wholes []whole, atOnce, atEnd, global *credited) error {
	n := r.o.Group
	questions := r.person.about(session, session+1, perSession)
	base, err := r.value(ctx, wholes[0].before[session], session, times, 1)
	if err != nil {
		return err
	}
	var now, end, truths []float64
	var taken []map[decision.Role][]decision.Choice
	for i := range n {
		d, err := r.drawn(ctx, wholes[0].before[session], 1, r.random(session, 1000+i))
		if err != nil {
			return err
		}
		a, err := r.person.ask(ctx, d.life, questions, session)
		if err != nil {
			return err
		}
		once, err := r.value(ctx, d.life, session, 1, 50_000+i)
		if err != nil {
			return err
		}
		value, err := r.value(ctx, d.life, session, times, 2+i)
		if err != nil {
			return err
		}
		now, end = append(now, float64(a.right())/float64(len(questions))), append(end, once)
		truths, taken = append(truths, value-base), append(taken, d.taken)
	}
	atOnce.add(now, truths, taken)
	atEnd.add(end, truths, taken)
	var returns []float64
	truths, taken = nil, nil
	for i, w := range wholes {
		rewards, err := r.horizons(ctx, w.last)
		if err != nil {
			return err
		}
		after := w.last
		if session+1 < len(w.before) {
			after = w.before[session+1]
		}
		value, err := r.value(ctx, after, session, times, 100+i)
		if err != nil {
			return err
		}
		own, err := r.value(ctx, w.before[session], session, times, 200+i)
		if err != nil {
			return err
		}
		returns, truths, taken = append(returns, rewards[session]), append(truths, value-own), append(taken, w.taken[session])
	}
	global.add(returns, truths, taken)
	return nil
}

// value returns the mean reward of a session over continuations from a state to the end of the life.
func (r *roller) value(ctx context.Context, from *formation.Life, session, times, use int) (float64, error) {
	rewards := make([]float64, times)
	err := each(ctx, times, func(ctx context.Context, i int) error {
		d, err := r.drawn(ctx, from, len(r.person.Sessions), r.random(1000+session, use*1000+i))
		if err != nil {
			return err
		}
		all, err := r.horizons(ctx, d.life)
		if err != nil {
			return err
		}
		rewards[i] = all[session]
		return nil
	})
	return stat.Mean(rewards, nil), err
}

// quality measures how near estimates are to the truth. It returns the correlation of ranks, the cosine of both
// gradients, and the share of groups with equal rewards. Without draws it returns no figures. With equal true values,
// a correlation is 0.
func (r *roller) quality(c credited) map[string]float64 {
	if len(c.true) < 2 {
		return nil
	}
	out := map[string]float64{
		"rank_correlation": 0, "gradient_cosine": cosine(r.gradient(c.taken, c.estimated), r.gradient(c.taken, c.true)),
		"same_reward": float64(c.same) / float64(max(1, c.groups)),
	}
	truth := standard(c.true)
	differences := make([]float64, len(truth))
	floats.SubTo(differences, standard(c.estimated), truth)
	out["error_variance"] = stat.Variance(differences, nil)
	if x := stat.Correlation(ranks(c.estimated), ranks(c.true), nil); !math.IsNaN(x) { // equal values on one side
		out["rank_correlation"] = x
	}
	return out
}

// standard returns values less their mean, in units of their standard deviation. Equal values give 0.
func standard(values []float64) []float64 {
	mean, deviation := stat.MeanStdDev(values, nil)
	out := make([]float64, len(values))
	for i, v := range values {
		if deviation > 0 {
			out[i] = (v - mean) / deviation
		}
	}
	return out
}

// ranks returns the ranks of values. Equal values share their mean rank.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	out := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			out[i] = float64(from+to-1) / 2
		}
		from = to
	}
	return out
}

// gradient returns the change of the policy by choices with these advantages, all roles in sequence.
func (r *roller) gradient(taken []map[decision.Role][]decision.Choice, advantages []float64) (out []float64) {
	for _, role := range decision.Roles() {
		h, ok := r.policy.Heads[role]
		if !ok {
			continue
		}
		gradient := make([]float64, len(h.Weights))
		for i, t := range taken {
			for _, c := range t[role] {
				by := h.LogProbabilities(c.Options)
				for k := range by {
					by[k] = -advantages[i] * math.Exp(by[k])
				}
				by[c.Chosen] += advantages[i]
				h.Accumulate(c.Options, by, gradient)
			}
		}
		out = append(out, gradient...)
	}
	return out
}

// cosine returns the cosine of two gradients. It is 0 where one is zero.
func cosine(a, b []float64) float64 {
	if x := floats.Norm(a, 2) * floats.Norm(b, 2); x > 0 {
		return floats.Dot(a, b) / x
	}
	return 0
}
