package reinforcement

import (
	"context"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/lab/learning"
	"github.com/mneme-memory/mneme/lab/reward"
	"github.com/mneme-memory/mneme/shared/decision"
)

// whole is one path through a whole life.
type whole struct {
	// before has the state before each session, taken the decisions in each session.
	before []*formation.Life
	taken  []map[decision.Role][]decision.Choice
	last   *formation.Life
}

// global draws whole lives. It rewards each session of each life by the answers of the last bank. It adds local
// groups: draws of a session from one life's state before it, rewarded at once (Memory-R2's LoGo-GRPO).
func (r *roller) global(ctx context.Context) error {
	sessions := len(r.person.Sessions)
	wholes := make([]whole, r.o.Group)
	err := each(ctx, r.o.Group, func(ctx context.Context, i int) (err error) {
		wholes[i], err = r.wholeLife(ctx, i)
		return err
	})
	if err != nil {
		return err
	}
	r.out.Record.Steps += r.o.Group * sessions
	type credited struct {
		taken     map[decision.Role][]decision.Choice
		advantage float64
	}
	var global, local []credited
	rewards := make([][]float64, r.o.Group)
	for i, w := range wholes {
		if rewards[i], err = r.horizons(ctx, w.last); err != nil {
			return err
		}
		for s := range sessions { // the immediate rewards of a session's draws have another scale
			if len(r.person.stillAsked(s)) > 0 {
				r.rewards = append(r.rewards, rewards[i][s])
			}
		}
	}
	pick := r.random(sessions, 0)
	for s := range sessions {
		questions := r.person.about(s, s+1, perSession)
		if len(questions) == 0 {
			continue
		}
		if r.o.Local < 1 && len(r.person.stillAsked(s)) > 0 {
			group := make([]float64, r.o.Group)
			for i := range wholes {
				group[i] = rewards[i][s]
			}
			for i, a := range r.advantages(group) {
				global = append(global, credited{wholes[i].taken[s], a})
			}
		}
		from := pick.IntN(r.o.Group)
		if r.o.Local == 0 || pick.Float64() >= r.o.Chance {
			continue
		}
		draws, group := make([]*draw, r.o.Rerolls), make([]float64, r.o.Rerolls)
		err := each(ctx, r.o.Rerolls, func(ctx context.Context, i int) (err error) {
			if draws[i], err = r.drawn(ctx, wholes[from].before[s], 1, r.random(s, r.o.Group+i)); err != nil {
				return err
			}
			a, err := r.person.ask(ctx, draws[i].life, questions, s)
			group[i] = float64(a.right()) / float64(len(questions))
			return err
		})
		if err != nil {
			return err
		}
		r.out.Record.Steps += r.o.Rerolls
		for i, a := range r.advantages(group) {
			local = append(local, credited{draws[i].taken, a})
		}
	}
	for _, m := range learning.Mix(global, local, r.o.Local) {
		if m.Weight > 0 {
			r.credit(m.Item.taken, m.Item.advantage, m.Weight)
		}
	}
	return nil
}

// wholeLife draws a path through a life by the policy's probabilities.
func (r *roller) wholeLife(ctx context.Context, number int) (out whole, err error) {
	sampler := decision.NewSampler(r.policy, r.random(0, number))
	life, err := r.maker.withChooser(sampler, r.policy.Version).Begin(r.person.subject)
	if err != nil {
		return out, err
	}
	for life.Next() != nil {
		before, err := life.Fork(nil, nil)
		if err != nil {
			return out, err
		}
		if err := life.Step(ctx); err != nil {
			return out, err
		}
		out.before, out.taken = append(out.before, before), append(out.taken, sampler.Taken())
	}
	out.last = life
	return out, nil
}

// horizons returns the rewards of all sessions by the last bank of a life. A session without questions has reward 0.
func (r *roller) horizons(ctx context.Context, last *formation.Life) ([]float64, error) {
	p, end := r.person, len(r.person.Sessions)
	questions := p.about(0, end, perSession)
	a, err := p.ask(ctx, last, questions, end-1)
	if err != nil {
		return nil, err
	}
	formed, err := last.Formed(ctx)
	if err != nil {
		return nil, err
	}
	asked := make([]reward.Asked, len(questions))
	for i, q := range questions {
		asked[i] = reward.Asked{Sessions: []string{p.Sessions[p.questions[q].session].ID}, Score: a.scores[i]}
	}
	remembered, said := p.words(formed)
	out := make([]float64, end)
	for s := range out {
		out[s], _ = r.o.Horizon.Horizon(p.Sessions[s].ID, asked, float64(remembered), float64(said))
	}
	return out, nil
}

// stillAsked returns the questions about a session that the end of the life still asks.
func (p *person) stillAsked(session int) (out []int) {
	for _, i := range p.about(0, len(p.Sessions), perSession) {
		if p.questions[i].session == session {
			out = append(out, i)
		}
	}
	return out
}
