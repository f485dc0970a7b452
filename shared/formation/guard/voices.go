package guard

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/quarantine"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// PassedOn stands between a speaker and words that are not the speaker's own: "Ana passed on: ...".
const PassedOn = " passed on: "

// maxMarked is how many bytes of a content may stand before PassedOn: the speaker's name.
const maxMarked = 80

// IsMarked reports whether a content says of itself that it was passed on.
func IsMarked(content string) bool {
	at := strings.Index(content, PassedOn)
	return at >= 0 && at <= maxMarked
}

// maxDeleted is how many entries one turn may delete. Who tells of their life ends few things at a time.
const maxDeleted = 3

// voices knows who said what in a session.
type voices struct {
	turns    map[string]voice
	speakers map[string]bool // stems of the speakers' names
	// said are the candidates by the id of the entry that each makes.
	said map[string]formation.Candidate
}

// voice is one turn as stems: the user's statements, and the statements of others that the user passes on. All of an
// assistant's turn counts as others'.
type voice struct {
	assistant   bool
	name, said  string
	own, others map[string]bool
	// stated are own words without those that only lead up to others' words.
	stated map[string]bool
	// firm are the stems of own words that are surely the user's. Only they close entries and enter the core block.
	firm map[string]bool
	// claims are the stems of the turn's claims about "the user"; others has them, too.
	claims map[string]bool
	// planted are the stems of quotations and other passed-on words that may be an attack.
	planted map[string]bool
	alone   bool // there are no words of the user's own
	// unsure says that some own words may be another speaker's, infirm that all may.
	unsure, infirm bool
}

// newVoices divides the turns of a bundle; beside has the turns from which an attack was removed.
func newVoices(in formation.Bundle, beside map[string]quarantine.Found) voices {
	v := voices{turns: map[string]voice{}, speakers: formation.SpeakerStems(in.Session.Turns),
		said: map[string]formation.Candidate{}}
	for _, r := range in.Related {
		v.said[memory.DeriveID(in.Session.Scope, r.Candidate.Sources, r.Candidate.Ordinal)] = r.Candidate
	}
	framed := framedTurns(append(slices.Clone(before(in)), in.Session.Turns...))
	for _, t := range in.Session.Turns {
		_, attacked := beside[t.ID]
		v.turns[t.ID] = newVoice(t, attacked, framed[t.ID])
	}
	return v
}

// before returns the turns before a session.
func before(in formation.Bundle) []memory.Turn {
	if len(in.Session.Context) > 0 || len(in.Session.Turns) == 0 {
		return in.Session.Context
	}
	at := slices.IndexFunc(in.Window, func(t memory.Turn) bool { return t.ID == in.Session.Turns[0].ID })
	if at < 0 {
		return in.Window
	}
	return in.Window[:at]
}

// framedTurns returns the turns that the same user's turn directly before frames: "Here is Tom's post:".
func framedTurns(turns []memory.Turn) map[string]bool {
	out := map[string]bool{}
	turns = slices.SortedStableFunc(slices.Values(turns), memory.Turn.Compare)
	for i, t := range turns[min(1, len(turns)):] {
		last := turns[i]
		isNext := last.Role != memory.RoleAssistant && last.SessionID == t.SessionID && last.Speaker == t.Speaker
		out[t.ID] = isNext && text.FramesNext(last.Text, last.Speaker)
	}
	return out
}

// newVoice divides a turn. All of a framed turn is passed on.
func newVoice(t memory.Turn, attacked, framed bool) voice {
	if t.Role == memory.RoleAssistant {
		return voice{assistant: true, name: t.Speaker, alone: true, infirm: true}
	}
	if framed {
		return voice{name: t.Speaker, said: t.Text, others: text.StemSet(t.Text + " " + t.Caption), alone: true, infirm: true}
	}
	own, others := text.Voices(t.Text, t.Speaker)
	_, planted := quarantine.Doubted(others, false)
	own, doubted := quarantine.Doubted(own, attacked)
	others = strings.TrimSpace(others + "\n" + doubted)
	out := voice{
		name: t.Speaker, said: t.Text, own: text.StemSet(own + " " + t.Caption), others: text.StemSet(others),
		alone: others != "" && own+t.Caption == "",
	}
	out.firm, out.stated, out.infirm = out.own, out.own, out.alone
	unsure, leads := text.Unsure(t.Text, t.Speaker), text.Leads(t.Text, t.Speaker)
	if unsure+leads != "" {
		sure, _ := quarantine.Doubted(text.Sure(t.Text, t.Speaker), attacked)
		out.unsure, out.firm = unsure != "", text.StemSet(sure+" "+t.Caption)
		out.infirm = len(out.firm) == 0
	}
	if leads != "" {
		out.stated = text.StemSet(text.Sure(t.Text, t.Speaker) + " " + unsure + " " + t.Caption)
	}
	if others != "" {
		out.claims, out.planted = text.StemSet(text.Claims(t.Text)), text.StemSet(planted)
	}
	return out
}

