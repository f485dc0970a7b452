package reinforcement

import (
	"context"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/learning"
	"github.com/mneme-memory/mneme/shared/reward"
)

// worth is what a draw was worth, with its parts where the reward has some.
type worth struct {
	reward float64
	// has says that there is a reward: none is there of sessions that nothing is asked about.
	has    bool
	stages reward.Stages
	// utilization is mu of SaliMory, kinds what memories answered.
	utilization float64
	kinds       map[string]int
}

// local draws each session, or each few, several times from the state before it. The life goes on by the policy's own best decisions.
func (r *roller) local(ctx context.Context) error {
	life, err := r.maker.by(r.policy, r.policy.Version).Begin(r.person.subject)
	if err != nil {
		return err
	}
	for from := 0; from < len(r.person.Sessions); from += r.o.Every {
		to := min(from+r.o.Every, len(r.person.Sessions))
		formed, err := life.Formed(ctx)
		if err != nil {
			return err
		}
		before, err := r.person.made(ctx, formed)
		if err != nil {
			return err
		}
		draws, worths := make([]*draw, r.o.Group), make([]worth, r.o.Group)
		err = each(ctx, r.o.Group, func(ctx context.Context, i int) (err error) {
			if draws[i], err = r.drawn(ctx, life, to-from, r.random(from, i)); err != nil {
				return err
			}
			worths[i], err = r.worth(ctx, before, draws[i], from, to)
			return err
		})
		if err != nil {
			return err
		}
		r.out.Record.Steps += (r.o.Group + 1) * (to - from)
		if worths[0].has {
			r.learn(draws, worths)
		}
		for range to - from {
			if err := life.Step(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// learn credits the draws of a group.
func (r *roller) learn(draws []*draw, worths []worth) {
	rewards := make([]float64, len(worths))
	for i, w := range worths {
		rewards[i] = w.reward
	}
	for i, a := range r.advantages(rewards) {
		var weights map[string]float64
		if r.o.Attribution > 1 {
			weights = reward.Attribution(worths[i].kinds, r.o.Attribution)
		}
		r.credit(draws[i].taken, a, weights, 1)
	}
	if r.o.Contrast {
		r.contrast(draws, worths)
	}
}

// contrast puts the best draw of a group beside its worst: of what forms memory by the bank's quality, of what is shown by the utilization.
func (r *roller) contrast(draws []*draw, worths []worth) {
	booster, utilizer := learning.ContrastDefaults()
	for role := range r.policy.Heads {
		options := booster
		if role == decision.Profile {
			options = utilizer
		}
		group := make([]learning.Rollout, len(draws))
		for i, d := range draws {
			group[i] = learning.Rollout{Choices: d.taken[role], Score: worths[i].stages.R2}
			if role == decision.Profile {
				group[i].Score = worths[i].utilization
			}
			for _, m := range d.formed.Entries {
				group[i].Bank = append(group[i].Bank, m.Content)
			}
		}
		b := r.batch(role)
		b.Contrast, b.Pairs = options, append(b.Pairs, options.Pairs(group)...)
	}
}

// worth rewards a draw of some sessions.
func (r *roller) worth(ctx context.Context, before []reward.Entry, d *draw, from, to int) (worth, error) {
	p := r.person
	switch r.o.Reward {
	case RewardTransition:
		made, err := p.made(ctx, d.formed)
		o := r.o.Transition
		o.Said = p.said(to - 1)
		return worth{reward: reward.StateTransition(before, made, p.wanted(to-1), o).Reward(true, true, o), has: true}, err
	case RewardOutcome:
		a, err := p.ask(ctx, d.life, p.about(0, to, perSession))
		asked := make([]reward.Asked, len(a.scores))
		for i, s := range a.scores {
			asked[i].Score = s
		}
		value, has := reward.Outcome(asked)
		return worth{reward: value, has: has}, err
	case RewardDense:
		a, err := p.ask(ctx, d.life, p.about(from, to, perSession))
		value, has := r.o.Dense.Dense(reward.Session{
			Valid: true, Right: a.right(), Asked: len(a.scores), Kinds: p.written(d.formed, from, to),
		})
		return worth{reward: value, has: has, kinds: a.kinds}, err
	}
	return r.staged(ctx, d, from, to)
}

// staged is SaliMory's reward.
func (r *roller) staged(ctx context.Context, d *draw, from, to int) (out worth, err error) {
	p, o := r.person, r.o.Stages
	questions := p.about(from, to, perSession)
	a, err := p.ask(ctx, d.life, questions)
	if err != nil || len(questions) == 0 {
		return worth{}, err
	}
	response := reward.Response{Accuracy: float64(a.right()) / float64(len(questions))}
	index, err := formation.Index(ctx, d.life.Bank(), p.subject.Scope)
	if err != nil {
		return worth{}, err
	}
	likes, met := 0, 0
	for i, q := range questions {
		s, err := p.show(ctx, index, d.formed, d.sampler, q)
		if err != nil {
			return worth{}, err
		}
		out.utilization += s.utilization() / float64(len(questions))
		if p.Targets[q].Domain == preference {
			likes++
			met += int(a.scores[i])
		}
	}
	for role, choices := range d.sampler.Taken() {
		d.taken[role] = append(d.taken[role], choices...)
	}
	if likes > 0 {
		response.Applicable, response.Personalization = true, float64(met)/float64(likes)
	}
	out.has = true
	out.stages = reward.Stages{
		R1: o.ResponseQuality(response), R2: o.MemoryQuality(p.judged(d.formed, to-1)),
		R3: o.UtilizationAndFilter(out.utilization, p.gating(d.formed, from, to)),
	}
	for i, part := range []float64{out.stages.R1, out.stages.R2, out.stages.R3} {
		if i < r.o.Parts {
			out.reward += part
		}
	}
	return out, nil
}

// preference is the part of life whose questions an answer can be personal about.
const preference = "preference"
