package formation

import (
	"slices"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// updates compares the closings of the operations with the replacements in the ground truth.
func (t *Tally) updates(s dataset.Subject, f Formed) {
	if len(s.Targets) == 0 {
		return
	}
	u := updateCheck{subject: s, entries: map[string]memory.Memory{}, stated: map[string][]int{}}
	for _, m := range f.Entries {
		u.entries[m.ID] = m
	}
	for _, op := range f.Operations {
		if op.Kind == memory.OpUpdate || op.Kind == memory.OpMerge || op.Kind == memory.OpDelete {
			u.closings = append(u.closings, op)
		}
	}
	for i, target := range s.Targets {
		for _, turn := range target.Turns {
			u.stated[turn] = append(u.stated[turn], i)
		}
	}
	for _, target := range s.Targets {
		if target.IsUpdate() {
			t.counted.Updates++
			if u.hits(target) {
				t.updateHits++
			}
		}
	}
	t.counted.Closings += len(u.closings)
	for _, op := range u.closings {
		if slices.ContainsFunc(op.Targets, func(id string) bool { return u.loses(op, u.entries[id]) }) {
			t.wrongClosings++
		}
	}
}

// updateCheck maps each entry to its targets.
type updateCheck struct {
	subject dataset.Subject
	entries map[string]memory.Memory
	// closings are the operations that close an entry.
	closings []memory.Operation
	// stated maps turns to the targets that they state.
	stated map[string][]int
}

// hits reports whether an operation from the target's turns closed an entry made from the predecessor's turns.
func (u updateCheck) hits(want dataset.Target) bool {
	before := u.subject.Targets[want.Predecessor]
	return slices.ContainsFunc(u.closings, func(op memory.Operation) bool {
		return score.Overlap(op.Sources, want.Turns) && slices.ContainsFunc(op.Targets, func(id string) bool {
			return score.Overlap(u.entries[id].Sources, before.Turns)
		})
	})
}

// loses reports whether an operation loses a true statement. The closed entry states a target that still holds, and
// the new entry does not state it.
func (u updateCheck) loses(op memory.Operation, closed memory.Memory) bool {
	at, have := op.At, map[string]bool{}
	if op.New != nil {
		have = text.StemSet(op.New.Content)
		if at.IsZero() {
			at = op.New.ValidFrom
		}
	}
	old := text.StemSet(closed.Content)
	return slices.ContainsFunc(u.states(closed), func(i int) bool {
		words := u.subject.Targets[i].Words
		return u.isCurrent(i, at) && score.WordsIn(words, have) < score.WordsIn(words, old)
	})
}

// isCurrent reports whether a target still holds at a time, by the statements up to then.
func (u updateCheck) isCurrent(target int, at time.Time) bool {
	if op := u.subject.Targets[target].Operation; op == memory.OpDelete || op == memory.OpNone {
		return false
	}
	return !slices.ContainsFunc(u.subject.Targets, func(t dataset.Target) bool {
		return slices.Contains(t.Ends, target) && !t.At.After(at)
	})
}

// states returns the targets that an entry states, among the targets of its turns. An entry states a target if it has
// half of the target's words. If no target reaches half, the one with most words counts.
func (u updateCheck) states(m memory.Memory) []int {
	have := text.StemSet(m.Content)
	var stated []int
	for _, turn := range m.Sources {
		stated = append(stated, u.stated[turn]...)
	}
	return score.HalfOrMost(stated, func(i int) float64 { return score.WordsIn(u.subject.Targets[i].Words, have) })
}
