package reinforcement

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/reward"
)

// staged is SaliMory's reward. A question is answered from its profile, as a user is: R1 sees what the profile leaves out.
func (r *roller) staged(ctx context.Context, d *draw, session int) (out worth, err error) {
	p, o := r.person, r.o.Stages
	questions := p.about(session, session+1, perSession)
	if len(questions) == 0 {
		return worth{}, nil
	}
	index, err := formation.Index(ctx, d.life.Bank(), p.subject.Scope)
	if err != nil {
		return worth{}, err
	}
	bank := p.bank(d.formed)
	answered := make([]reward.Answered, len(questions))
	for i, q := range questions {
		if answered[i], err = p.show(ctx, index, bank, d.sampler, q); err != nil {
			return worth{}, err
		}
	}
	for role, choices := range d.sampler.Taken() {
		d.taken[role] = append(d.taken[role], choices...)
	}
	var judge reward.Judge = p.rules(session)
	if r.o.Judge != nil {
		judge = r.o.Judge
	}
	v, err := judged(ctx, judge, answered, bank)
	if err != nil {
		return worth{}, err
	}
	out.has, out.utilization = true, v.utilization
	out.stages = reward.Stages{
		R1: o.ResponseQuality(v.response), R2: o.MemoryQuality(v.entries),
		R3: o.UtilizationAndFilter(v.utilization, p.gating(d.formed, session, session+1)),
	}
	for i, part := range []float64{out.stages.R1, out.stages.R2, out.stages.R3} {
		if i < r.o.Parts {
			out.reward += part
		}
	}
	return out, nil
}

// verdict is what a judge says of a draw: means of its answers, of those alone that could be personal where that is asked.
type verdict struct {
	response    reward.Response
	utilization float64
	entries     reward.Entries
}

// judged asks a judge all that the rewards take, at once: a model takes its time.
func judged(ctx context.Context, judge reward.Judge, answered []reward.Answered, bank []reward.BankEntry) (out verdict, err error) {
	responses, utilizations := make([]reward.Response, len(answered)), make([]float64, len(answered))
	g, ctx := errgroup.WithContext(ctx)
	for i, a := range answered {
		g.Go(func() (err error) { responses[i], err = judge.Response(ctx, a); return err })
		g.Go(func() (err error) { utilizations[i], err = judge.Utilization(ctx, a); return err })
	}
	g.Go(func() (err error) { out.entries, err = judge.Entries(ctx, bank); return err })
	if err := g.Wait(); err != nil {
		return verdict{}, err
	}
	right, personal, applicable, n := 0.0, 0.0, 0.0, float64(len(answered))
	for i, r := range responses {
		out.utilization += utilizations[i] / n
		right += r.Accuracy
		if r.Applicable {
			applicable++
			personal += r.Personalization
		}
	}
	out.response.Accuracy = right / n
	if applicable > 0 {
		out.response.Applicable, out.response.Personalization = true, personal/applicable
	}
	return out, nil
}

// bank is what is remembered, with what it was made from.
func (p *person) bank(formed formation.Formed) []reward.BankEntry {
	var out []reward.BankEntry
	for _, m := range formed.Entries {
		if m.Status != memory.StatusActive {
			continue
		}
		e := reward.BankEntry{Text: m.Content}
		for _, turn := range m.Sources {
			u := reward.Utterance{ID: turn}
			if t, ok := p.turns[turn]; ok {
				u.Speaker, u.Text, u.Time = t.Speaker, t.Text, t.Time
			}
			e.From = append(e.From, u)
		}
		out = append(out, e)
	}
	return out
}
