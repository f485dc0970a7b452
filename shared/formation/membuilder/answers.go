package membuilder

import (
	"strconv"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
	"github.com/mneme-memory/mneme/shared/text"
)

// maxNameBytes bounds a topic and the like.
const maxNameBytes = 128

// ops are the actions as operations of the bank.
var ops = map[string]memory.OpKind{"ADD": memory.OpAdd, "UPDATE": memory.OpUpdate, "MERGE": memory.OpMerge,
	"SKIP": memory.OpNone}

// events is the episodic role's answer.
type events struct {
	Nothing    bool    `json:"nothing" desc:"true when there is nothing to do, and then operations is empty"`
	Operations []event `json:"operations"`
}

type event struct {
	Action string `json:"action" enum:"ADD|UPDATE|MERGE"`
	Date   string `json:"date" desc:"when it happened or will: YYYY-MM-DD, YYYY-MM or YYYY"`
	Until  string `json:"until,omitempty" desc:"for MERGE the last date of the range, in the same form; else empty"`
	Said   string `json:"said,omitempty" desc:"the speaker's own words for the time, or empty"`
	common
	Summary string `json:"summary" desc:"who did what, in one sentence"`
	Details string `json:"details" desc:"everything else that was said of it, or empty"`
}

func (a events) actions(d *roleInput) (bool, []action) {
	out := make([]action, 0, len(a.Operations))
	for _, e := range a.Operations {
		act, err := e.action(d)
		act.common, act.fault = e.common, err
		out = append(out, act)
	}
	return a.Nothing, out
}

func (e event) action(d *roleInput) (action, error) {
	when, err := e.when()
	if err != nil {
		return action{}, err
	}
	words := strings.TrimSpace(e.Said)
	if said, err := llm.Positions(e.Sources, len(d.turns)); err == nil && len(words) <= maxNameBytes &&
		llm.WereSaid(words, d.turns, said) {
		when.Expression = words
	}
	summary, details := text.OneLine(e.Summary), text.OneLine(e.Details)
	if summary == "" {
		return action{}, structured.Faultf("summary is empty")
	}
	content := model.ShowEvent(when) + ": " + summary
	if details != "" {
		content += " | " + details
	}
	return action{common: e.common, kind: ops[e.Action], content: content, when: when, reason: strings.ToLower(e.Action)},
		e.check()
}

// when is the time of the event, as exactly as it was given.
func (e event) when() (memory.EventTime, error) {
	date, until := strings.TrimSpace(e.Date), strings.TrimSpace(e.Until)
	precision := map[int]string{10: "day", 7: "month", 4: "year"}[len(date)]
	if precision == "" {
		return memory.EventTime{}, structured.Faultf("date: want YYYY-MM-DD, YYYY-MM or YYYY; the session's own date where " +
			"no time was said")
	}
	t, err := llm.ParseEventTime(date, precision)
	if err != nil {
		return t, err
	}
	if (e.Action == "MERGE") != (until != "") {
		return t, structured.Faultf("until is for MERGE, and MERGE needs it: the last date of the range")
	}
	if until == "" {
		return t, nil
	}
	end, err := llm.ParseEventTime(until, precision)
	if err != nil || len(until) != len(date) || end.Time.Before(t.Time) {
		return t, structured.Faultf("until: want a date in the form of date, and not before it")
	}
	if end.Time.After(t.Time) {
		t.End = end.Time
	}
	return t, nil
}

// concepts is the semantic role's answer.
type concepts struct {
	Nothing    bool      `json:"nothing" desc:"true when there is nothing to do, and then operations is empty"`
	Operations []concept `json:"operations"`
}

type concept struct {
	Action string `json:"action" enum:"ADD|UPDATE|SKIP"`
	Why    string `json:"why" enum:"new|more|changed|common|known" desc:"common and known go with SKIP, the others with ADD and UPDATE"`
	common
	Content string `json:"content" desc:"the statement; empty for SKIP"`
}

func (a concepts) actions(*roleInput) (bool, []action) {
	out := make([]action, 0, len(a.Operations))
	for _, c := range a.Operations {
		fault := c.check()
		switch skip := c.Why == "common" || c.Why == "known"; {
		case skip != (c.Action == "SKIP"):
			fault = structured.Faultf("what is common or known is skipped, and nothing else is")
		case skip && strings.TrimSpace(c.Content) != "":
			fault = structured.Faultf("SKIP has content")
		}
		out = append(out, action{common: c.common, kind: ops[c.Action], content: text.OneLine(c.Content), reason: c.Why,
			fault: fault})
	}
	return a.Nothing, out
}

// procedures is the procedural role's answer.
type procedures struct {
	Nothing    bool        `json:"nothing" desc:"true when there is nothing to do, and then operations is empty"`
	Operations []procedure `json:"operations"`
}

type procedure struct {
	Action string `json:"action" enum:"ADD|UPDATE"`
	common
	Description string   `json:"description" desc:"what is done, and by whom"`
	Steps       []string `json:"steps" desc:"the steps in order, without numbers"`
	Context     string   `json:"context" desc:"when, where and why, or empty"`
}

func (a procedures) actions(*roleInput) (bool, []action) {
	out := make([]action, 0, len(a.Operations))
	for _, p := range a.Operations {
		content, fault := p.content()
		if fault == nil {
			fault = p.check()
		}
		out = append(out, action{common: p.common, kind: ops[p.Action], content: content, reason: strings.ToLower(p.Action),
			fault: fault})
	}
	return a.Nothing, out
}

// content returns the procedure in one line: its purpose, its numbered steps, and its context.
func (p procedure) content() (string, error) {
	description := text.OneLine(p.Description)
	if description == "" || len(p.Steps) == 0 {
		return "", structured.Faultf("a procedure needs a description and steps")
	}
	var b strings.Builder
	b.WriteString(description + " | Steps:")
	for i, s := range p.Steps {
		if s = text.OneLine(s); s == "" {
			return "", structured.Faultf("step %d is empty", i+1)
		}
		b.WriteString(" " + strconv.Itoa(i+1) + ". " + s)
	}
	if where := text.OneLine(p.Context); where != "" {
		b.WriteString(" | Context: " + where)
	}
	return b.String(), nil
}

// check holds the short fields against their bounds.
func (c common) check() error {
	if len(c.Topic) > maxNameBytes || strings.ContainsRune(c.Topic, 0) {
		return structured.Faultf("topic: want at most %d bytes of text", maxNameBytes)
	}
	return nil
}
