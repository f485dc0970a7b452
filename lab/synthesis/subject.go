package synthesis

import (
	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Subject returns the person in the form of evaluations. Its questions have one answer each, stated in one place.
func (p Person) Subject(tenant string) dataset.Subject {
	s := dataset.Subject{Scope: memory.Scope{Tenant: tenant, User: p.ID}}
	for _, session := range p.Sessions {
		made := dataset.Session{User: p.ID, ID: session.ID, ClosedAt: session.ClosedAt}
		for _, t := range session.Turns {
			made.Turns = append(made.Turns, t.Turn)
		}
		s.Sessions = append(s.Sessions, made)
	}
	for _, q := range p.Questions {
		s.Questions = append(s.Questions, dataset.Question{
			Text: q.Text, Category: string(q.Category), Answer: q.Answer, Evidence: q.Evidence,
			SingleHop: q.Category == CategoryNow,
		})
	}
	for _, t := range p.Targets {
		target := dataset.Target{Turns: t.Turns, At: t.ValidFrom, Operation: t.Operation, Predecessor: t.Predecessor,
			Ends:  t.Ends,
			Value: t.Value}
		if t.Evolution == EvolutionExpand {
			target.Operation = memory.OpAdd // the earlier statement still holds
		}
		for _, k := range t.Keywords {
			for _, w := range text.Words(k) {
				if !text.IsStopWord(w.Lower) {
					target.Words = append(target.Words, w.Lower)
				}
			}
		}
		s.Targets = append(s.Targets, target)
	}
	return s
}
