package synthesis

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/lab/synthesis/template"
	"github.com/mneme-memory/mneme/shared/memory"
)

// pastEvents is the list of a speaker's earlier facts. Reflections draw from it.
const pastEvents = "@event"

// life is a person under construction.
type life struct {
	*Generator
	r      *rand.Rand
	person Person
	// themes are the possible themes of each speaker.
	themes [2][]*theme
	// used has the drawn values, so that no two targets look alike by accident.
	used map[string]bool
	// things are the told things of each speaker: 0 is the user, 1 the other.
	things [2][]*thing
	style  [2]style
	// slots counts the things of each slot name, to tell them apart.
	slots map[string]int
	// known keeps the variables of each target, for questions about the past.
	known   []map[string]string
	origin  []*thing
	session int
}

// thing is a theme in one life.
type thing struct {
	*theme
	slot    string
	subject string
	vars    map[string]string
	gist    string
	// op is the name of the last op that changed it.
	op string
	// target is the index of the target that holds; -1 after an end.
	target int
	// begun and touched are the first and the last session with the thing.
	begun, touched int
	// done has the used ops of a phrasing. No writer types the same text twice.
	done map[*op]bool
	// reflected is true after a speaker has looked back on it.
	reflected bool
}

func newLife(g *Generator, r *rand.Rand, i int) *life {
	l := &life{Generator: g, r: r, used: map[string]bool{}, slots: map[string]int{},
		themes: [2][]*theme{g.words.themes, g.words.themes}}
	l.person.ID = fmt.Sprintf("%s-%d-%d", g.options.Split, g.options.Seed, i)
	l.person.Form = g.options.Form
	if l.person.Form == FormMixed {
		l.person.Form = FormFriends
		if template.Chance(r, 1.0/3) {
			l.person.Form = FormAssistant
		}
	}
	l.person.Profile = Profile{Name: l.value("person", ""), Role: memory.RoleUser}
	l.person.Other = Profile{Name: l.value("person", ""), Role: memory.RoleUser}
	if l.person.Form == FormAssistant {
		l.person.Other = Profile{Name: "Assistant", Role: memory.RoleAssistant}
	}
	if n := len(g.phrased); n > 0 {
		first := r.IntN(n)
		l.themes = [2][]*theme{g.phrased[first], g.phrased[(first+1)%n]} // the lives of two writers
	}
	for who := range l.style {
		l.style[who] = drawStyle(r, g.options.Clean || l.speaker(who).Role == memory.RoleAssistant)
	}
	return l
}

func (l *life) speaker(who int) Profile {
	if who == 0 {
		return l.person.Profile
	}
	return l.person.Other
}

// live goes through the sessions.
func (l *life) live() Person {
	n := l.options.Sessions
	if n == 0 {
		n = 20 + l.r.IntN(11)
	}
	span := 365 + l.r.IntN(2*365)
	at := time.Date(2021+l.r.IntN(4), time.Month(1+l.r.IntN(12)), 1+l.r.IntN(28), 0, 0, 0, 0, time.UTC)
	for l.session = range n {
		gap := 1 + l.r.IntN(max(2*span/n-1, 1))
		at = at.AddDate(0, 0, gap)
		start := at.Add(time.Duration(7*60+l.r.IntN(15*60)) * time.Minute)
		l.person.Sessions = append(l.person.Sessions, l.talk(start))
	}
	l.person.Questions = l.ask()
	return l.person
}

// value draws an unused value of a list. When all are used, it draws one other than the current value.
func (l *life) value(list, current string) string {
	entries := l.words.lists[list]
	var v string
	for try := 0; try < 40; try++ {
		v = template.Pick(l.r, entries).Expand(l.r, l.scope(nil, nil).resolve)
		if !l.used[v] {
			break
		}
	}
	for try := 0; v == current && try < 40; try++ {
		v = template.Pick(l.r, entries).Expand(l.r, l.scope(nil, nil).resolve)
	}
	l.used[v] = true
	return v
}

// scope resolves references: variables first, then word lists.
type scope struct {
	l    *life
	vars map[string]string
	// now is the expression of time of the telling, once there is one.
	now *telling
}

func (l *life) scope(vars map[string]string, t *telling) scope { return scope{l, vars, t} }

func (s scope) resolve(name string) string {
	if v, ok := s.vars[name]; ok {
		return v
	}
	switch name {
	case "past", "future", "since":
		return s.now.say(s.l.r, name)
	case "date":
		return s.now.written()
	}
	list := s.l.words.lists[name]
	if len(list) == 0 {
		return ""
	}
	return template.Pick(s.l.r, list).Expand(s.l.r, s.resolve)
}