// ownStems returns the stems of the user's own words in a turn. stated leaves out the words that lead up to others'
// words. firm has those that are surely the user's.
func ownStems(v voice) map[string]bool { return v.own }
func stated(v voice) map[string]bool   { return v.stated }
func firm(v voice) map[string]bool     { return v.firm }

// othersStems returns the stems of others' words in a turn. doubtful has the own words, too.
func othersStems(v voice) map[string]bool { return v.others }
func doubtful(v voice) map[string]bool    { return text.Union(v.own, v.others) }

// IsOwn reports whether a memory of these turns is surely the users' statement. No assistant made it, and most of it
// is not passed on. A content of a framed turn is marked.
func IsOwn(m memory.Memory, turns []memory.Turn) bool {
	v := voices{turns: map[string]voice{}, speakers: formation.SpeakerStems(turns)}
	var sources []string
	for _, t := range turns {
		if slices.Contains(m.Sources, t.ID) {
			v.turns[t.ID], sources = newVoice(t, false, false), append(sources, t.ID)
		}
	}
	sure, others := v.tellers(sources, m.Content, "", firm, doubtful)
	return !IsMarked(m.Content) && !v.assistants(sources) &&
		!v.passedOn(sources, m.Content) && (others == 0 || sure > others)
}

// Says reports whether a clause of a memory of these turns is surely the users' statement, as IsOwn does for the
// whole. A clause that a turn has word for word must occur so in the user's certain statements.
func Says(m memory.Memory, clause string, turns []memory.Turn) bool {
	part := m
	part.Content = clause
	if IsMarked(m.Content) || !IsOwn(part, turns) {
		return false
	}
	said, quoted := " "+text.Canonical(clause)+" ", false
	for _, t := range turns {
		if !slices.Contains(m.Sources, t.ID) || !strings.Contains(" "+text.Canonical(t.Text)+" ", said) {
			continue
		}
		for part := range strings.Lines(text.Sure(t.Text, t.Speaker)) {
			if strings.Contains(" "+text.Canonical(part)+" ", said) {
				return true
			}
		}
		quoted = true
	}
	return !quoted
}

// checked limits a verdict to the operations that its sources' speakers may cause. A refused replacement is added as
// an entry of its own, so no statement is lost.
func (v voices) checked(in formation.Verdict, known []memory.Memory, before memory.Core) formation.Verdict {
	contents := map[string]string{}
	for _, m := range known {
		contents[m.ID] = m.Content
	}
	ops := slices.Clone(in.Operations)
	// by turn; entries no longer written; turns
	deleted, gone, stopped := map[string]int{}, map[string]bool{}, map[string]bool{}
	// the entry that keeps a part against an operation
	whole := map[string]string{}
	for _, op := range ops {
		if op.Kind == memory.OpDelete {
			deleted[turnsOf(op.Sources)] += len(op.Targets)
		}
	}
	for i, op := range ops {
		none := func(reason string) {
			if op.New != nil {
				gone[op.New.ID] = true
			}
			stopped[turnsOf(op.Sources)] = true
			ops[i] = memory.Operation{Kind: memory.OpNone, Sources: op.Sources, Reason: reason}
		}
		op.New = unlinked(linking(op.New, whole), contents)
		ops[i].New = op.New
		var stood string
		for _, id := range op.Targets {
			stood += contents[id] + "\n"
		}
		if op.New != nil {
			contents[op.New.ID] = op.New.Content
		}
		closes := op.Kind == memory.OpUpdate || op.Kind == memory.OpMerge || op.Kind == memory.OpDelete
		onGone := slices.ContainsFunc(op.Targets, func(id string) bool { return gone[id] })
		onWhole := slices.ContainsFunc(op.Targets, func(id string) bool { return whole[id] != "" })
		part := partOf(ops[i:])
		switch {
		case part != nil && closes && (onWhole || v.othersTell(op.Sources, part.Content, stood, 0)):
			none(reasonOthers)
			whole[op.New.ID] = cmp.Or(whole[op.Targets[0]], op.Targets[0])
		case closes && op.New == nil && (onGone || onWhole || v.assistants(op.Sources)):
			none(reasonOthers)
		case op.Kind == memory.OpDelete && deleted[turnsOf(op.Sources)] > maxDeleted:
			none(reasonMany)
		case op.Kind == memory.OpDelete && (v.othersEnd(op.Sources, stood) || v.isAboutAnother(op, contents)):
			none(reasonOthers)
		case closes && op.New != nil && (onGone || onWhole || v.assistants(op.Sources) ||
			v.othersTell(op.Sources, op.New.Content, stood, 0) || v.isAboutAnother(op, contents)):
			ops[i] = v.asAddition(op)
			stopped[turnsOf(op.Sources)] = true
		}
	}
	ops = v.fresh(ops, known)
	for i := range ops {
		v.attribute(&ops[i])
	}
	in.Operations = once(ops, known)
	in.Core = v.checkedCore(in.Core, before.Content, stopped)
	return in
}

