package features

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/mneme-memory/mneme/shared/memory"
)

// scored is a unit with its score by the weights.
type scored struct {
	unit  int
	score float64
}

// Candidates returns the k units that the weights put first, best first, each as a candidate. Equal scores are
// settled by id. Weights are in the order of Names; the cosine counts as it does for package ranking. Behind them come
// the newer memories that link to one of them, or to one of q.Standing.
func (x *Index) Candidates(q Query, weights []float32, k int) []Candidate {
	a := x.analyseQuery(q)
	rows, cosines := x.numbersOf(q, a)
	numbers := used[a.regime]
	weights = weights[starts[a.regime]:starts[a.regime+1]]
	order := make([]scored, 0, len(x.units))
	for i := range x.units {
		if !q.Past && !x.units[i].active || !x.units[i].matches(q.Match) {
			continue
		}
		s := cosines[i]
		for k, n := range numbers {
			s += float64(weights[k]) * float64(rows[i][n])
		}
		order = append(order, scored{i, s})
	}
	order = x.best(order, k)
	wanted := make(map[int32]float64, len(a.terms))
	for _, t := range a.terms {
		wanted[t.number] = float64(t.weight)
	}
	out := make([]Candidate, len(order))
	for i, o := range order {
		out[i] = x.candidate(o.unit, wanted, q)
		out[i].rate(rows[o.unit], a.regime, cosines[o.unit])
		if a.several {
			out[i].Group = uint32(x.units[o.unit].session) + 1 //nolint:gosec // not negative
		}
	}
	return x.withNewer(out, q, func(c *Candidate, unit int) { c.rate(rows[unit], a.regime, cosines[unit]) })
}

// rate sets the candidate's features and its cosine.
func (c *Candidate) rate(numbers []float32, r Regime, cosine float64) {
	c.numbers, c.Regime = slices.Clone(numbers), r
	c.Features, c.Cosine = c.FeaturesAs(r), float32(cosine)
}

// withNewer appends the newer memories that link to a candidate or to a standing memory.
func (x *Index) withNewer(out []Candidate, q Query, rate func(c *Candidate, unit int)) []Candidate {
	if x.newer.IsEmpty() {
		return out
	}
	older, known := slices.Clone(q.Standing), map[string]bool{}
	for _, c := range out {
		older, known[c.Memory.ID] = append(older, c.Memory.ID), true
	}
	x.newer.Walk(older, math.MaxInt, func(l link) bool {
		u := &x.units[l.unit]
		m := u.memories[l.member]
		if known[m.ID] || q.Match != nil && !q.Match(m) {
			return false
		}
		known[m.ID] = true
		newer := Candidate{Memory: m, Turns: u.turns}
		rate(&newer, l.unit)
		out = append(out, newer)
		return true
	})
	return out
}

// best returns the first k in order. Where few of many are wanted, most are not sorted at all.
func (x *Index) best(all []scored, k int) []scored {
	compare := func(a, b scored) int {
		if c := cmp.Compare(b.score, a.score); c != 0 {
			return c
		}
		return strings.Compare(x.units[a.unit].memories[0].ID, x.units[b.unit].memories[0].ID)
	}
	k = max(0, min(k, len(all)))
	if k*8 > len(all) {
		slices.SortFunc(all, compare)
		return all[:k]
	}
	top := make([]scored, 0, k+1)
	for _, s := range all {
		if len(top) == k && (k == 0 || compare(s, top[k-1]) >= 0) {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, s, compare)
		top = slices.Insert(top, at, s)
		top = top[:min(len(top), k)]
	}
	return top
}

// candidate puts the memory of a unit first that has most of the query's terms. The vectors decide between equals,
// then the order of the turn.
func (x *Index) candidate(i int, wanted map[int32]float64, q Query) Candidate {
	u, vector := &x.units[i], q.Vector
	best, most := 0, -1.0
	scale := inverse(vector)
	for k := range u.memories {
		if q.Match != nil && !q.Match(u.memories[k]) {
			continue
		}
		have := 0.0
		for _, t := range u.terms[k] {
			if weight := wanted[t]; weight > 0 {
				have += weight * x.full.idf(t)
			}
		}
		if have += 0.01 * float64(cosine(vector, u.memories[k].Vector, scale*u.inverse[k])); have > most {
			best, most = k, have
		}
	}
	c := Candidate{Memory: u.memories[best], Turns: u.turns}
	if n := len(u.memories); n > 1 {
		c.Siblings = append(append(make([]memory.Memory, 0, n-1), u.memories[:best]...), u.memories[best+1:]...)
	}
	if q.Match != nil {
		c.narrow(q.Match)
	}
	return c
}

// matches reports whether a query may use at least one memory of the unit.
func (u *unit) matches(match func(memory.Memory) bool) bool {
	return match == nil || slices.ContainsFunc(u.memories, match)
}

// narrow leaves out siblings that do not match, and turns that no memory which is left was made from.
func (c *Candidate) narrow(match func(memory.Memory) bool) {
	c.Siblings = slices.DeleteFunc(c.Siblings, func(m memory.Memory) bool { return !match(m) })
	of := slices.Clone(c.Memory.Sources)
	for _, m := range c.Siblings {
		of = append(of, m.Sources...)
	}
	c.Turns = slices.DeleteFunc(slices.Clone(c.Turns), func(t memory.Turn) bool { return !slices.Contains(of, t.ID) })
}

// cosine returns the cosine of two vectors of one length, from their scales to unit vectors. It is 0 if one is
// missing. It stays within -1 to 1 despite rounding.
func cosine(a, b []float32, scale float32) float32 {
	if len(a) != len(b) || scale == 0 {
		return 0
	}
	return max(-1, min(1, dot(a, b)*scale))
}

// dot is the inner product of two vectors of one length.
func dot(a, b []float32) float32 { return blas32.Dot(dense(a), dense(b)) }

// dense is a vector as gonum takes it.
func dense(v []float32) blas32.Vector { return blas32.Vector{N: len(v), Inc: 1, Data: v} }
