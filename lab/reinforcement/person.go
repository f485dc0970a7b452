package reinforcement

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/lab/reward"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/text"
)

// person is a made-up life with the expected results of its sessions.
type person struct {
	synthesis.Person
	subject  dataset.Subject
	embedder embedding.Embedder
	// wants are the targets' statements, with their vectors, in the order of the targets.
	wants []reward.Entry
	// told has the targets that each turn tells. A repetition has the repeated target. salient are the turns that are
	// worth keeping.
	told    map[string][]int
	salient map[string]bool
	turns   map[string]memory.Turn
	// questions ask for the value of each target. A target without a value has a question without text. likes are the
	// questions about preferences, by text.
	questions []question
	likes     map[string]bool
}

func newPerson(ctx context.Context, p synthesis.Person, e embedding.Embedder) (*person, error) {
	out := &person{
		Person: p, subject: p.Subject("training"), embedder: e, told: map[string][]int{}, salient: map[string]bool{},
		turns: map[string]memory.Turn{}, likes: map[string]bool{},
	}
	for i, target := range p.Targets {
		out.wants = append(out.wants, reward.Entry{Text: target.Statement, Keywords: target.Keywords})
		if target.Operation == memory.OpNone {
			i = target.Predecessor
		}
		for _, turn := range target.Turns {
			out.told[turn] = append(out.told[turn], i)
		}
	}
	for _, s := range p.Sessions {
		for _, t := range s.Turns {
			out.salient[t.ID], out.turns[t.ID] = t.Salient, t.Turn
		}
	}
	if err := embed(ctx, e, out.wants); err != nil {
		return nil, err
	}
	return out, out.makeQuestions(ctx)
}

// transcript returns the text of all turns up to a session.
func (p *person) transcript(session int) string {
	var out strings.Builder
	for _, s := range p.Sessions[:session+1] {
		for _, turn := range s.Turns {
			out.WriteString(turn.Text + "\n")
		}
	}
	return out.String()
}

// currentTargets returns the targets with statements that hold after a session.
func (p *person) currentTargets(session int) map[int]bool {
	out := map[int]bool{}
	for i, target := range p.Targets {
		if target.Session > session {
			continue
		}
		for _, ended := range target.Ends {
			delete(out, ended)
		}
		if target.Operation != memory.OpDelete && target.Operation != memory.OpNone {
			out[i] = true
		}
	}
	return out
}

// Remembered has the memories of a life at one time.
type Remembered struct {
	// entries are the active entries, ids their ids, told the targets that each tells.
	entries []reward.Entry
	ids     []string
	told    [][]int
	// shown is the number of memories that the former has seen so far.
	shown int
}

// without leaves out entries.
func (r Remembered) without(out func(i int) bool) Remembered {
	var kept Remembered
	for i := range r.entries {
		if !out(i) {
			kept.entries, kept.ids, kept.told = append(kept.entries, r.entries[i]), append(kept.ids, r.ids[i]),
				append(kept.told, r.told[i])
		}
	}
	return kept
}

// wanted returns the expected memories after a session, given the memories before it (DeltaMem, 3.3.1). Entries that
// the session does not end stay as they are. Of an entry that ends in part, the valid statements stay. The session's
// statements are new. A session need not add statements that an earlier session missed.
func (p *person) wanted(before Remembered, session int) (out []reward.Entry) {
	held, holds := p.currentTargets(session-1), p.currentTargets(session)
	for i, e := range before.entries {
		ended := slices.ContainsFunc(before.told[i], func(t int) bool { return held[t] && !holds[t] })
		if !ended {
			out = append(out, e)
			continue
		}
		for _, t := range before.told[i] {
			if holds[t] {
				out = append(out, p.wants[t])
			}
		}
	}
	for i, t := range p.Targets {
		if t.Session == session && holds[i] {
			out = append(out, p.wants[i])
		}
	}
	return out
}

// transition compares a session's result with the expected result. Two kinds of entries count for neither side. The
// first are entries that an earlier session should have ended, whether they stay or go now. The second are entries
// that record an ending, as long as the ended entry is gone.
func (p *person) transition(before, after Remembered, session int, o reward.TransitionOptions) reward.Transition {
	o.Said = p.transcript(session)
	held, stale := p.currentTargets(session-1), map[string]bool{}
	all := func(told []int, are func(t int) bool) bool {
		return len(told) > 0 && !slices.ContainsFunc(told, func(t int) bool { return !are(t) })
	}
	before = before.without(func(i int) bool {
		stale[before.ids[i]] = all(before.told[i], func(t int) bool { return !held[t] && !p.records(t) })
		return stale[before.ids[i]] || all(before.told[i], p.records)
	})
	after = after.without(func(i int) bool { return stale[after.ids[i]] || all(after.told[i], p.records) })
	return reward.StateTransition(before.entries, after.entries, p.wanted(before, session), o)
}