// isAboutAnother reports whether an operation closes a statement of the user about themself by a statement about
// another subject.
func (v voices) isAboutAnother(op memory.Operation, contents map[string]string) bool {
	var said []string
	if op.New != nil {
		said = []string{op.New.Content}
	} else {
		for _, id := range op.Sources {
			said = append(said, v.turns[id].said)
		}
	}
	return slices.ContainsFunc(op.Targets, func(id string) bool {
		return len(said) > 0 && !slices.ContainsFunc(said, func(s string) bool {
			return !text.IsAboutAnother(s, contents[id]) || actsOn(s, contents[id])
		})
	})
}

// altering verbs tell that a number, a time or a name is another one.
var altering = text.WordSet(`changed moved raised lowered increased reduced cut renamed rescheduled postponed delayed
	shifted switched`)

// actsOn reports whether a statement tells what unnamed others did with a thing of the speaker that an older statement
// names: "They moved my appointment", "They changed it".
func actsOn(said, older string) bool {
	words := text.Words(said)
	if len(words) < 3 || words[0].Lower != "they" || !altering[words[1].Lower] {
		return false
	}
	known := text.StemSet(older)
	for i := 2; i < len(words); i++ {
		if i == 2 && words[i].Lower == "it" {
			return true
		}
		if mine := words[i-1].Lower; (mine == "my" || mine == "our") && known[text.Stem(words[i].Lower)] {
			return true
		}
	}
	return false
}

// turnsOf is a key of the turns that operations come from.
func turnsOf(sources []string) string { return strings.Join(sources, "\n") }

// partOf returns the entry for which the first operation leaves only the rest of another entry. A later operation of
// the same turns writes the entry and links the rest. The result is nil where the first operation leaves no rest.
func partOf(ops []memory.Operation) *memory.Memory {
	if ops[0].New == nil {
		return nil
	}
	for _, op := range ops[1:] {
		if op.New != nil && slices.Equal(op.Sources, ops[0].Sources) && slices.Contains(op.New.Links, ops[0].New.ID) {
			return op.New
		}
	}
	return nil
}

// linking returns an entry that links the whole entries instead of their planned rests.
func linking(m *memory.Memory, whole map[string]string) *memory.Memory {
	if m == nil || !some(m.Links, whole) {
		return m
	}
	out := *m
	out.Links = slices.Clone(m.Links)
	for i, id := range out.Links {
		out.Links[i] = cmp.Or(whole[id], id)
	}
	return &out
}

// unlinked returns an entry about another person without its links to the user's statements about themself. It does not
// correct them.
func unlinked(m *memory.Memory, contents map[string]string) *memory.Memory {
	corrects := func(id string) bool { return text.IsAboutAnother(m.Content, contents[id]) }
	if m == nil || !slices.ContainsFunc(m.Links, corrects) {
		return m
	}
	out := *m
	out.Links = slices.DeleteFunc(slices.Clone(m.Links), corrects)
	return &out
}

// asAddition adds an entry that an operation planned as a replacement. The new entry has only the statement's content
// and tier, without the content of the replaced entries.
func (v voices) asAddition(op memory.Operation) memory.Operation {
	op.Kind, op.Targets, op.Anew = memory.OpAdd, nil, false
	if c, ok := v.said[op.New.ID]; ok && (op.New.Content != c.Content || op.New.Tier != c.Tier) {
		m := *op.New
		m.Content, m.Vector, m.Tier = c.Content, c.Vector, c.Tier
		op.New = &m
	}
	return op
}

