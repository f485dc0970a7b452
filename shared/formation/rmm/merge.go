package rmm

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// merger turns the decisions on statements into the strategy's operations: ADD, MERGE and NONE.
type merger struct {
	former *Embedded
	in     formation.Bundle
	// shown are the entries of the bank by id.
	shown map[string]memory.Memory
	// fresh are the entries written so far, by id; order is the order of the writes.
	fresh map[string]memory.Memory
	order []string
	// successor is the entry that replaced another, or "" for an entry that ended without a successor.
	successor map[string]string
	ops       []memory.Operation
}

func newMerger(f *Embedded, in formation.Bundle) *merger {
	m := &merger{former: f, in: in, shown: map[string]memory.Memory{}, fresh: map[string]memory.Memory{},
		successor: map[string]string{}}
	for _, r := range in.Related {
		for _, e := range r.Memories {
			m.shown[e.ID] = e
		}
	}
	return m
}

// mergeTopic makes the operation of one topic.
func (m *merger) mergeTopic(ctx context.Context, r formation.Related, op memory.Operation) error {
	c := r.Candidate
	if op.Reason == embedded.ReasonPart {
		op.Kind, op.Targets = memory.OpMerge, op.New.Links[:1] // a summary is written anew without the part
	}
	targets := m.targets(op, ownerOfCandidate(c))
	switch {
	case op.Kind == memory.OpNone:
		op.Targets = m.current(op.Targets)
		m.ops = append(m.ops, op)
	case op.Kind != memory.OpAdd && len(targets) > 0:
		content, err := m.revised(ctx, c, targets)
		if err != nil {
			return err
		}
		m.merge(c, targets, content, op.Reason)
	case !op.Until.IsZero():
		op.New.ValidFrom = llm.Newest(m.in.Session.Turns, c.Sources)
		m.write(op, c)
	case m.knows(r):
	default:
		if t, content, ok := m.same(r); ok {
			m.merge(c, []memory.Memory{t}, content, reasonMerged)
			return nil
		}
		op.Kind, op.Targets, op.Reason, op.At = memory.OpAdd, nil, reasonAdded, time.Time{}
		e := m.entry(c, c.Content)
		if op.New != nil {
			e.Links, e.Tier = op.New.Links, op.New.Tier
		}
		op.New = &e
		m.write(op, c)
	}
	return nil
}

// targets returns the current versions of an operation's entries, of the same speaker only.
func (m *merger) targets(op memory.Operation, owner string) []memory.Memory {
	var out []memory.Memory
	for _, id := range m.current(op.Targets) {
		if e := m.lookup(id); belongs(e, owner) {
			out = append(out, e)
		}
	}
	return out
}

