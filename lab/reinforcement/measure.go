package reinforcement

import (
	"context"
	"slices"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/lab/rehearsal"
	"github.com/mneme-memory/mneme/lab/reward"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

// Measured has the measures of people's lives under one chooser. Shares are 0 to 1.
type Measured struct {
	formation.Measures
	// Answered is the share of the questions that the bank answers. Asked counts the questions, all about facts that
	// hold at the end.
	Answered float64 `json:"answered"`
	Asked    int     `json:"asked"`
	// Lost are the shares of these questions that are lost in the bank, in the profile and in the answer.
	Lost map[reward.Stage]float64 `json:"lost"`
	// Personalized, GoodPersonalized and Underuse are shares of these questions, by the rules. Their answers use a
	// memory, use it well, or leave one unused (SaliMory, B.3).
	Personalized     float64 `json:"personalized"`
	GoodPersonalized float64 `json:"good_personalized"`
	Underuse         float64 `json:"underuse"`
	// Utilization is the usefulness of profiles (SaliMory, E.3). Kappa is the quality of the filter.
	Utilization float64 `json:"utilization"`
	Kappa       float64 `json:"kappa"`
	// Faithful and Vague are shares of the active entries (SaliMory, E.2). Words is the number of words of these
	// entries a user.
	Faithful float64 `json:"faithful"`
	Vague    float64 `json:"vague"`
	Words    float64 `json:"words_per_user"`
}

// Shares returns the measures by name, for reports of experiments. It leaves out shares with a count of 0.
func (m Measured) Shares() map[string]float64 {
	out := map[string]float64{
		"update_hits": m.UpdateHits, "wrong_updates": m.WrongUpdates, "kept_evidence": m.KeptEvidence,
		"containment":         m.Containment,
		"searches_per_memory": m.SearchesPerMemory, "answered": m.Answered, "lost_memory": m.Lost[reward.StageMemory],
		"lost_profile": m.Lost[reward.StageProfile], "lost_answer": m.Lost[reward.StageAnswer], "utilization": m.Utilization,
		"kappa": m.Kappa, "personalized": m.Personalized, "good_personalized": m.GoodPersonalized, "underuse": m.Underuse,
		"faithful": m.Faithful, "vague": m.Vague, "words_per_user": m.Words,
	}
	if m.Closings == 0 {
		delete(out, "wrong_updates")
	}
	return out
}

// Measure forms people's lives with a chooser and measures the memories and profiles.
func Measure(ctx context.Context, choose decision.Chooser, people []synthesis.Person) (Measured, error) {
	return measure(ctx, choose, people, newKnown(), decided(choose))
}

// decided makes pipelines with a chooser for their decisions.
func decided(choose decision.Chooser) func(*person, maker) formation.Pipeline {
	return func(_ *person, m maker) formation.Pipeline { return m.withChooser(choose, "measured") }
}

// life is the result of a person's life.
type life struct {
	person  *person
	formed  formation.Formed
	answers answers
	shown   []shown
	entries reward.Entries
}

// shown is the result of a question's profile and answer, by the rules.
type shown struct {
	lost            reward.Stage
	utilization     float64
	personalization reward.Personalization
}

func measure(
	ctx context.Context, choose decision.Chooser, people []synthesis.Person, known *known,
	by func(*person, maker) formation.Pipeline,
) (Measured, error) {
	lives := make([]life, len(people))
	err := each(ctx, len(people), func(ctx context.Context, i int) (err error) {
		p, m, err := known.person(ctx, people[i])
		if err != nil {
			return err
		}
		lives[i], err = live(ctx, p, by(p, m), choose)
		return err
	})
	if err != nil {
		return Measured{}, err
	}
	return measured(lives), nil
}

func measured(lives []life) Measured {
	tally, gating, entries, personalizations := formation.NewTally(), reward.Gating{}, reward.Entries{},
		reward.PersonalizationCounts{}
	out := Measured{Lost: map[reward.Stage]float64{}}
	for _, l := range lives {
		tally.Add(l.person.subject, l.formed)
		g, j := l.person.gating(l.formed, 0, len(l.person.Sessions)), l.entries
		gating.Kept, gating.KeptRight, gating.Salient = gating.Kept+g.Kept, gating.KeptRight+g.KeptRight,
			gating.Salient+g.Salient
		entries.All, entries.Factual, entries.Vague = entries.All+j.All, entries.Factual+j.Factual, entries.Vague+j.Vague
		words, _ := l.person.words(l.formed)
		out.Words += float64(words) / float64(len(lives))
		out.Answered += float64(l.answers.right())
		out.Asked += len(l.answers.scores)
		for _, s := range l.shown {
			out.Lost[s.lost]++
			out.Utilization += s.utilization
			personalizations[s.personalization]++
		}
	}
	asked, all := float64(max(1, out.Asked)), float64(max(1, entries.All))
	out.Measures, out.Kappa = tally.Measures(), reward.StageDefaults().Quality(gating)
	out.Answered, out.Utilization = out.Answered/asked, out.Utilization/asked
	for s := range out.Lost {
		out.Lost[s] /= asked
	}
	rates := personalizations.Rates()
	out.Personalized, out.GoodPersonalized, out.Underuse = rates.Personalized, rates.Good, rates.Underuse
	out.Faithful, out.Vague = float64(entries.Factual)/all, float64(entries.Vague)/all
	return out
}

func live(ctx context.Context, p *person, by formation.Pipeline, choose decision.Chooser) (life, error) {
	l, err := by.Begin(p.subject)
	if err != nil {
		return life{}, err
	}
	for l.Next() != nil {
		if err := l.Step(ctx); err != nil {
			return life{}, err
		}
	}
	return lived(ctx, p, l, choose)
}

// lived returns the result of a life after all its sessions.
func lived(ctx context.Context, p *person, l *formation.Life, choose decision.Chooser) (out life, err error) {
	out.person = p
	if out.formed, err = l.Formed(ctx); err != nil {
		return life{}, err
	}
	questions := p.about(0, len(p.Sessions), len(p.Targets))
	if out.answers, err = p.ask(ctx, l, questions, len(p.Sessions)-1); err != nil {
		return life{}, err
	}
	index, err := rehearsal.Index(ctx, l.Bank(), p.subject.Scope)
	if err != nil {
		return life{}, err
	}
	judge, bank := p.rules(len(p.Sessions)-1), p.bank(out.formed)
	for _, q := range questions {
		a, err := p.show(ctx, index, bank, choose, q, len(p.Sessions)-1)
		if err != nil {
			return life{}, err
		}
		s := shown{lost: lost(a)}
		if s.utilization, err = judge.Utilization(ctx, a); err != nil {
			return life{}, err
		}
		if s.personalization, err = judge.Personalization(ctx, a); err != nil {
			return life{}, err
		}
		out.shown = append(out.shown, s)
	}
	out.entries, err = judge.Entries(ctx, bank)
	return out, err
}

// Calibrate returns the least similarity at which a quotation and a statement count as the same. It takes all pairs
// of an entry made by the rules and a statement of the same person. The similarity has the greatest F1 for pairs from
// the same turns.
func Calibrate(ctx context.Context, people []synthesis.Person) (tau, f1 float64, err error) {
	type pair struct {
		similar float64
		same    bool
	}
	var pairs []pair
	e := embedding.Cached(builtin.New(), 50_000)
	for _, made := range people {
		p, err := newPerson(ctx, made, e)
		if err != nil {
			return 0, 0, err
		}
		formed, err := newMaker(e).withChooser(decision.Rules{}, "rules").Form(ctx, p.subject)
		if err != nil {
			return 0, 0, err
		}
		entries := make([]reward.Entry, len(formed.Entries))
		for i, m := range formed.Entries {
			entries[i].Text = m.Content
		}
		if err := embed(ctx, e, entries); err != nil {
			return 0, 0, err
		}
		for i, m := range formed.Entries {
			told := p.tellsOf(m.Content, m.Sources)
			for j, w := range p.wants {
				if p.Targets[j].Operation != memory.OpNone { // it repeats its predecessor
					pairs = append(pairs, pair{memory.Cosine(entries[i].Vector, w.Vector), slices.Contains(told, j)})
				}
			}
		}
	}
	for at := 0.0; at < 1; at += 0.05 {
		hit, found, all := 0, 0, 0
		for _, p := range pairs {
			if p.same {
				all++
			}
			if p.similar >= at {
				found++
				if p.same {
					hit++
				}
			}
		}
		if f := 2 * float64(hit) / float64(max(1, found+all)); f > f1 {
			tau, f1 = at, f
		}
	}
	return tau, f1, nil
}
