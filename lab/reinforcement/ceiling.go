package reinforcement

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/formation/relation/crossencoder"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Ceilings measures the possible gain. It compares the shipped models with arms that use the truth. The first arm uses
// it in place of the filter, the second for the ended facts of a changed entry. The third uses it for all relations of
// statements, with these facts, and the last for filter and relations together. The people have training words or
// other words.
func Ceilings(ctx context.Context, o CeilingOptions) ([]Arm, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	arms := []struct {
		name                    string
		filter, retract, relate bool
	}{
		{name: "shipped models"}, {name: "true filter", filter: true}, {name: "true retractions", retract: true},
		{name: "true relations", relate: true}, {name: "both true", filter: true, relate: true},
	}
	trials := make([]map[string]float64, len(arms)*o.Seeds)
	known := make([]*known, o.Seeds)
	for i := range known {
		known[i] = newKnown()
	}
	err := each(ctx, len(trials), func(ctx context.Context, i int) error {
		arm, seed := arms[i/o.Seeds], i%o.Seeds
		trials[i] = map[string]float64{}
		for _, split := range []synthesis.Split{synthesis.SplitTrain, synthesis.SplitHeldout} {
			people, err := o.held(seed, split)
			if err != nil {
				return err
			}
			m, err := measure(ctx, decision.Rules{}, people, known[seed], func(p *person, m maker) formation.Pipeline {
				out := m.withChooser(decision.Rules{}, "ceiling")
				if arm.filter {
					out.Filter = trueFilter{p}
				}
				truth, t := trueJudge{p, p.byTime()}, crossencoder.ShippedJudge().Thresholds()
				switch {
				case arm.relate:
					out.Former = former(truth, 0.5, 0.5)
				case arm.retract:
					out.Former = former(trueGone{m.judge, truth}, t.Certain, t.Possible)
				}
				return out
			})
			if err != nil {
				return fmt.Errorf("%s, seed %d: %w", arm.name, seed+1, err)
			}
			for name, v := range m.Shares() {
				trials[i][name+"/"+string(split)] = v
			}
		}
		if o.Progress != nil {
			o.Progress(len(trials))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(arms))
	for i, arm := range arms {
		names[i] = arm.name
	}
	return reports(names, trials), nil
}

// trueFilter keeps the turns that are worth keeping.
type trueFilter struct{ *person }

// Filter implements formation.Filter.
func (f trueFilter) Filter(
	_ context.Context, _ memory.Scope, turns, _ []memory.Turn,
) ([]memory.SaliencyDecision, error) {
	out := make([]memory.SaliencyDecision, len(turns))
	for i, t := range turns {
		out[i] = memory.SaliencyDecision{Salient: f.salient[t.ID], Threshold: 0.5, PolicyVersion: "truth"}
		if out[i].Salient {
			out[i].Score = 1
		}
	}
	return out, nil
}

// spoken is the key of a turn in a judge of statements.
type spoken struct {
	at      time.Time
	speaker string
}

// byTime returns the targets of turns by time and speaker.
func (p *person) byTime() map[spoken][]int {
	out := map[spoken][]int{}
	for _, s := range p.Sessions {
		for _, t := range s.Turns {
			out[spoken{t.Time.UTC(), t.Speaker}] = t.Targets
		}
	}
	return out
}

// trueJudge judges statements by the truth.
type trueJudge struct {
	*person
	targets map[spoken][]int
}

// of returns the targets of a statement's turn.
func (j trueJudge) of(s relation.Statement) []int { return j.targets[spoken{s.Time.UTC(), s.Speaker}] }

// Judge implements embedded.Judge.
func (j trueJudge) Judge(later relation.Statement, stored []relation.Statement) []relation.Relation {
	out := make([]relation.Relation, len(stored))
	for i, s := range stored {
		out[i] = j.Between(later, s)
	}
	return out
}

// Between implements embedded.Judge.
func (j trueJudge) Between(later, stored relation.Statement) (out relation.Relation) {
	label := relation.Unrelated
	for _, i := range j.of(later) {
		target := j.Targets[i]
		ends := slices.ContainsFunc(target.Ends, func(ended int) bool { return j.tells(stored, ended) })
		again := target.Predecessor >= 0 && j.tells(stored, target.Predecessor)
		switch {
		case ends && target.Evolution == synthesis.EvolutionEnd:
			label = max(label, relation.Ends)
		case ends:
			label = max(label, relation.Replaces)
		case again && target.Evolution == synthesis.EvolutionAgain:
			label = max(label, relation.Same)
		case again && target.Evolution == synthesis.EvolutionExpand:
			label = max(label, relation.Adds)
		}
	}
	out[label] = 1
	return out
}

// tells reports whether a statement's turn tells or repeats a target.
func (j trueJudge) tells(s relation.Statement, target int) bool {
	for _, i := range j.of(s) {
		if i == target || j.Targets[i].Operation == memory.OpNone && j.Targets[i].Predecessor == target {
			return true
		}
	}
	return false
}

// trueGone judges by the truth which facts hold no more. Another judge decides the rest.
type trueGone struct {
	*remembering
	truth trueJudge
}

// Gone implements embedded.Judge.
func (j trueGone) Gone(later relation.Statement, parts []string) []float64 {
	return j.truth.Gone(later, parts)
}

// Gone implements embedded.Judge: parts with the replaced value go.
func (j trueJudge) Gone(later relation.Statement, parts []string) []float64 {
	out := make([]float64, len(parts))
	for _, i := range j.of(later) {
		for _, before := range j.Targets[i].Ends {
			for k, p := range parts {
				if tells(p, j.Targets[before].Value) || tells(p, j.Targets[before].Keywords[0]) {
					out[k] = 1
				}
			}
		}
	}
	return out
}
