package questions

import (
	"math"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/lab/synthesis/template"
)

// told is a turn with an answer, its place, and the time that it tells.
type told struct {
	turn string
	at   time.Time
	when moment
}

// group is a question with all turns that answer it so far. A fact told twice in the same words is one question with
// two turns.
type group struct {
	category Category
	// text has its alternatives in brackets, and {on} at the place of a time.
	text string
	// general is true for a question that does not name its thing.
	general bool
	turns   []told
	// wording is the text before changes. mistaken is wording with the two people swapped. of is the told fact.
	wording, mistaken string
	of                *telling
	asked             bool
}

// groups are all possible questions, in the order of their first answer.
type groups struct {
	list  []*group
	index map[string]*group
	// subjects are the told subjects of each person: classes, and things of them.
	subjects map[subject]bool
}

// subject is a class, or one thing of it, that a person has talked about.
type subject struct {
	who   int
	class *class
	thing string
}

func (tell *telling) about(who int, thing bool) subject {
	s := subject{who: who, class: tell.thread.class}
	if thing {
		s.thing = tell.thread.values[s.class.columns[0]]
	}
	return s
}

// note records that a turn answers a question.
func (t *talk) note(c Category, source string, tell *telling, turn string) {
	if t.groups.subjects == nil {
		t.groups.subjects = map[subject]bool{}
	}
	t.groups.subjects[tell.about(tell.who, false)], t.groups.subjects[tell.about(tell.who, true)] = true, true
	text := t.asked(tell.who, tell, source)
	key := string(c) + "\x00" + text
	g := t.groups.index[key]
	if g == nil {
		g = &group{category: c, text: text, general: general(source), wording: text,
			mistaken: t.asked(1-tell.who, tell, source), of: tell}
		if t.groups.index == nil {
			t.groups.index = map[string]*group{}
		}
		t.groups.index[key] = g
		t.groups.list = append(t.groups.list, g)
	}
	if n := len(g.turns); n > 0 && g.turns[n-1].turn == turn {
		return
	}
	g.turns = append(g.turns, told{turn: turn, at: t.now, when: tell.when})
}

// general reports whether a question refers only to people and times.
func general(source string) bool {
	for _, part := range strings.Split(source, "{")[1:] {
		name, _, _ := strings.Cut(part, "}")
		if !personal[strings.TrimPrefix(name, "a:")] {
			return false
		}
	}
	return true
}

// noteTold notes the questions about a frame.
func (t *talk) noteTold(tell *telling, turn string, timed bool) {
	f := tell.frame
	for _, q := range f.asks {
		t.note(CategoryTold, q, tell, turn)
	}
	for _, q := range f.multis {
		t.note(CategoryMulti, q, tell, turn)
	}
	for _, q := range f.nows {
		t.note(CategoryNow, q, tell, turn)
	}
	if !timed {
		return
	}
	for _, q := range f.whens {
		t.note(CategoryTemporal, q, tell, turn)
	}
}

func (t *talk) noteDetail(tell *telling, d *detail, turn string) {
	for _, q := range d.asks {
		t.note(CategoryDetail, q, tell, turn)
	}
	for _, q := range d.multis {
		t.note(CategoryMulti, q, tell, turn)
	}
}

// asked words a question about the told fact from this person's view. Alternatives and {on} stay.
func (t *talk) asked(who int, tell *telling, source string) string {
	me, other := t.people[who], t.people[1-who]
	words := map[string]string{
		"N": me.name, "N's": me.name + "'s", "he": me.he, "his": me.his, "him": me.him, "does": "does", "has": "has",
		"is": "is", "was": "was",
		"O": other.name, "O's": other.name + "'s",
	}
	if other.assistant {
		words = map[string]string{
			"N": "I", "N's": "my", "he": "I", "his": "my", "him": "me", "does": "do", "has": "have", "is": "am", "was": "was",
			"O":   "you",
			"O's": "your",
		}
	}
	return t.put(tell, source, func(name string) (string, bool) {
		v, ok := words[name]
		return v, ok
	})
}

// mostTurns is the largest number of turns that answer a question.
const mostTurns = 7

// ask draws the questions, each category by its share.
func (t *talk) ask() []Question {
	var out []Question
	taken := map[string]bool{}
	for _, c := range []Category{CategoryTemporal, CategoryMulti, CategoryDetail, CategoryNow, CategoryTold} {
		want := int(math.Round(t.options.Rates.of(c) * float64(t.options.Questions)))
		var all []*group
		for _, g := range t.groups.list {
			if g.category == c && g.fits() {
				all = append(all, g)
			}
		}
		t.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		// One question about a telling in a category is enough: each wording of a question is a group.
		for _, g := range all {
			key := string(c) + "\x00" + g.turns[0].turn + "\x00" + g.turns[len(g.turns)-1].turn
			if want == 0 {
				break
			}
			if taken[key] || g.general && c != CategoryMulti && c != CategoryNow &&
				!template.Chance(t.r, t.options.Rates.General) {
				continue
			}
			taken[key], g.asked = true, true
			want--
			out = append(out, t.question(g))
		}
	}
	return out
}

// fits reports whether a question can be asked.
func (g *group) fits() bool {
	switch g.category {
	case CategoryMulti, CategoryNow:
		return len(g.turns) > 1 && len(g.turns) <= mostTurns
	case CategoryTemporal:
		return len(g.turns) == 1
	}
	return len(g.turns) <= 2
}

func (t *talk) question(g *group) Question {
	turns := g.turns
	if g.category == CategoryNow {
		turns = turns[len(turns)-1:]
	}
	on := ""
	if len(turns) == 1 && template.Chance(t.r, t.options.Rates.Dated) {
		on = turns[0].when.written(t.r, turns[0].at)
	}
	if !strings.Contains(g.text, "{on}") && strings.Contains(g.text, " did ") && g.category != CategoryTemporal {
		g.text = strings.TrimSuffix(g.text, "?") + " {on}?"
	}
	text := template.Fill(g.text, func(name string) (string, bool) { return on, name == "on" })
	q := Question{Text: template.Capitalise(template.Tidy(template.Choose(t.r, text))), Category: g.category,
		AskedAt: t.now}
	for _, one := range turns {
		q.Evidence = append(q.Evidence, one.turn)
	}
	return q
}

// mistake makes the chosen questions with the two people swapped. The other person must have told nothing about the
// thing. For a question that does not name the thing, they must have told nothing of its class.
func (t *talk) mistake() []Question {
	if t.people[1].assistant {
		return nil
	}
	answered := map[string]bool{}
	for _, g := range t.groups.list {
		answered[g.wording] = true
	}
	var out []Question
	for _, g := range t.groups.list {
		if g.asked && !answered[g.mistaken] && !t.groups.subjects[g.of.about(1-g.of.who, !g.general)] {
			wrong := *g
			wrong.text, wrong.category = g.mistaken, CategoryMistaken
			out = append(out, t.question(&wrong))
		}
	}
	return out
}