// current follows entries to those that took their place.
func (m *merger) current(ids []string) []string {
	var out []string
	for _, id := range ids {
		for m.successor[id] != "" {
			id = m.successor[id]
		}
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

func (m *merger) lookup(id string) memory.Memory {
	if e, ok := m.fresh[id]; ok {
		return e
	}
	return m.shown[id]
}

// known returns the speaker's valid entries that may relate to a topic, with their similarity. Entries of the bank
// come first, then the entries written before.
func (m *merger) known(r formation.Related) (entries []memory.Memory, similarity []float64) {
	owner := ownerOfCandidate(r.Candidate)
	add := func(e memory.Memory, near float64) {
		if _, gone := m.successor[e.ID]; !gone && e.Status == memory.StatusActive && belongs(e, owner) {
			entries, similarity = append(entries, e), append(similarity, near)
		}
	}
	for i, e := range r.Memories {
		near := 0.0
		if i < len(r.Similarity) {
			near = r.Similarity[i]
		}
		add(e, near)
	}
	for _, id := range m.order {
		e := m.fresh[id]
		add(e, memory.Cosine(r.Candidate.Vector, e.Vector))
	}
	return entries, similarity
}

// knows settles a topic with only known statements. No entry is written, and the operation names the entry with most
// of the topic.
func (m *merger) knows(r formation.Related) bool {
	c := r.Candidate
	wanted := m.former.claims(c.Content)
	told, best, target := map[string]bool{}, 0, ""
	entries, _ := m.known(r)
	for _, e := range entries {
		if c.Tier == memory.TierMemory && e.Tier == memory.TierTalk {
			continue
		}
		if !c.EventTime.Time.IsZero() && (e.EventTime.Time.IsZero() || !compatible(c.EventTime, e.EventTime)) {
			continue
		}
		n := 0
		for _, claim := range m.former.claims(e.Content) {
			if slices.Contains(wanted, claim) {
				told[claim] = true
				n++
			}
		}
		if n > best {
			best, target = n, e.ID
		}
	}
	if target == "" || slices.ContainsFunc(wanted, func(claim string) bool { return !told[claim] }) {
		return false
	}
	m.ops = append(m.ops, memory.Operation{Kind: memory.OpNone, Targets: []string{target},
		Sources: slices.Clone(c.Sources), Reason: reasonRepeated})
	return true
}

// revised returns the summary of entries that a topic changes. Sentences that the topic changes are removed, each
// after a separate judgement. Other sentences and unchanged facts stay.
func (m *merger) revised(ctx context.Context, c formation.Candidate, targets []memory.Memory) (string, error) {
	r := formation.Related{Candidate: c}
	var kept []dated
	for _, t := range targets {
		for _, s := range m.former.sentencesOf(t) {
			part := t
			part.ID, part.Content = strconv.Itoa(len(kept)), s.said
			r.Memories, kept = append(r.Memories, part), append(kept, s)
		}
	}
	v, err := m.former.Former.Decide(ctx, formation.Bundle{Session: m.in.Session, Related: []formation.Related{r}})
	if err != nil {
		return "", err
	}
	for _, op := range v.Operations {
		for _, id := range op.Targets {
			i, err := strconv.Atoi(id)
			switch {
			case err != nil || op.Kind == memory.OpNone:
			case op.Reason == embedded.ReasonRest:
				kept[i].said = op.New.Content
			default:
				kept[i].said = ""
			}
		}
	}
	kept = slices.DeleteFunc(kept, func(s dated) bool { return s.said == "" })
	return m.former.join(m.candidate(c), kept), nil
}

// merge writes a new version that replaces the targets. It fills the topic's empty fields from them.
func (m *merger) merge(c formation.Candidate, targets []memory.Memory, content, reason string) {
	e := m.entry(c, content)
	op := memory.Operation{Kind: memory.OpMerge, Sources: slices.Clone(c.Sources), Reason: reason, New: &e}
	for _, t := range targets {
		op.Targets = append(op.Targets, t.ID)
		if t.Tier == memory.TierMemory {
			e.Tier = memory.TierMemory // a change of a memory is one
		}
		if e.EventTime.Time.IsZero() {
			e.EventTime = t.EventTime
		}
		if e.Topic == "" {
			e.Topic = t.Topic
		}
		for _, k := range t.Keywords {
			if !slices.Contains(e.Keywords, k) && len(e.Keywords) < maxKeywords {
				e.Keywords = append(e.Keywords, k)
			}
		}
	}
	m.write(op, c)
}

// maxKeywords bounds what versions add up.
const maxKeywords = 24

func (m *merger) write(op memory.Operation, c formation.Candidate) {
	var older []string
	for _, id := range op.Targets {
		older = append(older, dialogueOf(m.lookup(id)))
	}
	op.New.Value = Dialogue(m.in.Session.Turns, op.Sources, older...)
	e := *op.New
	e.Vector = c.Vector
	m.fresh[e.ID] = e
	m.order = append(m.order, e.ID)
	if !op.Until.IsZero() {
		m.successor[e.ID] = ""
	}
	for _, id := range op.Targets {
		m.successor[id] = e.ID
	}
	m.ops = append(m.ops, op)
}

func (m *merger) entry(c formation.Candidate, content string) memory.Memory {
	sources := slices.Clone(c.Sources)
	slices.Sort(sources)
	return memory.Memory{
		ID: memory.DeriveID(m.in.Session.Scope, sources, c.Ordinal), Tier: c.Tier, Kind: c.Kind, Content: content,
		Speaker: c.Speaker, Topic: c.Topic,
		Keywords: slices.Clone(c.Keywords), EventTime: c.EventTime, ValidFrom: llm.Newest(m.in.Session.Turns, c.Sources),
		Status: memory.StatusActive, Sources: slices.Compact(sources),
		SessionID: m.in.Session.ID, Strategy: Name, PolicyVersion: m.former.Version(),
	}
}

// candidate returns the sentences of a topic, with its day.
func (m *merger) candidate(c formation.Candidate) []dated {
	return m.former.sentencesOf(memory.Memory{Content: c.Content, ValidFrom: llm.Newest(m.in.Session.Turns, c.Sources)})
}

// dated is a sentence of a summary with its day.
type dated struct{ day, said string }

// another stands before a sentence of another day. A summary is shown in quotation marks, which end and begin there.
// The latest sentence comes first, and its day is the entry's day. Every other sentence has its day, since a profile
// may leave out sentences between.
var another = regexp.MustCompile(`" \((\d{4}-\d{2}-\d{2})\): "`)

// plain returns a summary with line breaks, which end sentences, between the words of different days.
func plain(content string) string { return another.ReplaceAllString(content, "\n") }

// sentencesOf are the sentences of an entry.
func (f *Embedded) sentencesOf(m memory.Memory) []dated {
	var out []dated
	days := append([][]string{{"", m.ValidFrom.UTC().Format(time.DateOnly)}},
		another.FindAllStringSubmatch(m.Content, -1)...)
	for i, said := range another.Split(m.Content, -1) {
		for _, s := range f.splitter.Sentences(said) {
			out = append(out, dated{days[i][1], s})
		}
	}
	return out
}

// claims are the sentences of a summary as their stems in order, so that spellings are equal.
func (f *Embedded) claims(content string) []string {
	var out []string
	for _, s := range f.splitter.Sentences(plain(content)) {
		out = append(out, strings.Join(text.ContentStems(s), " "))
	}
	return out
}

// join returns the summary of the last and the earlier sentences, each once.
func (f *Embedded) join(last, before []dated) string {
	var said []string
	again := func(s dated) bool {
		claim := strings.Join(text.ContentStems(s.said), " ")
		if claim != "" && slices.Contains(said, claim) {
			return true
		}
		said = append(said, claim)
		return false
	}
	last = slices.DeleteFunc(slices.Clone(last), again)
	out := append(slices.DeleteFunc(slices.Clone(before), again), last...)
	slices.SortStableFunc(out, func(a, b dated) int { return strings.Compare(b.day, a.day) })
	var b strings.Builder
	for i, s := range out {
		switch {
		case s.day != out[0].day:
			b.WriteString(`" (` + s.day + `): "`)
		case i > 0:
			b.WriteString(" ")
		}
		b.WriteString(s.said)
	}
	return b.String()
}