// telling is the time of a statement, and the time that it tells.
type telling struct {
	at     time.Time
	moment *moment
	// not is the start of a time that may not come again. A delay needs another day, and a repetition needs another
	// time.
	not time.Time
}

func (t *telling) say(r *rand.Rand, direction string) string {
	if t == nil {
		return ""
	}
	for t.moment == nil || t.moment.when.Time.Equal(t.not) {
		m := drawMoment(r, direction, t.at)
		t.moment = &m
	}
	return t.moment.said
}

func drawMoment(r *rand.Rand, direction string, at time.Time) moment {
	switch direction {
	case "past":
		return past(r, at)
	case "future":
		return future(r, at)
	}
	return since(r, at)
}

func (t *telling) written() string {
	if t == nil || t.moment == nil {
		return ""
	}
	return t.moment.written
}

// told is one fact to tell, as text and as target.
type told struct {
	target  int
	say     string
	ask     string
	follow  [2]string
	caption string
	gist    string
}

// tell performs an op on a thing at a time: it records the target and makes the text. Only when asked is the text an
// answer.
func (l *life) tell(who int, c choice, asked bool, at time.Time) told {
	t, o := c.thing, c.op
	vars := maps.Clone(t.vars)
	for name, v := range t.vars {
		vars["old."+name] = v
	}
	vars["N"], vars["F"] = l.speaker(who).Name, l.speaker(1-who).Name
	for _, d := range o.draws {
		vars[d.name] = l.drawValue(who, d, vars[d.name])
	}
	now := &telling{at: at}
	if o.evolution == EvolutionAdjust || o.evolution == EvolutionShift && o.name == t.op {
		now.not = l.person.Targets[t.target].EventTime.Time
	}
	sc := l.scope(vars, now)
	out := told{target: len(l.person.Targets)}
	if asked && len(o.asks) > 0 && template.Chance(l.r, 0.6) {
		e := template.Pick(l.r, o.asks)
		out.ask, out.say = e.question.Expand(l.r, sc.resolve), e.answer.Expand(l.r, sc.resolve)
	} else {
		out.say = template.Pick(l.r, o.say).Expand(l.r, sc.resolve)
	}
	if len(o.details) > 0 && template.Chance(l.r, 0.4) {
		out.say += " " + template.Pick(l.r, o.details).Expand(l.r, sc.resolve)
	}
	if len(o.captions) > 0 && template.Chance(l.r, 0.6) {
		out.caption = template.Pick(l.r, o.captions).Expand(l.r, sc.resolve)
	}
	if len(o.follows) > 0 && template.Chance(l.r, 0.6) {
		e, aside := template.Pick(l.r, o.follows), l.scope(vars, &telling{at: at}) // its dates are not the event's dates
		out.follow = [2]string{e.question.Expand(l.r, aside.resolve), e.answer.Expand(l.r, aside.resolve)}
	}
	out.gist = t.gistOf(o).Expand(l.r, sc.resolve)
	l.record(t, o, sc, now, out.gist)
	return out
}

func (l *life) drawValue(who int, d draw, current string) string {
	if d.list != pastEvents {
		return l.value(d.list, current)
	}
	for _, t := range l.lookBack(who) {
		t.reflected = true
		return t.gist
	}
	return ""
}

// lookBack returns the things on which a speaker may look back, the oldest first.
func (l *life) lookBack(who int) []*thing {
	var out []*thing
	for _, t := range l.things[who] {
		if t.gist != "" && !t.reflected && l.session-t.touched >= 2 && t.kind == memory.KindEpisodic {
			out = append(out, t)
		}
	}
	return out
}

// record appends the target of an op and keeps the thing up to date.
func (l *life) record(t *thing, o *op, sc scope, now *telling, gist string) {
	target := Target{
		Session: l.session, Predecessor: -1, Unlike: -1, Evolution: o.evolution, Operation: operations[o.evolution],
		Kind: t.kind, Domain: t.domain, Subject: t.subject, Slot: t.slot,
	}
	index := len(l.person.Targets)
	if now.moment != nil {
		target.EventTime = now.moment.when
	}
	switch o.evolution {
	case EvolutionAgain:
		before := l.person.Targets[t.target]
		target.Predecessor, target.Statement, target.Keywords = t.target, before.Statement, before.Keywords
		target.Value, target.EventTime = before.Value, before.EventTime
	case EvolutionNear, EvolutionWish:
		target.Unlike = t.target
		target.Subject, target.Slot = l.aside(t, o, sc)
	case EvolutionNew:
	default:
		target.Predecessor = t.target
	}
	if o.evolution != EvolutionAgain {
		target.Statement = template.Capitalise(o.statement.Expand(l.r, sc.resolve))
		for _, k := range o.keywords {
			target.Keywords = append(target.Keywords, k.Expand(l.r, sc.resolve))
		}
		target.Value = target.Keywords[0]
		if o.evolution != EvolutionEnd {
			target.Value = l.answerOf(t, o).Expand(l.r, sc.resolve)
		}
	}
	target.Ends = l.ends(t, o, target.Value)
	l.person.Targets = append(l.person.Targets, target)
	l.known, l.origin = append(l.known, sc.vars), append(l.origin, t)
	l.update(t, o, sc.vars, index, gist)
}

