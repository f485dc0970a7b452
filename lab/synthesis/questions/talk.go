package questions

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/lab/synthesis/template"
	"github.com/mneme-memory/mneme/shared/memory"
)

// person is one of the two speakers.
type person struct {
	name         string
	he, his, him string
	assistant    bool
	// threads are the person's recurring topics.
	threads []*thread
}

// thread is a thing in the life of a person.
type thread struct {
	class  *class
	values map[string]string
	// used has the last session of each frame, from 1.
	used map[*frame]int
}

// talk is a conversation under construction.
type talk struct {
	*Generator
	r        *rand.Rand
	user     string
	people   [2]person
	now      time.Time
	sessions []dataset.Session
	// next is the next speaker, last the last told fact.
	next int
	last *telling
	groups
}

const (
	firstYear  = 2019
	yearSpread = 6
)

func newTalk(g *Generator, r *rand.Rand, i int) *talk {
	t := &talk{Generator: g, r: r, user: fmt.Sprintf("talk-%d-%d", g.options.Seed, i)}
	t.now = time.Date(firstYear+r.IntN(yearSpread), time.Month(1+r.IntN(12)), 1+r.IntN(28), 8+r.IntN(12), r.IntN(60), 0, 0,
		time.UTC)
	assistant := template.Chance(r, g.options.Rates.Assistant)
	for n := range t.people {
		t.people[n] = t.newPerson(n)
	}
	t.people[1].assistant = assistant
	if assistant {
		t.people[1].name = "Assistant"
	}
	for n := range t.people {
		t.begin(n)
	}
	return t
}

func (t *talk) newPerson(n int) person {
	p := person{he: "she", his: "her", him: "her"}
	names := t.words.lists["name-f"]
	if template.Chance(t.r, 0.5) {
		p.he, p.his, p.him = "he", "his", "him"
		names = t.words.lists["name-m"]
	}
	for p.name == "" || n == 1 && p.name == t.people[0].name {
		p.name = template.Pick(t.r, names)
	}
	return p
}

// begin draws a person's threads.
func (t *talk) begin(who int) {
	p := &t.people[who]
	if p.assistant {
		return
	}
	for want := 4 + t.r.IntN(3); len(p.threads) < want; {
		if other := t.people[0].threads; who == 1 && len(other) > 0 && template.Chance(t.r, t.options.Rates.Shared) {
			shared := template.Pick(t.r, other)
			if !p.has(shared.class, shared.values) {
				p.threads = append(p.threads, t.newThread(shared.class, shared.values))
				continue
			}
		}
		if th := t.fresh(who, false); th != nil {
			p.threads = append(p.threads, th)
		}
	}
}

func (p *person) has(c *class, values map[string]string) bool {
	for _, th := range p.threads {
		if th.class == c && th.values[c.columns[0]] == values[c.columns[0]] {
			return true
		}
	}
	return false
}

// fresh draws a new topic of a person. It is nil where chance hits a topic that the person has.
func (t *talk) fresh(who int, once bool) *thread {
	var all []*class
	for _, c := range t.words.classes {
		if c.assistant && !t.people[1].assistant || c.once && !once {
			continue
		}
		all = append(all, c)
	}
	c := template.Pick(t.r, all)
	values := map[string]string{}
	for i, cell := range template.Pick(t.r, c.things) {
		values[c.columns[i]] = cell
	}
	if t.people[who].has(c, values) {
		return nil
	}
	return t.newThread(c, values)
}

// newThread makes a thread of a thing, with fixed values for its kept lists.
func (t *talk) newThread(c *class, values map[string]string) *thread {
	th := &thread{class: c, values: map[string]string{}, used: map[*frame]int{}}
	for _, column := range c.columns {
		th.values[column] = values[column]
	}
	for _, name := range c.kept {
		th.values[name] = template.Pick(t.r, t.words.lists[listOf(name)])
	}
	return th
}

// again is the number of sessions before a frame may come again, with other people and places.
const again = 5

// open returns the allowed frames of a session. The first frame of a thread comes once.
func (th *thread) open(session int) []*frame {
	var out []*frame
	for _, f := range th.class.frames {
		last, told := th.used[f]
		if !told || !f.first && !th.class.once && session-last >= again {
			out = append(out, f)
		}
	}
	return out
}

func (th *thread) spent(session int) bool { return len(th.open(session)) == 0 }

// hold makes all sessions.
func (t *talk) hold() {
	n := t.options.Sessions
	if n == 0 {
		n = 18 + t.r.IntN(13)
	}
	for range n {
		t.session()
		t.now = t.now.Add(gap(t.r))
	}
}

