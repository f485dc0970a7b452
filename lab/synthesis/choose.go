package synthesis

import "github.com/mneme-memory/mneme/lab/synthesis/template"

// Shares of the next told facts. The rest is new facts. An impossible choice becomes a new fact, too.
const (
	shareEvolve = 0.34
	shareAgain  = 0.06
	shareAside  = 0.12
	shareLook   = 0.05
)

// minLife is the number of sessions that a thing lasts before it may end.
const minLife = 3

// choice is a thing and an op to perform on it.
type choice struct {
	thing *thing
	op    *op
}

// choose chooses a speaker's next fact.
func (l *life) choose(who int) choice {
	x := l.r.Float64()
	switch {
	case l.assistant(who):
	case x < shareEvolve:
		if c, ok := l.change(who, isChange); ok {
			return c
		}
	case x < shareEvolve+shareAgain:
		if c, ok := l.change(who, func(e Evolution) bool { return e == EvolutionAgain }); ok {
			return c
		}
	case x < shareEvolve+shareAgain+shareAside:
		if c, ok := l.change(who, isAside); ok {
			return c
		}
	case x < shareEvolve+shareAgain+shareAside+shareLook:
		if c, ok := l.fresh(who, true); ok {
			return c
		}
	}
	if c, ok := l.fresh(who, false); ok {
		return c
	}
	c, _ := l.change(who, isChange)
	return c
}

func isAside(e Evolution) bool { return e == EvolutionNear || e == EvolutionWish }

func isChange(e Evolution) bool {
	return e != EvolutionNew && e != EvolutionAgain && !isAside(e)
}

func (l *life) assistant(who int) bool { return l.speaker(who).Role != l.person.Profile.Role }

// change draws an op of a wanted sort on a fact of an earlier session that still holds.
func (l *life) change(who int, want func(Evolution) bool) (choice, bool) {
	var all []choice
	for _, t := range l.things[who] {
		if t.target < 0 || t.touched >= l.session {
			continue
		}
		for _, o := range t.next(want) {
			if o.evolution != EvolutionEnd || l.session-t.begun >= minLife {
				all = append(all, choice{t, o})
			}
		}
	}
	if len(all) == 0 {
		return choice{}, false
	}
	c := template.Pick(l.r, all)
	if c.op.evolution == EvolutionEnd && template.Chance(l.r, 0.5) { // ends are rarer than changes
		c = template.Pick(l.r, all)
	}
	return c, true
}

// fresh begins a new fact: a look back on an earlier fact, or anything else.
func (l *life) fresh(who int, look bool) (choice, bool) {
	if look && len(l.lookBack(who)) == 0 {
		return choice{}, false
	}
	var all []*theme
	for _, th := range l.themes[who] {
		if th.assistant == l.assistant(who) && th.looksBack() == look && (th.many || !l.has(who, th)) {
			all = append(all, th)
		}
	}
	if len(all) == 0 {
		return choice{}, false
	}
	t := l.begin(who, template.Pick(l.r, all))
	return choice{t, t.ops[0]}, true
}

func (l *life) has(who int, th *theme) bool {
	for _, t := range l.things[who] {
		if t.theme == th {
			return true
		}
	}
	return false
}

// looksBack reports whether a theme is about an earlier fact.
func (t *theme) looksBack() bool {
	for _, d := range t.ops[0].draws {
		if d.list == pastEvents {
			return true
		}
	}
	return false
}
