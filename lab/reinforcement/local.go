package reinforcement

import (
	"context"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/lab/reward"
)

// worth is the reward of a draw.
type worth struct {
	reward float64
	// has is true where there is a reward. A session without questions has no reward.
	has bool
}

// local draws each session several times from the state before it. The life continues with the policy's best
// decisions.
func (r *roller) local(ctx context.Context) error {
	life, err := r.maker.withChooser(r.policy, r.policy.Version).Begin(r.person.subject)
	if err != nil {
		return err
	}
	for session := range r.person.Sessions {
		if err := r.group(ctx, life, session); err != nil {
			return err
		}
		r.out.Record.Steps++
		if err := life.Step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// group draws a session and learns from it.
func (r *roller) group(ctx context.Context, life *formation.Life, session int) error {
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
		worths[i], err = r.worth(ctx, before, draws[i], session)
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
		r.credit(draws[i].taken, a, 1)
	}
}

// worth rewards a draw of a session.
func (r *roller) worth(ctx context.Context, before Remembered, d *draw, session int) (worth, error) {
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
		a, err := p.ask(ctx, d.life, p.about(session, session+1, perSession), session)
		of.Right, of.Asked = a.right(), len(a.scores)
		value, has := r.o.Dense.Dense(of)
		return worth{reward: value, has: has}, err
	}
	return r.staged(ctx, d, session)
}
