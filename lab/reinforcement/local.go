package reinforcement

import (
	"context"
	"slices"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/lab/learning"
	"github.com/mneme-memory/mneme/lab/reward"
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/memory"
)

// worth is the reward of a draw, with its parts where the reward has parts.
type worth struct {
	reward float64
	// has is true where there is a reward. A session without questions has no reward.
	has    bool
	stages reward.Stages
	// utilization is mu of SaliMory. kinds counts how often a question found memories of a kind.
	utilization float64
	kinds       map[string]int
}

// local draws each rewarded session several times from the state before it. The life continues with the policy's best
// decisions.
func (r *roller) local(ctx context.Context) error {
	life, err := r.maker.withChooser(r.policy, r.policy.Version).Begin(r.person.subject)
	if err != nil {
		return err
	}
	for session := range r.person.Sessions {
		if asked := r.random(session, r.o.Group).IntN(r.o.Every) == 0; asked || r.o.Reward == RewardDense {
			if err := r.group(ctx, life, session, asked); err != nil {
				return err
			}
		}
		r.out.Record.Steps++
		if err := life.Step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// group draws a session and learns from it.
func (r *roller) group(ctx context.Context, life *formation.Life, session int, asked bool) error {
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
		if draws[i], err = r.drawn(ctx, life, 1, r.random(session, i)); err != nil {
			return err
		}
		worths[i], err = r.worth(ctx, before, draws[i], session, asked)
		return err
	})
	if err != nil {
		return err
	}
	r.out.Record.Steps += r.o.Group
	if worths[0].has {
		r.learn(draws, worths)
	}
	return nil
}

// learn gives credit to the draws of a group.
func (r *roller) learn(draws []*draw, worths []worth) {
	rewards := make([]float64, len(worths))
	for i, w := range worths {
		rewards[i] = w.reward
	}
	r.rewards = append(r.rewards, rewards...)
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

// contrast pairs the best draw of a group with its worst. Roles that form memory compare the bank's quality, the
// profile role the utilization.
func (r *roller) contrast(draws []*draw, worths []worth) {
	booster, utilizer := learning.ContrastDefaults()
	for role := range r.policy.Heads {
		if role == decision.Filter {
			continue // it learns by the surrogate alone (3.5)
		}
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
				if m.Status == memory.StatusActive {
					group[i].Bank = append(group[i].Bank, m.Content)
				}
			}
		}
		pairs := slices.DeleteFunc(options.Pairs(group), func(p learning.Pair) bool {
			return len(p.Winner.Choices) == 0 || len(p.Loser.Choices) == 0
		})
		if len(pairs) > 0 { // an empty update would still move weights, by earlier gradients
			b := r.batch(role)
			b.Contrast, b.Pairs = options, append(b.Pairs, pairs...)
		}
	}
}

// worth rewards a draw of a session. Without questions, the dense reward is the reward of form and length
// (MemBuilder, E.2).
func (r *roller) worth(ctx context.Context, before Remembered, d *draw, session int, asked bool) (worth, error) {
	p := r.person
	switch r.o.Reward {
	case RewardTransition:
		made, err := p.made(ctx, d.formed)
		if err != nil {
			return worth{}, err
		}
		t := p.transition(before, made, session, r.o.Transition)
		return worth{reward: t.Reward(true, p.retrieved(before, d.formed, session), r.o.Transition), has: true}, nil
	case RewardOutcome:
		a, err := p.ask(ctx, d.life, p.about(0, session+1, perSession), session)
		scores := make([]reward.Asked, len(a.scores))
		for i, s := range a.scores {
			scores[i].Score = s
		}
		value, has := reward.Outcome(scores)
		return worth{reward: value, has: has}, err
	case RewardDense:
		of := reward.Session{Valid: true, Right: 1, Asked: 1, Kinds: p.written(d.formed, session)}
		if !asked {
			value, has := r.o.Dense.Dense(of)
			return worth{reward: value, has: has}, nil
		}
		a, err := p.ask(ctx, d.life, p.about(session, session+1, perSession), session)
		of.Right, of.Asked = a.right(), len(a.scores)
		value, has := r.o.Dense.Dense(of)
		return worth{reward: value, has: has, kinds: a.kinds}, err
	}
	return r.staged(ctx, d, session)
}
