package reinforcement

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/lab/rehearsal"
	"github.com/mneme-memory/mneme/lab/reward"
	"github.com/mneme-memory/mneme/shared/memory"
)

// staged is SaliMory's reward. Its judge answers a question from the profile, as a user gets it. R1 falls when the
// profile leaves the fact out.
func (r *roller) staged(ctx context.Context, d *draw, session int) (out worth, err error) {
	p, o := r.person, r.o.Stages
	questions := p.about(session, session+1, perSession)
	if len(questions) == 0 {
		return worth{}, nil
	}
	index, err := rehearsal.Index(ctx, d.life.Bank(), p.subject.Scope)
	if err != nil {
		return worth{}, err
	}
	bank := p.bank(d.formed)
	answered := make([]reward.Answered, len(questions))
	for i, q := range questions {
		if answered[i], err = p.show(ctx, index, bank, d.sampler, q, session); err != nil {
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
	v, err := judged(ctx, judge, o, answered, bank)
	if err != nil {
		return worth{}, err
	}
	stages := reward.Stages{
		R1: v.quality, R2: o.MemoryQuality(v.entries),
		R3: o.UtilizationAndFilter(v.utilization, p.gating(d.formed, session, session+1)),
	}
	return worth{reward: stages.R1 + stages.R2 + stages.R3, has: true}, nil
}

// verdict is a judge's result for a draw: mean quality of its answers (Eq. 1) and mean utilization of their profiles.
type verdict struct {
	quality, utilization float64
	entries              reward.Entries
}

// judged calls a judge for all parts of the rewards at once, since a model is slow.
func judged(
	ctx context.Context, judge reward.Judge, o reward.StageOptions, answered []reward.Answered, bank []reward.BankEntry,
) (out verdict, err error) {
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
	for i, r := range responses {
		out.quality += o.ResponseQuality(r) / float64(len(answered))
		out.utilization += utilizations[i] / float64(len(answered))
	}
	return out, nil
}

// bank returns the memories with their source turns.
func (p *person) bank(formed formation.Formed) []reward.BankEntry {
	var out []reward.BankEntry
	for _, m := range formed.Entries {
		if m.Status != memory.StatusActive {
			continue
		}
		e := reward.BankEntry{Text: m.Content, Speaker: m.Speaker, Time: m.ValidFrom}
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
