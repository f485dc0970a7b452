package questions

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/lab/synthesis/template"
)

// telling is one telling of a frame of a thread, with the values of its references.
type telling struct {
	who    int
	thread *thread
	frame  *frame
	slots  map[string]string
	when   moment
	soon   moment
	// detail is the first value in the last answer.
	detail string
}

// prompt lets the next speaker ask the other for news of a thread.
func (t *talk) prompt(th *thread) {
	who := t.next
	tell := &telling{who: 1 - who, thread: th, slots: map[string]string{}}
	t.say(who, t.lead(who)+" "+t.spoken(who, tell, template.Pick(t.r, th.class.prompts)), "")
	t.last = nil
}

// exchange lets the next speaker tell a frame of a thread, and the other ask about it.
func (t *talk) exchange(th *thread) {
	who, rates := t.next, t.options.Rates
	if len(th.class.recaps) > 0 && len(th.used) > 0 && template.Chance(t.r, rates.Recap) {
		tell := &telling{who: who, thread: th, slots: map[string]string{}}
		t.say(who, t.lead(who)+" "+t.spoken(who, tell, template.Pick(t.r, th.class.recaps))+" "+t.tail(who), "")
		t.last = nil
		return
	}
	tell := t.newTelling(who, th)
	details := slices.Clone(tell.frame.details)
	t.r.Shuffle(len(details), func(i, j int) { details[i], details[j] = details[j], details[i] })
	details = details[:min(len(details), t.r.IntN(4))]
	details = t.opening(tell, details)
	for _, d := range details {
		t.listen(tell, d)
	}
	if template.Chance(t.r, 0.15) {
		t.say(t.next, t.chatter(t.next), "")
	}
}

// newTelling draws an allowed frame, mostly the first frame of the thread first.
func (t *talk) newTelling(who int, th *thread) *telling {
	all := th.open(len(t.sessions))
	f := template.Pick(t.r, all)
	if all[0].first && template.Chance(t.r, 0.8) {
		f = all[0]
	}
	th.used[f] = len(t.sessions)
	return &telling{who: who, thread: th, frame: f, slots: map[string]string{}, when: past(t.r, t.now),
		soon: future(t.r, t.now)}
}

// askedVague is the share of questions for a time when only the day of the talk is known.
const askedVague = 0.1

// opening says the turn that tells, with the first details where they come without a question. It returns the
// remaining details.
func (t *talk) opening(tell *telling, details []*detail) []*detail {
	who, rates := tell.who, t.options.Rates
	source := template.Pick(t.r, tell.frame.tells)
	timed := strings.Contains(source, "{when}")
	late := timed && template.Chance(t.r, rates.Late)
	if timed && (late || template.Chance(t.r, rates.Vague)) {
		tell.when = moment{said: template.Pick(t.r, []string{"the other day", "finally", "at last", "recently"})}
	}
	parts := []string{t.lead(who), t.spoken(who, tell, source)}
	var unasked *detail
	if len(details) > 0 && !details[0].back && template.Chance(t.r, rates.Volunteer) {
		unasked, details = details[0], details[1:]
		parts = append(parts, t.spoken(who, tell, unasked.answer))
	}
	parts = append(parts, t.more(tell.who, tell), t.tail(who))
	id := t.say(who, strings.Join(parts, " "), t.caption(tell))
	t.last = tell
	t.noteTold(tell, id, timed && !late && (!tell.when.at.IsZero() || tell.when.said == "recently" ||
		template.Chance(t.r, askedVague)))
	if unasked != nil {
		t.noteDetail(tell, unasked, id)
	}
	if late {
		t.dateLate(tell)
	}
	return details
}

// dateLate lets the other ask for the time.
func (t *talk) dateLate(tell *telling) {
	t.say(1-tell.who, t.lead(1-tell.who)+" "+t.line("when-ask", 1-tell.who), "")
	tell.when = past(t.r, t.now)
	id := t.say(tell.who, t.spoken(tell.who, tell, template.Pick(t.r, t.words.lists["when-answer"]))+" "+
		t.more(tell.who, tell), "")
	for _, q := range tell.frame.whens {
		t.note(CategoryTemporal, q, tell, id)
	}
}

