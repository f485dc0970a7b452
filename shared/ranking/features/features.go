package features

import (
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// numbersOf returns the numbers of every unit, and the cosines.
func (x *Index) numbersOf(q Query, a asked) (rows [][]float32, cosines []float64) {
	n := len(x.units)
	rows, cosines = make([][]float32, n), make([]float64, n)
	flat := make([]float32, n*numberCount)
	for i := range rows {
		rows[i] = flat[i*numberCount : (i+1)*numberCount : (i+1)*numberCount]
	}
	x.setTerms(rows, a)
	x.setMeaning(rows, a)
	x.setSpeaker(rows, a.named)
	x.setTime(rows, a)
	x.setOwn(rows, a)
	scale := inverse(q.Vector)
	for _, e := range x.embedded {
		if c := cosine(q.Vector, e.vector, scale*e.inverse); float64(c) > cosines[e.unit] {
			rows[e.unit][similarity], cosines[e.unit] = c, float64(c)
		}
	}
	x.setForeign(rows, a)
	return rows, cosines
}

// setOwn sets the numbers of a unit alone, and whether they suit the query.
func (x *Index) setOwn(rows [][]float32, a asked) {
	for i := range x.units {
		u, row := &x.units[i], rows[i]
		row[constant], row[length], row[fact], row[rare], row[standing] = 1, u.length, u.fact, x.rare[i], u.standing
		row[asks], row[opens], row[names], row[talk] = flag(u.asks), flag(u.opens), flag(u.name), flag(u.talk)
		row[tellsNumber], row[tellsName] = flag(a.amount && u.number), flag(a.name && u.name)
		row[reply], row[replyAsked], row[replyToUser] = flag(u.reply), flag(u.reply && a.reply), flag(u.reply && a.ofUser)
		if x.span > 0 {
			row[recency] = float32(u.at.Sub(x.first).Seconds() / x.span.Seconds())
		}
	}
}

func flag(b bool) float32 {
	if b {
		return 1
	}
	return 0
}

// setTerms sets the numbers of words: of the unit and of its session.
func (x *Index) setTerms(rows [][]float32, a asked) {
	set(rows, statement, x.statements.score(a.topical))
	set(rows, coverage, x.full.cover(a.topical))
	set(rows, dialogue, x.dialogue.score(a.topical))
	base := x.full.score(a.topical)
	set(rows, topical, base)
	most := float32(0)
	for i, v := range base {
		if x.units[i].active {
			most = max(most, v)
		}
	}
	for i, row := range rows {
		row[relative] = ratio(base[i], most)
	}
	x.setSessions(rows, base, a.topical)
}

func set(rows [][]float32, feature int, values []float32) {
	for i, v := range values {
		rows[i][feature] = v
	}
}

// ratio is v as a share of most, at most 1; 0 where there is nothing.
func ratio(v, most float32) float32 {
	if most <= 0 {
		return 0
	}
	return min(1, v/most)
}

// setSessions scores sessions as a whole, and by the best three of their others.
func (x *Index) setSessions(rows [][]float32, base []float32, topical []weighed) {
	const best = 3
	whole := x.session.score(topical)
	most := float32(0)
	for _, s := range whole {
		most = max(most, s)
	}
	tops := make([][best + 1]float32, x.sessions)
	for i := range x.units {
		if !x.units[i].active {
			continue
		}
		top, v := &tops[x.units[i].session], base[i]
		for k := range top {
			if v > top[k] {
				top[k], v = v, top[k]
			}
		}
	}
	for i := range x.units {
		u := &x.units[i]
		share := ratio(whole[u.session], most)
		rows[i][session], rows[i][sessionLead] = share, share*share*share
		top := tops[u.session]
		sum := top[0] + top[1] + top[2]
		if u.active && base[i] >= top[best-1] {
			sum += top[best] - base[i]
		}
		rows[i][sessionBest] = sum / best
	}
}

func (x *Index) setSpeaker(rows [][]float32, named int32) {
	if named < 0 {
		return
	}
	for i := range x.units {
		switch s := x.units[i].speaker; {
		case s == named:
			rows[i][spokenBy] = 1
		case s >= 0:
			rows[i][spokenByOther] = 1
		}
	}
}

const day = 24 * time.Hour

// setTime compares dates that the query names, and looks for words of time where it asks when.
func (x *Index) setTime(rows [][]float32, a asked) {
	if !a.when && len(a.dates) == 0 {
		return
	}
	for i := range x.units {
		u := &x.units[i]
		if a.when {
			rows[i][tellsTime], rows[i][hasEvent] = flag(u.timed), flag(u.dated)
		}
		for _, d := range a.dates {
			from, to := d.Time, d.Last().Add(day)
			rows[i][saidThen] = max(rows[i][saidThen], nearness(u.at, from, to))
			for k := range u.memories {
				rows[i][happenedThen] = max(rows[i][happenedThen], overlap(u.memories[k].EventTime, from, to, d.Unit))
			}
		}
	}
}

// nearness is 1 for a time in the span or shortly after it, when people report events. It is 0.5 near the span, else 0.
func nearness(at, from, to time.Time) float32 {
	switch {
	case !at.Before(from) && at.Before(to.Add(3*day)):
		return 1
	case !at.Before(from.Add(-3*day)) && at.Before(to.Add(7*day)):
		return 0.5
	}
	return 0
}

// overlap is 1 where an event may have been in the span. It is less where only the year is known and the query has a
// finer unit.
func overlap(e memory.EventTime, from, to time.Time, unit text.Unit) float32 {
	if e.Time.IsZero() {
		return 0
	}
	until := e.Time
	if !e.End.IsZero() {
		until = e.End
	}
	switch e.Precision {
	case memory.PrecisionYear:
		until = until.AddDate(1, 0, 0)
	case memory.PrecisionMonth:
		until = until.AddDate(0, 1, 0)
	default:
		until = until.Add(day)
	}
	switch {
	case !e.Time.Before(to) || !until.After(from):
		return 0
	case e.Precision == memory.PrecisionYear && unit != text.Year:
		return 0.3
	}
	return 1
}
