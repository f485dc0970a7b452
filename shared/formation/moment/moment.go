// Package moment separates statements of the moment from lasting ones. Examples of the first are a place, a current
// activity and today's mood. A linear model of words finds them; `mneme-lab train moment` trains it. Other properties
// of a statement keep it, since a question of another day may need it. They are a preference, a habit, a constraint,
// an event, and a mention of another day. A word that the training data has in no statement of the moment may be
// lasting, and keeps its statement, too.
//
// The text of a statement is only data: it decides the place of storage and has no other effect.
package moment

import (
	_ "embed" // the model is part of the program
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/constraint"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/classifier"
	"github.com/mneme-memory/mneme/shared/text"
)

//go:embed model.json
var trained []byte

var shipped = classifier.Shipped("the moment", trained, parse)

func parse(data []byte) (*classifier.Terms, error) {
	m, err := classifier.Parse[classifier.Terms](data)
	if err == nil && !(m.Threshold > 0) {
		return nil, fmt.Errorf("%w: threshold %v", classifier.ErrModel, m.Threshold)
	}
	return m, err
}

// Passes decides whether a quotation, said at a time, matters for the moment only.
func Passes(c formation.Candidate, said time.Time, choose decision.Chooser) bool {
	m := shipped()
	if !May(c, said) || !Knows(m, c.Content, said) {
		return false
	}
	score := m.Score(c.Content)
	return decision.Either(choose, decision.Store, decision.Above(score, m.Threshold), func() []float64 {
		episodic := 0.0
		if c.Kind == memory.KindEpisodic {
			episodic = 1
		}
		return []float64{1, decision.Odds(score) / 5, math.Log1p(float64(text.CountWords(c.Content))) / 5, episodic}
	})
}

// Knows reports whether a model has seen each content word of a quotation in statements of the moment. It ignores the
// words of dates, which it reads at the given time.
func Knows(m *classifier.Terms, quotation string, said time.Time) bool {
	words, dates := text.Words(quotation), text.Dates(quotation, said)
	for i, w := range words {
		within := func(d text.DateMention) bool { return d.Unit != text.Vague && d.Start <= w.Start && w.End <= d.End }
		_, known := slices.BinarySearch(m.Words, w.Lower)
		if !known && !text.IsFiller(quotation, words, i) && !slices.ContainsFunc(dates, within) {
			return false
		}
	}
	return true
}

// May reports whether only its words can make a quotation lasting. The quotation is no preference, habit, constraint,
// past event or question. It has no words of others and no picture, and names no day other than the day of the turn.
func May(c formation.Candidate, said time.Time) bool {
	if c.Kind == memory.KindPreference || c.Kind == memory.KindProcedural || strings.ContainsAny(c.Content, "[?") ||
		text.TellsPast(text.Words(c.Content)) || constraint.Binds(c.Content) {
		return false
	}
	y, month, d := said.Date()
	today := time.Date(y, month, d, 0, 0, 0, 0, time.UTC)
	return !slices.ContainsFunc(text.Dates(c.Content, said), func(m text.DateMention) bool {
		return m.Unit != text.Vague && !(m.Time.Equal(today) && m.Last().Equal(today))
	})
}