// session makes one session. Each speaker has one or two topics.
func (t *talk) session() {
	id := fmt.Sprintf("session_%d", len(t.sessions)+1)
	t.sessions = append(t.sessions, dataset.Session{User: t.user, ID: id})
	t.next, t.last = 0, nil
	if !t.people[1].assistant {
		t.next = t.r.IntN(2)
	}
	var topics [2][]*thread
	for who := range t.people {
		topicsOf := 1
		if template.Chance(t.r, 0.4) {
			topicsOf = 2
		}
		for range topicsOf {
			if th := t.topic(who); th != nil {
				topics[who] = append(topics[who], th)
			}
		}
	}
	for length := 10 + t.r.IntN(16); len(t.turns()) < length; {
		who := t.next
		prompted := len(topics[1-who]) > 0 && len(t.turns()) > 1 && template.Chance(t.r, t.options.Rates.Prompt)
		if prompted {
			who = 1 - who
		}
		if len(topics[who]) == 0 {
			t.say(who, t.chatter(who), "")
			continue
		}
		n := t.r.IntN(len(topics[who]))
		for topics[who][n].spent(len(t.sessions)) {
			topics[who][n] = t.topic(who)
		}
		if prompted {
			t.prompt(topics[who][n])
		}
		t.exchange(topics[who][n])
	}
	if template.Chance(t.r, 0.6) {
		for range 2 {
			t.say(t.next, t.line("bye", t.next), "")
		}
	}
	session := &t.sessions[len(t.sessions)-1]
	session.ClosedAt = session.Turns[len(session.Turns)-1].Time.Add(time.Minute)
}

// topic returns a person's topic. It is nil for an assistant.
func (t *talk) topic(who int) *thread {
	p := &t.people[who]
	switch {
	case p.assistant:
		return nil
	case template.Chance(t.r, t.options.Rates.Threads):
		return template.Pick(t.r, p.threads)
	}
	th := t.fresh(who, true)
	for th == nil {
		th = t.fresh(who, true)
	}
	p.threads = append(p.threads, th)
	if th.class.once || template.Chance(t.r, 0.7) {
		p.threads = p.threads[:len(p.threads)-1]
	}
	return th
}

func (t *talk) turns() []memory.Turn { return t.sessions[len(t.sessions)-1].Turns }

// say appends a turn and returns its id.
func (t *talk) say(who int, text, caption string) string {
	s := &t.sessions[len(t.sessions)-1]
	turn := memory.Turn{
		ID: turnID(len(t.sessions), len(s.Turns)+1), SessionID: s.ID, Speaker: t.people[who].name, Role: memory.RoleUser,
		Text: template.Capitalise(template.Tidy(text)), Caption: caption,
		Time: t.now.Add(time.Duration(len(s.Turns)) * 20 * time.Second),
	}
	if t.people[who].assistant {
		turn.Role = memory.RoleAssistant
	}
	s.Turns = append(s.Turns, turn)
	t.next = 1 - who
	return turn.ID
}

// line draws a phrase of a list that refers only to the two speakers.
func (t *talk) line(list string, who int) string {
	if longer := list + "-assistant"; t.people[who].assistant && t.words.lists[longer] != nil {
		list = longer
	}
	return t.spoken(who, nil, template.Pick(t.r, t.words.lists[list]))
}

// chatter returns a turn without a fact.
func (t *talk) chatter(who int) string {
	if t.people[who].assistant {
		return t.echo(who)
	}
	return strings.TrimSpace(t.lead(who) + " " + t.line("chatter", who))
}

// lead returns the start of a turn: a greeting, or a reaction to the last turn.
func (t *talk) lead(who int) string {
	rates := t.options.Rates
	switch {
	case len(t.turns()) < 2:
		if template.Chance(t.r, rates.Greeting) {
			return t.line("greeting", who)
		}
		return ""
	case !template.Chance(t.r, rates.Reaction):
		return ""
	case t.last != nil && t.last.who != who && template.Chance(t.r, 0.75):
		return t.echo(who)
	}
	return t.line("reaction", who)
}

// echo repeats the other's fact in a few of the same words: the last detail, or the topic.
func (t *talk) echo(who int) string {
	tell := t.last
	if tell == nil {
		return t.line("reaction", who)
	}
	list := "echo"
	if t.people[who].assistant {
		list = "echo-assistant"
	}
	short := tell.detail
	if tell.who == who || short == "" || template.Chance(t.r, 0.4) {
		if len(tell.frame.echoes) == 0 {
			return t.line("reaction", who)
		}
		short = t.spoken(who, tell, template.Pick(t.r, tell.frame.echoes))
	}
	return t.spoken(who, nil, strings.ReplaceAll(template.Pick(t.r, t.words.lists[list]), "{short}", short))
}
