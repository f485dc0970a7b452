package synthesis

import (
	"fmt"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/lab/synthesis/template"
	"github.com/mneme-memory/mneme/shared/memory"
)

// conversation is a session under construction.
type conversation struct {
	*life
	chat    chatter
	session Session
	at      time.Time
	// next is the next speaker.
	next int
	// gist is the last told fact, by the speaker told; -1 before the first fact.
	gist string
	told int
	// praised is true after a turn that praised or encouraged.
	praised bool
}

// talk makes a session that begins at a time.
func (l *life) talk(start time.Time) Session {
	c := &conversation{life: l, at: start, told: -1}
	c.session = Session{ID: fmt.Sprintf("s%d", l.session+1), Time: start}
	c.chat = chatter{words: l.words, r: l.r, assistant: l.person.Form == FormAssistant}
	if l.person.Form == FormFriends && template.Chance(l.r, 0.4) {
		c.next = 1
	}
	c.open()
	for range max(1, l.options.Beats-2+l.r.IntN(5)) {
		c.beat()
	}
	c.close()
	c.session.ClosedAt = c.at.Add(time.Minute)
	return c.session
}

// line is a turn before its speech.
type line struct {
	kind    TurnKind
	parts   []string
	caption string
	targets []int
}

// speak appends a turn of the next speaker.
func (c *conversation) speak(n line) {
	who := c.next
	c.at = c.at.Add(time.Duration(15+c.r.IntN(150)) * time.Second)
	id := fmt.Sprintf("%s:%d", c.session.ID, len(c.session.Turns)+1)
	salient := n.kind == KindTell || n.kind == KindAnswer
	t := Turn{Salient: salient, Targets: n.targets, Kind: n.kind}
	text := template.Capitalise(join(n.parts))
	t.Turn = memory.Turn{
		ID: id, SessionID: c.session.ID, Speaker: c.speaker(who).Name, Role: c.speaker(who).Role,
		Text: c.style[who].apply(c.r, text, c.protect(n.targets)), Caption: n.caption, Time: c.at,
	}
	for _, i := range n.targets {
		target := &c.person.Targets[i]
		target.Turns = append(target.Turns, id)
		if target.ValidFrom.IsZero() {
			c.settle(target, t.Time)
		}
	}
	c.session.Turns = append(c.session.Turns, t)
	c.next, c.praised = 1-who, false
}

// settle dates a target and closes the one before.
func (c *conversation) settle(t *Target, at time.Time) {
	t.ValidFrom = at
	if t.Operation == memory.OpUpdate || t.Operation == memory.OpDelete {
		c.person.Targets[t.Predecessor].ValidTo = at
	}
}

// protect returns the phrases without typing errors.
func (c *conversation) protect(targets []int) []string {
	out := []string{c.person.Profile.Name, c.person.Other.Name}
	for _, i := range targets {
		out = append(out, c.person.Targets[i].Keywords...)
	}
	return out
}

func join(parts []string) string {
	var out []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, " ")
}

// small makes small talk of a kind, about the last told fact.
func (c *conversation) small(kind chatKind) string {
	vars := map[string]string{"N": c.speaker(c.next).Name, "F": c.speaker(1 - c.next).Name, "gist": c.gist}
	return c.chat.line(kind, c.scope(vars, nil))
}

func (c *conversation) open() {
	c.speak(line{kind: KindOpening, parts: []string{c.small(chatOpening)}})
	if template.Chance(c.r, 0.6) {
		c.speak(line{kind: KindOpening, parts: []string{c.small(chatOpeningReply)}})
	}
}

func (c *conversation) close() {
	if c.next != 0 && template.Chance(c.r, 0.5) {
		c.react()
	}
	c.speak(line{kind: KindClosing, parts: []string{c.small(chatClosing)}})
	if template.Chance(c.r, 0.6) {
		c.speak(line{kind: KindClosing, parts: []string{c.small(chatClosingReply)}})
	}
}

// beat tells one fact, or makes small talk.
func (c *conversation) beat() {
	if template.Chance(c.r, 0.07) {
		c.idle()
		return
	}
	who := c.teller()
	pick := c.choose(who)
	if pick.thing == nil {
		c.idle()
		return
	}
	asked := c.next != who || template.Chance(c.r, 0.12) // else the other would have to ask first
	told := c.tell(who, pick, asked, c.at)
	c.handOver(who, told.ask)
	c.deliver(who, told)
	c.respond(who, told)
}

// teller draws the teller of the next fact: mostly the user, and in a chat of friends mostly the next speaker.
func (c *conversation) teller() int {
	if c.person.Form == FormFriends {
		if template.Chance(c.r, 0.88) {
			return c.next
		}
		return 1 - c.next
	}
	if template.Chance(c.r, 0.06) && len(c.session.Turns) > 2 {
		return 1
	}
	return 0
}

