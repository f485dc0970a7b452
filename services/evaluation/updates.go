package evaluation

import (
	"slices"

	"github.com/mneme-memory/mneme/shared/language"
	"github.com/mneme-memory/mneme/shared/memory"
)

// updates holds what operations closed against what the truth says was replaced or taken back.
func (t *Tally) updates(s Subject, f Formed) {
	if len(s.Targets) == 0 {
		return
	}
	u := newUpdateCheck(s, f)
	for i, target := range s.Targets {
		if target.Predecessor < 0 || (target.Operation != memory.OpUpdate && target.Operation != memory.OpMerge && target.Operation != memory.OpDelete) {
			continue
		}
		t.Updates++
		if u.hits(i) {
			t.UpdateHits++
		}
	}
	closings, wrong := u.closings()
	t.Closings += closings
	t.WrongClosings += len(wrong)
}

// updateCheck knows which target each entry tells.
type updateCheck struct {
	subject Subject
	formed  Formed
	entries map[string]memory.Memory
	// told are the targets by turn.
	told map[string][]int
}

func newUpdateCheck(s Subject, f Formed) updateCheck {
	u := updateCheck{subject: s, formed: f, entries: map[string]memory.Memory{}, told: map[string][]int{}}
	for _, m := range f.Entries {
		u.entries[m.ID] = m
	}
	for i, target := range s.Targets {
		for _, turn := range target.Turns {
			u.told[turn] = append(u.told[turn], i)
		}
	}
	return u
}

// Misses returns the indices of the targets that should have closed their predecessor's entry and did not, and
// the operations that closed what still holds: what to look at when the shares are bad.
func Misses(s Subject, f Formed) (missed []int, wrong []memory.Operation) {
	u := newUpdateCheck(s, f)
	for i, target := range s.Targets {
		if target.Predecessor >= 0 && target.Operation != memory.OpNone && target.Operation != memory.OpAdd && !u.hits(i) {
			missed = append(missed, i)
		}
	}
	_, wrong = u.closings()
	return missed, wrong
}

// hits reports whether an operation from the target's turns closed an entry of its predecessor.
func (u updateCheck) hits(target int) bool {
	want := u.subject.Targets[target]
	for _, op := range u.formed.Operations {
		if !closes(op) || !intersect(op.Sources, want.Turns) {
			continue
		}
		for _, id := range op.Targets {
			if u.target(u.entries[id]) == want.Predecessor {
				return true
			}
		}
	}
	return false
}

// closings counts the operations that close something, and returns those that close what still holds.
func (u updateCheck) closings() (n int, wrong []memory.Operation) {
	for _, op := range u.formed.Operations {
		if !closes(op) {
			continue
		}
		n++
		if slices.ContainsFunc(op.Targets, func(id string) bool { return !u.mayClose(op, u.entries[id]) }) {
			wrong = append(wrong, op)
		}
	}
	return n, wrong
}

// mayClose reports whether an operation may end an entry: the turns it comes from end the entry's target, or an
// earlier turn did, or the new entry tells the same target, so that nothing is lost.
func (u updateCheck) mayClose(op memory.Operation, closed memory.Memory) bool {
	old := u.target(closed)
	if old < 0 {
		return op.New != nil && keepsWords(op.New.Content, closed.Content)
	}
	if op.New != nil && u.target(*op.New) == old {
		return true
	}
	at := op.At
	if op.New != nil {
		at = op.New.ValidFrom
	}
	for _, target := range u.subject.Targets {
		ends := target.Operation == memory.OpUpdate || target.Operation == memory.OpMerge || target.Operation == memory.OpDelete
		if ends && target.Predecessor == old && !target.At.After(at) {
			return true
		}
	}
	return op.New != nil && keepsWords(op.New.Content, closed.Content)
}

// target returns which of the targets told in the entry's turns it tells: the one most of whose words
// it has; -1 when its turns tell none.
func (u updateCheck) target(m memory.Memory) int {
	have := language.StemSet(m.Content)
	best, most := -1, -1.0
	for _, turn := range m.Sources {
		for _, i := range u.told[turn] {
			if share := shareOf(u.subject.Targets[i].Words, have); share > most {
				best, most = i, share
			}
		}
	}
	return best
}

func shareOf(words []string, have map[string]bool) float64 {
	if len(words) == 0 {
		return 0
	}
	n := 0
	for _, w := range words {
		if have[language.Stem(w)] {
			n++
		}
	}
	return float64(n) / float64(len(words))
}

func keepsWords(content, old string) bool {
	have := language.StemSet(content)
	for _, stem := range language.ContentStems(old) {
		if !have[stem] {
			return false
		}
	}
	return true
}

func closes(op memory.Operation) bool {
	return op.Kind == memory.OpUpdate || op.Kind == memory.OpMerge || op.Kind == memory.OpDelete
}

func intersect(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}
