package synthesis

import (
	"maps"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/lab/synthesis/template"
	"github.com/mneme-memory/mneme/shared/memory"
)

// minHeld is the least time that a value must hold for a question about that time.
const minHeld = 3 * day

// ask makes the questions about told facts.
func (l *life) ask() []Question {
	var out []Question
	for i, t := range l.person.Targets {
		switch t.Evolution {
		case EvolutionAgain, EvolutionNear, EvolutionWish:
			continue
		}
		th := l.origin[i].theme
		if t.Operation != memory.OpDelete && len(th.now) > 0 {
			l.person.Targets[i].Question = l.askWhileItHolds(i, th)
		}
		if t.Operation != memory.OpDelete && t.ValidTo.IsZero() && len(th.now) > 0 {
			out = append(out, l.question(i, template.Pick(l.r, th.now), CategoryNow, time.Time{}))
		}
		if t.Operation == memory.OpUpdate || t.Operation == memory.OpDelete {
			out = l.askPast(out, t.Predecessor, th)
		}
		if t.Evolution == EvolutionNew && !t.EventTime.Time.IsZero() && len(th.when) > 0 {
			q := l.question(i, template.Pick(l.r, th.when), CategoryWhen, time.Time{})
			q.Answer = dateText(t.EventTime)
			out = append(out, q)
		}
	}
	return out
}

// askWhileItHolds words a question for a target's value with a separate random source. It asks at any time while the
// value holds, also when the value is replaced later.
func (l *life) askWhileItHolds(i int, th *theme) string {
	r := rand.New(rand.NewPCG(uint64(i), uint64(len(th.now)))) //nolint:gosec // not negative
	return template.Capitalise(template.Pick(r, th.now).Expand(r, l.scope(maps.Clone(l.known[i]), nil).resolve))
}

// askPast asks for the value in the middle of a closed target's time.
func (l *life) askPast(out []Question, i int, th *theme) []Question {
	t := l.person.Targets[i]
	held := t.ValidTo.Sub(t.ValidFrom)
	if len(th.past) == 0 || held < minHeld {
		return out
	}
	return append(out, l.question(i, template.Pick(l.r, th.past), CategoryPast, t.ValidFrom.Add(held/2)))
}

func (l *life) question(i int, text template.Phrase, c Category, asOf time.Time) Question {
	t := l.person.Targets[i]
	vars := maps.Clone(l.known[i])
	if !asOf.IsZero() {
		vars["asof"] = "on " + asOf.Format("2 January 2006")
	}
	return Question{
		Text: template.Capitalise(text.Expand(l.r, l.scope(vars, nil).resolve)), Answer: t.Value, Evidence: t.Turns,
		Target: i, AsOf: asOf, Category: c,
	}
}

// dateText writes an event time with its known precision.
func dateText(e memory.EventTime) string {
	switch {
	case e.Precision == memory.PrecisionMonth:
		return e.Time.Format("January 2006")
	case e.Precision == memory.PrecisionYear:
		return e.Time.Format("2006")
	case strings.Contains(e.Expression, "week") && !strings.Contains(e.Expression, "weekend"):
		return e.Time.Format("the week of 2 January 2006")
	}
	return e.Time.Format("2 January 2006")
}