// handOver lets the other speaker take a turn when it is their turn, or when they have to ask first.
func (c *conversation) handOver(who int, ask string) {
	for c.next == who {
		if ask == "" {
			return
		}
		c.react() // a reaction may be a question with its answer; then the same speaker is next again
	}
	parts := []string{c.remark(0.6), ask}
	switch {
	case ask != "":
	case template.Chance(c.r, 0.45):
		parts[1] = c.small(chatElicit)
	default:
		for c.next != who {
			c.react()
		}
		return
	}
	c.speak(line{kind: KindQuestion, parts: parts})
}

// deliver speaks a told fact, often with a reaction before it and a question after it.
func (c *conversation) deliver(who int, t told) {
	kind, show := KindTell, ""
	if t.ask != "" {
		kind = KindAnswer
	}
	if t.caption != "" && template.Chance(c.r, 0.6) {
		show = c.small(chatShow)
	}
	back := ""
	if t.follow[0] == "" && template.Chance(c.r, 0.22) {
		back = c.small(chatAskBack)
	}
	before := c.remark(0.6)
	if t.ask != "" && template.Chance(c.r, 0.7) {
		before = "" // the answer to a question mostly has no reaction
	}
	c.speak(line{kind: kind, parts: []string{before, t.say, c.elaborate(0.45), show, back}, caption: t.caption,
		targets: []int{t.target}})
	c.gist, c.told = t.gist, who
}

// respond lets the other speaker respond: a question with an answer, a reaction, or nothing.
func (c *conversation) respond(who int, t told) {
	if t.follow[0] != "" {
		c.speak(line{kind: KindQuestion, parts: []string{c.remark(0.7), t.follow[0]}})
		c.speak(line{kind: KindAnswer, parts: []string{c.remark(0.2), t.follow[1]}, targets: []int{t.target}})
	}
	if c.person.Form == FormFriends && template.Chance(c.r, 0.78) {
		return // the reaction comes with the next fact
	}
	c.react()
}

// remark returns a short reaction to the last turn, before other text. It is empty without a cause.
func (c *conversation) remark(p float64) string {
	if !template.Chance(c.r, p) {
		return ""
	}
	switch {
	case c.praised:
		return c.small(chatThanks)
	case c.told >= 0 && c.told != c.next:
		return c.small(chatRemark)
	}
	return ""
}

// react speaks a turn without a fact.
func (c *conversation) react() {
	if c.praised {
		c.speak(line{kind: KindReaction, parts: []string{c.small(chatThanks), c.small(chatAgree)}})
		return
	}
	if c.told < 0 || c.told == c.next {
		c.speak(line{kind: KindChatter, parts: []string{c.small(chatAgree)}})
		return
	}
	n, praise := c.reaction()
	c.speak(n)
	c.praised = praise
	if n.kind == KindQuestion {
		c.speak(line{kind: KindAnswer, parts: []string{c.elaborate(1), c.elaborate(0.4)}})
	}
}

// elaborate returns a detail about the speaker's life for the told fact: a feeling, a reason.
func (c *conversation) elaborate(p float64) string {
	if !template.Chance(c.r, p) {
		return ""
	}
	return template.Pick(c.r, c.words.lists["elaborate"]).Expand(c.r, c.scope(map[string]string{}, nil).resolve)
}

// reaction draws a reaction to the told fact.
func (c *conversation) reaction() (n line, praise bool) {
	echo, advice := 0.15, 0.05
	if c.assistant(c.next) {
		advice = 0.3
	}
	switch x := c.r.Float64(); {
	case x < echo:
		return line{kind: KindEcho, parts: []string{c.small(chatEcho)}}, false
	case x < echo+advice:
		return line{kind: KindAdvice, parts: []string{c.remark(0.5), c.small(chatAdvice)}}, false
	case x < 0.45:
		return line{kind: KindReaction, parts: []string{c.small(chatRemark), c.small(chatEncourage)}}, true
	case x < 0.6:
		return line{kind: KindReaction, parts: []string{c.small(chatCompliment)}}, true
	case x < 0.8:
		return line{kind: KindQuestion, parts: []string{c.small(chatRemark), c.small(chatAskMore)}}, false
	}
	return line{kind: KindReaction, parts: []string{c.small(chatRemark)}}, false
}

// idle makes unrelated small talk: of friends, or a task for the assistant.
func (c *conversation) idle() {
	if c.person.Form == FormAssistant {
		if c.next != 0 {
			c.react()
		}
		if template.Chance(c.r, 0.12) {
			c.speak(line{kind: KindHostile, parts: []string{c.small(chatHostile)}})
			c.speak(line{kind: KindReaction, parts: []string{c.small(chatRefuse)}})
			return
		}
		c.speak(line{kind: KindQuestion, parts: []string{c.small(chatRequest)}})
		c.speak(line{kind: KindAdvice, parts: []string{c.small(chatAdvice), c.small(chatAdvice)}})
		return
	}
	c.speak(line{kind: KindChatter, parts: []string{c.small(chatIdle)}})
	if template.Chance(c.r, 0.6) {
		c.speak(line{kind: KindChatter, parts: []string{c.small(chatIdleReply)}})
	}
}
