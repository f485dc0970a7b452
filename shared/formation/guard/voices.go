package guard

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// maxDeleted is how many entries one turn may delete. Who tells of their life ends few things at a time.
const maxDeleted = 3

// voices knows who said what in a session.
type voices struct {
	turns    map[string]voice
	speakers map[string]bool // stems of the speakers' names
}

// voice is one turn: what the user says for themself, and what is passed on of others, as stems; all of an assistant's turn is others'.
type voice struct {
	assistant   bool
	name        string
	own, others map[string]bool
	alone       bool // there are no words of the user's own
}

func newVoices(in formation.Bundle) voices {
	v := voices{turns: map[string]voice{}, speakers: formation.SpeakerStems(in.Session.Turns)}
	for _, t := range in.Session.Turns {
		if t.Role == memory.RoleAssistant {
			v.turns[t.ID] = voice{assistant: true, name: t.Speaker, alone: true}
			continue
		}
		own, others := text.Voices(t.Text)
		v.turns[t.ID] = voice{
			name: t.Speaker, own: text.StemSet(own + " " + t.Caption), others: text.StemSet(others), alone: others != "" && own+t.Caption == "",
		}
	}
	return v
}

// checked has a verdict do only what the voices behind it may.
func (v voices) checked(in formation.Verdict, known []memory.Memory, before memory.Core) formation.Verdict {
	contents := map[string]string{}
	for _, m := range known {
		contents[m.ID] = m.Content
	}
	ops := slices.Clone(in.Operations)
	deleted, gone := map[string]int{}, map[string]bool{} // by turn; entries that are no longer written
	for _, op := range ops {
		if op.Kind == memory.OpDelete {
			deleted[strings.Join(op.Sources, "\n")] += len(op.Targets)
		}
	}
	for i, op := range ops {
		none := func(reason string) {
			if op.New != nil {
				gone[op.New.ID] = true
			}
			ops[i] = memory.Operation{Kind: memory.OpNone, Sources: op.Sources, Reason: reason}
		}
		var stood string
		for _, id := range op.Targets {
			stood += contents[id] + "\n"
		}
		if op.New != nil {
			contents[op.New.ID] = op.New.Content
		}
		closes := op.Kind == memory.OpUpdate || op.Kind == memory.OpMerge || op.Kind == memory.OpDelete
		onGone := slices.ContainsFunc(op.Targets, func(id string) bool { return gone[id] })
		switch {
		case closes && (onGone || v.assistants(op.Sources)):
			none(reasonOthers)
		case op.Kind == memory.OpDelete && deleted[strings.Join(op.Sources, "\n")] > maxDeleted:
			none(reasonMany)
		case op.Kind == memory.OpDelete && v.othersEnd(op.Sources, stood):
			none(reasonOthers)
		case closes && op.New != nil && v.othersTell(op.Sources, op.New.Content, stood, 0):
			ops[i].Kind, ops[i].Targets, ops[i].Anew = memory.OpAdd, nil, false
		}
	}
	ops = v.fresh(ops, known)
	for i := range ops {
		v.attribute(&ops[i])
	}
	in.Operations = once(ops, known)
	in.Core = slices.DeleteFunc(slices.Clone(in.Core), func(op memory.CoreOperation) bool {
		return len(op.Sources) > 0 && (v.assistants(op.Sources) || v.othersTell(op.Sources, op.New, before.Content, 1))
	})
	return in
}

// assistants reports whether all sources are an assistant's.
func (v voices) assistants(sources []string) bool {
	return !slices.ContainsFunc(sources, func(id string) bool { return !v.turns[id].assistant })
}

// tellers counts the words of a statement that the user says for themself, and those that only others say; what stood there before and
// the speakers' names are not counted.
func (v voices) tellers(sources []string, content, before string) (own, others int) {
	known := text.StemSet(before)
	for _, stem := range text.ContentStems(content) {
		if known[stem] || v.speakers[stem] {
			continue
		}
		said := func(by func(voice) map[string]bool) bool {
			return slices.ContainsFunc(sources, func(id string) bool { return by(v.turns[id])[stem] })
		}
		switch {
		case said(func(t voice) map[string]bool { return t.own }):
			own++
		case said(func(t voice) map[string]bool { return t.others }):
			others++
		}
	}
	return own, others
}

// othersTell reports whether what is new in a statement is others' word, with at most so many words of the user's own in it where the
// limit is not 0.
func (v voices) othersTell(sources []string, content, before string, ownLimit int) bool {
	if !slices.ContainsFunc(sources, func(id string) bool { return !v.turns[id].alone }) {
		return true
	}
	own, others := v.tellers(sources, content, before)
	return others > 0 && (ownLimit == 0 || own < ownLimit)
}

// othersEnd reports whether the end of an entry is others' word: the sources pass something on, and the user's own words name nothing
// of it.
func (v voices) othersEnd(sources []string, before string) bool {
	if !slices.ContainsFunc(sources, func(id string) bool { return len(v.turns[id].others) > 0 || v.turns[id].alone }) {
		return false
	}
	for _, stem := range text.ContentStems(before) {
		if !v.speakers[stem] && slices.ContainsFunc(sources, func(id string) bool { return v.turns[id].own[stem] }) {
			return false
		}
	}
	return true
}

// attribute has an entry say whose word it is, where that is not the user's and the former has left it out.
func (v voices) attribute(op *memory.Operation) {
	if op.New == nil || len(op.Sources) == 0 {
		return
	}
	name, verb := v.turns[op.Sources[0]].name, " passed on: "
	switch assistants := v.assistants(op.Sources); {
	case assistants && mentions(op.New.Content, name):
		op.New.Slot = ""
		return
	case assistants:
		verb = " said: "
	case !v.othersTell(op.Sources, op.New.Content, "", 1):
		return
	}
	m := *op.New
	m.Content, m.Slot = name+verb+m.Content, ""
	op.New = &m
}

func mentions(content, name string) bool {
	content = strings.ToLower(content)
	return strings.Contains(content, "assistant") || name != "" && strings.Contains(content, strings.ToLower(name))
}
