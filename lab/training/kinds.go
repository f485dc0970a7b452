package training

import (
	"context"

	"github.com/mneme-memory/mneme/evaluation/baseline"
	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/lab/rehearsal"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	"github.com/mneme-memory/mneme/shared/text"
)

// KindReport is the recall of the shipped prior on one kind of talk, beside word search.
type KindReport struct {
	Prior RecallFigures `json:"prior"`
	// ByRegime has the prior's figures for each regime with questions.
	ByRegime map[string]RecallFigures `json:"by_regime"`
	// UserTurns and AllTurns are BM25 over the turns of users, and over all turns.
	UserTurns RecallFigures `json:"bm25_user_turns"`
	AllTurns  RecallFigures `json:"bm25_all_turns"`
}

// ranked is the number of candidates that MeasureKind ranks. No figure needs more than 20.
const ranked = 300

// MeasureKind forms a file's conversations in this process and ranks the memories for its questions with the shipped
// prior.
func MeasureKind(ctx context.Context, subjects []dataset.Subject) (KindReport, error) {
	prior, err := features.Prior()
	if err != nil {
		return KindReport{}, err
	}
	report, searches := KindReport{ByRegime: map[string]RecallFigures{}}, map[memory.Scope][2]*baseline.Search{}
	for _, s := range subjects {
		var all, users []score.Shown
		for _, session := range s.Sessions {
			for _, t := range session.Turns {
				shown := score.Shown{Sources: []string{t.ID}, Text: t.Speaker + ": " + t.Text + " " + t.Caption}
				if all = append(all, shown); t.Role != memory.RoleAssistant {
					users = append(users, shown)
				}
			}
		}
		searches[s.Scope] = [2]*baseline.Search{baseline.Words(users, text.SearchTerms),
			baseline.Words(all, text.SearchTerms)}
	}
	type measured struct {
		regime string
		at     [3][]float64
	}
	questions, err := rehearsal.Rehearse(ctx, builtin.New(), subjects, prior.Weights.W, ranked,
		func(s dataset.Subject, r rehearsal.Rehearsed) (m measured, err error) {
			if len(r.Candidates) > 0 {
				m.regime = r.Candidates[0].Regime.String()
			}
			if m.at[0], err = r.RecallAt(prior.Weights, 5, 10, 20); err != nil {
				return m, err
			}
			for i, search := range searches[s.Scope] {
				m.at[i+1] = foundAt(search.Find(r.Question.Text), r.Question.Evidence, 5, 10, 20)
			}
			return m, nil
		})
	if err != nil {
		return KindReport{}, err
	}
	for _, of := range questions {
		for _, m := range of {
			by := report.ByRegime[m.regime]
			by.add(m.at[0])
			report.ByRegime[m.regime] = by
			report.Prior.add(m.at[0])
			report.UserTurns.add(m.at[1])
			report.AllTurns.add(m.at[2])
		}
	}
	return report, nil
}

// add takes another question into the mean.
func (f *RecallFigures) add(at []float64) {
	n := float64(f.Questions)
	mean := func(before, x float64) float64 { return (before*n + x) / (n + 1) }
	f.Recall5, f.Recall10, f.Recall20 = mean(f.Recall5, at[0]), mean(f.Recall10, at[1]), mean(f.Recall20, at[2])
	f.Questions++
}

// foundAt is the share of the evidence among the first documents, for each number of documents.
func foundAt(found []score.Shown, evidence []string, ks ...int) []float64 {
	out := make([]float64, len(ks))
	for i, k := range ks {
		have := map[string]bool{}
		for _, f := range found[:min(k, len(found))] {
			have[f.Sources[0]] = true
		}
		hits := 0
		for _, id := range evidence {
			if have[id] {
				hits++
			}
		}
		out[i] = score.Share(hits, len(evidence))
	}
	return out
}