// checkedCore removes changes of the block that come from others' words. It also removes changes whose operation on
// the bank was stopped.
func (v voices) checkedCore(ops []memory.CoreOperation, before string, stopped map[string]bool) []memory.CoreOperation {
	var out []memory.CoreOperation
	block := before
	for i, op := range ops {
		sure, _ := v.tellers(op.Sources, op.New, before, firm, doubtful)
		takes := op.Kind != memory.OpAppend && sure == 0 && stopped[turnsOf(op.Sources)]
		if len(op.Sources) > 0 && (takes || v.assistants(op.Sources) || v.othersTell(op.Sources, op.New, before, 1) ||
			op.Kind == memory.OpReplace && text.IsAboutAnother(op.New, op.Old)) {
			continue
		}
		next, err := memory.EditCore(block, op)
		if err != nil && len(out) < i { // it builds on one that was left out
			continue
		}
		out, block = append(out, op), next
	}
	return out
}

// assistants reports whether all sources are an assistant's.
func (v voices) assistants(sources []string) bool {
	return !slices.ContainsFunc(sources, func(id string) bool { return !v.turns[id].assistant })
}

// tellers counts the different words of a statement in two groups. The user states the first group; only others state,
// or may state, the second. mine and theirs select the words of a turn. The count leaves out earlier content and the
// speakers' names.
func (v voices) tellers(
	sources []string, content, before string, mine, theirs func(voice) map[string]bool,
) (users, others int) {
	known := text.StemSet(before)
	for _, stem := range text.ContentStems(content) {
		if known[stem] || v.speakers[stem] {
			continue
		}
		known[stem] = true
		said := func(by func(voice) map[string]bool) bool {
			return slices.ContainsFunc(sources, func(id string) bool { return by(v.turns[id])[stem] })
		}
		switch {
		case said(mine):
			users++
		case said(theirs):
			others++
		}
	}
	return users, others
}

// othersTell reports whether the new words of a statement are, or may be, others' words. Where ownLimit is not 0, the
// statement may have at most that many words that are surely the user's.
func (v voices) othersTell(sources []string, content, before string, ownLimit int) bool {
	if !slices.ContainsFunc(sources, func(id string) bool { return !v.turns[id].infirm }) {
		return true
	}
	sure, others := v.tellers(sources, content, before, firm, doubtful)
	return others > 0 && (ownLimit == 0 || sure < ownLimit)
}

// leastPlanted is how many words of a suspect quotation make a statement others' words.
const leastPlanted = 3

// passedOn reports whether a statement is others' words. The user's words are then fewer than the others' words, or no
// more than the claims about "the user". Or the statement holds a suspect quotation.
func (v voices) passedOn(sources []string, content string) bool {
	alone := !slices.ContainsFunc(sources, func(id string) bool { return !v.turns[id].alone })
	if users, others := v.tellers(sources, content, "", stated, othersStems); alone || others > users {
		return true
	}
	users, claimed, planted := 0, 0, 0
	for _, stem := range text.ContentStems(content) {
		switch said := func(by func(voice) map[string]bool) bool {
			return slices.ContainsFunc(sources, func(id string) bool { return by(v.turns[id])[stem] })
		}; {
		case v.speakers[stem]:
		case said(ownStems):
			users++
		case said(func(t voice) map[string]bool { return t.claims }):
			claimed++
		case said(func(t voice) map[string]bool { return t.planted }):
			planted++
		}
	}
	return claimed > 0 && claimed >= users || planted > 0 && planted >= min(leastPlanted, v.planted(sources))
}

// planted counts the words of suspect quotations in some turns.
func (v voices) planted(sources []string) int {
	n := 0
	for _, id := range sources {
		n += len(v.turns[id].planted)
	}
	return n
}

// othersEnd reports whether others' words end an entry: the sources pass a statement on, and the user's words name no
// part of the entry.
func (v voices) othersEnd(sources []string, before string) bool {
	if !slices.ContainsFunc(sources, func(id string) bool {
		t := v.turns[id]
		return len(t.others) > 0 || t.alone || t.unsure
	}) {
		return false
	}
	return !slices.ContainsFunc(text.ContentStems(before), func(stem string) bool {
		return !v.speakers[stem] && slices.ContainsFunc(sources, func(id string) bool { return v.turns[id].firm[stem] })
	})
}

// attribute adds the speaker to an entry of another speaker, where the former has left the name out.
func (v voices) attribute(op *memory.Operation) {
	if op.New == nil || len(op.Sources) == 0 {
		return
	}
	name, verb := v.turns[op.Sources[0]].name, PassedOn
	switch assistants := v.assistants(op.Sources); {
	case assistants && mentions(op.New.Content, name):
		op.New.Slot = ""
		return
	case assistants:
		verb = " said: "
	case !v.passedOn(op.Sources, op.New.Content):
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