// records reports whether a target records an ending.
func (p *person) records(target int) bool { return p.Targets[target].Operation == memory.OpDelete }

// retrieved reports whether the former saw all earlier memories that a session should change or end (DeltaMem,
// 3.3.4).
func (p *person) retrieved(before Remembered, formed formation.Formed, session int) bool {
	held, holds := p.currentTargets(session-1), p.currentTargets(session)
	shown := formed.Shown[before.shown:]
	for t := range held {
		known, seen := false, false
		for i, id := range before.ids {
			if slices.Contains(before.told[i], t) {
				known, seen = true, seen || slices.Contains(shown, id)
			}
		}
		if !holds[t] && known && !seen {
			return false
		}
	}
	return true
}

// made returns the memories of a life: the active entries, with the entries that each replaced.
func (p *person) made(ctx context.Context, formed formation.Formed) (Remembered, error) {
	entries := map[string]memory.Memory{}
	for _, m := range formed.Entries {
		entries[m.ID] = m
	}
	out := Remembered{shown: len(formed.Shown)}
	for _, m := range formed.Entries {
		if m.Status != memory.StatusActive {
			continue
		}
		e := reward.Entry{Text: m.Content}
		for _, id := range m.Predecessors {
			e.Replaced = append(e.Replaced, entries[id].Content)
		}
		out.entries, out.ids, out.told = append(out.entries, e), append(out.ids, m.ID),
			append(out.told, p.tellsOf(m.Content, m.Sources))
	}
	return out, embed(ctx, p.embedder, out.entries)
}

// tellsOf returns the targets that an entry tells, among the targets of its turns. A turn makes several entries, and
// most tell a part of it. An entry tells the targets with half of their keywords in it. Without such a target, it
// tells the target with the most keywords.
func (p *person) tellsOf(content string, sources []string) []int {
	var told []int
	for _, turn := range sources {
		told = append(told, p.told[turn]...)
	}
	return score.HalfOrMost(told, func(t int) float64 { return reward.Coverage(p.wants[t].Keywords, []string{content}) })
}

// gating counts the filter's results for the turns of sessions from `from` to before `to`.
func (p *person) gating(formed formation.Formed, from, to int) (out reward.Gating) {
	for _, s := range p.Sessions[from:to] {
		for _, t := range s.Turns {
			kept, decided := formed.Decisions[t.ID]
			kept = kept || !decided
			if kept {
				out.Kept++
			}
			if t.Salient {
				out.Salient++
				if kept {
					out.KeptRight++
				}
			}
		}
	}
	return out
}

func embed(ctx context.Context, e embedding.Embedder, entries []reward.Entry) error {
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = e.Text
	}
	vectors, err := e.Embed(ctx, texts)
	if err != nil {
		return fmt.Errorf("embed: %w", err)
	}
	for i := range entries {
		entries[i].Vector = vectors[i]
	}
	return nil
}

// written returns the words written to each kind of memory in a session, and the words of the wanted statements of
// that kind.
func (p *person) written(formed formation.Formed, session int) (out []reward.Written) {
	in := map[string]bool{}
	for _, t := range p.Sessions[session].Turns {
		in[t.ID] = true
	}
	kinds := map[memory.Kind]reward.Written{}
	for _, m := range formed.Entries {
		if m.Status == memory.StatusActive && slices.ContainsFunc(m.Sources, func(id string) bool { return in[id] }) {
			w := kinds[m.Kind]
			w.Tokens += float64(text.CountWords(m.Content))
			kinds[m.Kind] = w
		}
	}
	for _, t := range p.Targets {
		if t.Session == session && t.Operation != memory.OpNone && t.Operation != memory.OpDelete {
			w := kinds[t.Kind]
			w.Expert += float64(text.CountWords(t.Statement))
			kinds[t.Kind] = w
		}
	}
	for _, k := range memory.Kinds() {
		out = append(out, kinds[k])
	}
	return out
}

// words counts the words of all active entries and of all turns.
func (p *person) words(formed formation.Formed) (remembered, said int) {
	for _, m := range formed.Entries {
		if m.Status == memory.StatusActive {
			remembered += text.CountWords(m.Content)
		}
	}
	for _, s := range p.Sessions {
		for _, t := range s.Turns {
			said += text.CountWords(t.Text)
		}
	}
	return remembered, said
}