// ends returns the targets that an op with a new value ends. Expansions of an ended target end with it. An op of
// expansions alone that says the same of the thing is an exception: another treatment leaves the condition. A move
// leaves no flat behind.
func (l *life) ends(t *thing, o *op, value string) (out []int) {
	switch o.evolution {
	case EvolutionNew, EvolutionNear, EvolutionWish, EvolutionAgain, EvolutionExpand:
		return nil
	}
	for i := t.target; ; i = l.person.Targets[i].Predecessor {
		out = append(out, i)
		if l.person.Targets[i].Evolution != EvolutionExpand {
			return out
		}
		before := l.person.Targets[l.person.Targets[i].Predecessor]
		if o.evolution != EvolutionEnd && t.ofExpansions(o) && before.Value == value {
			return out
		}
	}
}

// ofExpansions reports whether an op comes after expansions alone.
func (t *thing) ofExpansions(o *op) bool {
	for _, other := range t.ops {
		if slices.Contains(o.from, other.name) && other.evolution != EvolutionExpand {
			return false
		}
	}
	return len(o.from) > 0
}

// gistOf returns the topic of an op as a noun phrase.
func (t *thing) gistOf(o *op) template.Phrase {
	switch {
	case o.gist != nil:
		return *o.gist
	case o.evolution == EvolutionNear || o.evolution == EvolutionWish || o.evolution == EvolutionEnd:
		return o.keywords[0]
	}
	return *t.theme.gist
}

func (l *life) answerOf(t *thing, o *op) template.Phrase {
	if o.answer != nil {
		return *o.answer
	}
	return *t.theme.answer
}

// operations by evolution. Other evolutions are an UPDATE.
var operations = map[Evolution]memory.OpKind{
	EvolutionNew: memory.OpAdd, EvolutionNear: memory.OpAdd, EvolutionWish: memory.OpAdd,
	EvolutionExpand: memory.OpUpdate, EvolutionAdjust: memory.OpUpdate, EvolutionShift: memory.OpUpdate,
	EvolutionPartial: memory.OpUpdate,
	EvolutionEnd:     memory.OpDelete, EvolutionAgain: memory.OpNone,
}

// aside returns subject and slot of a statement that only looks like a change of the thing.
func (l *life) aside(t *thing, o *op, sc scope) (subject, slot string) {
	subject = t.subject
	if o.subject != nil {
		subject = o.subject.Expand(l.r, sc.resolve)
	}
	return subject, l.freshSlot(subject + "/" + string(o.evolution) + " " + t.name)
}

func (l *life) freshSlot(name string) string {
	l.slots[name]++
	if n := l.slots[name]; n > 1 {
		return fmt.Sprintf("%s#%d", name, n)
	}
	return name
}

// update stores the changes by an op. Asides and repetitions change nothing.
func (l *life) update(t *thing, o *op, vars map[string]string, index int, gist string) {
	t.touched = l.session
	t.done[o] = o.once
	switch o.evolution {
	case EvolutionAgain, EvolutionNear, EvolutionWish:
		return
	case EvolutionEnd:
		t.target = -1
		return
	}
	t.vars = map[string]string{}
	for name, v := range vars {
		if name != "N" && name != "F" && !strings.HasPrefix(name, "old.") {
			t.vars[name] = v
		}
	}
	t.target, t.op, t.gist = index, o.name, gist
}

// begin makes a thing of an untold theme.
func (l *life) begin(who int, th *theme) *thing {
	name := l.speaker(who).Name
	t := &thing{
		theme: th, subject: name, slot: l.freshSlot(name + "/" + th.name), vars: map[string]string{}, done: map[*op]bool{},
		target: -1,
		begun:  l.session, touched: l.session,
	}
	l.things[who] = append(l.things[who], t)
	return t
}

// next returns the ops that may come now.
func (t *thing) next(want func(Evolution) bool) []*op {
	var out []*op
	for _, o := range t.ops {
		if want(o.evolution) && !t.done[o] && (len(o.from) == 0 || slices.Contains(o.from, t.op)) {
			out = append(out, o)
		}
	}
	return out
}
