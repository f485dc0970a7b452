package people

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/formation/memoryr2"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/text"
)

// CaseReport counts the results for the statements of cases of two sessions.
type CaseReport struct {
	// Keep counts the statements that still hold, Kept those that an active entry tells. Close counts the statements
	// that hold no more, Closed those that only a closed entry tells.
	Keep   int `json:"keep"`
	Kept   int `json:"kept"`
	Close  int `json:"close"`
	Closed int `json:"closed"`
	// Wrong has a line for each statement with a wrong result.
	Wrong []string `json:"wrong,omitempty"`
}

// caseWords is the least share of a statement's words in an entry that tells it.
const caseWords = 0.75

// MeasureCases forms the cases' sessions by a variant, a month apart, and reports the results for their statements.
func MeasureCases(
	ctx context.Context, v formation.Variant, e embedding.Embedder, cases []corpus.Case,
) (CaseReport, error) {
	var out CaseReport
	for _, c := range cases {
		p := formation.Pipeline{Filter: v.Filter, Saliency: v.Saliency, Former: v.Former, Strategy: v.Strategy, Embedder: e}
		formed, err := p.Form(ctx, subjectOf(c))
		if err != nil {
			return out, fmt.Errorf("case %s: %w", c.ID, err)
		}
		for _, words := range c.Keep {
			out.Keep++
			if active, _ := tells(c, words, formed); active {
				out.Kept++
			} else {
				out.Wrong = append(out.Wrong, fmt.Sprintf("%s (%s) lost %q", c.ID, c.Kind, words))
			}
		}
		for _, words := range c.Close {
			out.Close++
			if active, closed := tells(c, words, formed); closed && !active {
				out.Closed++
			} else {
				out.Wrong = append(out.Wrong, fmt.Sprintf("%s (%s) still tells %q", c.ID, c.Kind, words))
			}
		}
	}
	return out, nil
}

// tells reports whether active entries, and others, tell a statement of the first session.
func tells(c corpus.Case, words string, f formation.Formed) (active, closed bool) {
	place, _ := c.Turn(words)
	id := turnID(0, place)
	want := text.ContentStems(words)
	for _, m := range f.Entries {
		now, _ := memoryr2.Split(m.Content) // the part after it is about the past and counts as untold
		if !slices.Contains(m.Sources, id) || share(want, text.StemSet(now)) < caseWords {
			continue
		}
		active, closed = active || m.Status == memory.StatusActive, closed || m.Status != memory.StatusActive
	}
	return active, closed
}

// share returns the share of stems in a set.
func share(stems []string, of map[string]bool) float64 {
	n := 0
	for _, s := range stems {
		if of[s] {
			n++
		}
	}
	return score.Share(n, len(stems))
}

func sessionID(i int) string       { return fmt.Sprintf("s%d", i+1) }
func turnID(session, i int) string { return fmt.Sprintf("s%d:%d", session+1, i+1) }

// subjectOf returns a case as sessions for a former.
func subjectOf(c corpus.Case) dataset.Subject {
	at := time.Date(2025, time.March, 4, 18, 0, 0, 0, time.UTC)
	s := dataset.Subject{Scope: memory.Scope{Tenant: "evaluation", User: c.ID}}
	for i, turns := range [][]corpus.CaseTurn{c.First, c.Second} {
		session := dataset.Session{User: c.ID, ID: sessionID(i)}
		for j, t := range turns {
			session.Turns = append(session.Turns, memory.Turn{
				ID: turnID(i, j), SessionID: session.ID, Speaker: t.Speaker, Role: t.Role, Text: t.Text,
				Time: at.AddDate(0, i, 0).Add(time.Duration(j) * time.Minute),
			})
		}
		s.Sessions = append(s.Sessions, session)
	}
	return s
}