// listen lets the other ask for a detail, and adds the answer.
func (t *talk) listen(tell *telling, d *detail) {
	asks := 1 - tell.who
	if d.back {
		asks = tell.who
	}
	if t.next != asks { // the other has to speak first
		t.say(t.next, t.chatter(t.next), "")
	}
	parts := []string{t.lead(asks)}
	if asks != tell.who && len(tell.thread.class.similar) > 0 && !t.people[asks].assistant &&
		template.Chance(t.r, t.options.Rates.Similar) {
		parts = append(parts, t.spoken(asks, tell, template.Pick(t.r, tell.thread.class.similar)))
	}
	t.say(asks, strings.Join(append(parts, t.restated(asks, tell), t.spoken(asks, tell, d.ask)), " "), "")
	answers, text := t.next, ""
	if template.Chance(t.r, 0.4) {
		text = t.line("thanks", answers)
	}
	text += " " + t.restated(answers, tell)
	text += " " + t.spoken(answers, tell, d.answer) + " " + t.more(answers, tell)
	if template.Chance(t.r, t.options.Rates.Tail/2) {
		text += " " + t.tail(answers)
	}
	t.noteDetail(tell, d, t.say(answers, text, t.caption(tell)))
	tell.detail = t.gist(tell, d)
}

// restated sometimes repeats the topic.
func (t *talk) restated(who int, tell *telling) string {
	if len(tell.frame.echoes) == 0 || t.people[who].assistant || !template.Chance(t.r, t.options.Rates.Restate) {
		return ""
	}
	short := t.spoken(who, tell, template.Pick(t.r, tell.frame.echoes))
	if who == tell.who && strings.Contains(short, "you") {
		return ""
	}
	return strings.ReplaceAll(t.line("restate", who), "{short}", short)
}

// gist returns the drawn value in an answer, if there is one.
func (t *talk) gist(tell *telling, d *detail) string {
	_, after, ok := strings.Cut(d.answer, "{")
	name, _, _ := strings.Cut(after, "}")
	if name = strings.TrimPrefix(name, "a:"); !ok || personal[name] || listOf(name) == "feeling" {
		return ""
	}
	return t.spoken(tell.who, tell, "{"+name+"}")
}

// more returns, sometimes, a sentence without a question.
func (t *talk) more(who int, tell *telling) string {
	if !template.Chance(t.r, t.options.Rates.More) {
		return ""
	}
	list := t.words.lists["more"]
	if t.people[who].assistant {
		return ""
	}
	if who == tell.who && template.Chance(t.r, t.options.Rates.OnTopic) {
		if near := slices.Concat(tell.frame.mores, tell.thread.class.mores); len(near) > 0 {
			list = near
		}
	}
	return t.spoken(who, tell, template.Pick(t.r, list))
}

func (t *talk) tail(who int) string {
	if t.people[1-who].assistant || !template.Chance(t.r, t.options.Rates.Tail) {
		return ""
	}
	return t.line("tail", who)
}

func (t *talk) caption(tell *telling) string {
	if len(tell.frame.captions) == 0 || t.people[1].assistant || !template.Chance(t.r, t.options.Rates.Caption) {
		return ""
	}
	return t.spoken(tell.who, tell, template.Pick(t.r, tell.frame.captions))
}

// spoken returns a text as a speaker says it. tell may be nil for a text without a topic.
func (t *talk) spoken(who int, tell *telling, text string) string {
	text = t.put(tell, text, func(name string) (string, bool) {
		switch name {
		case "N":
			return t.people[who].name, true
		case "O":
			return t.people[1-who].name, true
		case "when":
			return tell.when.said, true
		case "soon":
			return tell.soon.said, true
		}
		return "", false
	})
	return template.Choose(t.r, text)
}

// put replaces the references to people, to the thread, and to values drawn for the telling. It leaves other
// references.
func (t *talk) put(tell *telling, text string, people func(name string) (string, bool)) string {
	var value func(name string) (string, bool)
	value = func(name string) (string, bool) {
		if v, ok := people(name); ok || personal[name] {
			return v, ok
		}
		var v string
		if tell == nil {
			v = template.Pick(t.r, t.words.lists[listOf(name)])
		} else if kept, ok := tell.thread.values[name]; ok {
			v = kept
		} else {
			v = tell.slot(t.r, t.words, name)
		}
		return template.Fill(v, value), true
	}
	return template.Fill(text, value)
}

// slot returns the value of a reference to a list, drawn at its first use. {person} and {person2} differ.
func (tell *telling) slot(r *rand.Rand, words *library, name string) string {
	if v, ok := tell.slots[name]; ok {
		return v
	}
	list := words.lists[listOf(name)]
	v := template.Pick(r, list)
	for range 10 {
		if !tell.taken(listOf(name), v) {
			break
		}
		v = template.Pick(r, list)
	}
	tell.slots[name] = v
	return v
}

func (tell *telling) taken(list, v string) bool {
	for name, other := range tell.slots {
		if listOf(name) == list && other == v {
			return true
		}
	}
	return tell.thread.values[list] == v
}
