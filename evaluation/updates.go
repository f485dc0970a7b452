package evaluation

import (
	"slices"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// updates holds what operations closed against what the truth says was replaced or taken back.
func (t *Tally) updates(s Subject, f Formed) {
	if len(s.Targets) == 0 {
		return
	}
	u := newUpdateCheck(s, f)
	for i, target := range s.Targets {
		if !isUpdate(target) {
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
		if isUpdate(target) && !u.hits(i) {
			missed = append(missed, i)
		}
	}
	_, wrong = u.closings()
	return missed, wrong
}

// hits reports whether an operation from the target's turns closed an entry made from its predecessor's.
func (u updateCheck) hits(target int) bool {
	want := u.subject.Targets[target]
	before := u.subject.Targets[want.Predecessor]
	for _, op := range u.formed.Operations {
		if !closes(op) || !intersect(op.Sources, want.Turns) {
			continue
		}
		for _, id := range op.Targets {
			if intersect(u.entries[id].Sources, before.Turns) {
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
		if slices.ContainsFunc(op.Targets, func(id string) bool { return u.loses(op, u.entries[id]) }) {
			wrong = append(wrong, op)
		}
	}
	return n, wrong
}

// loses reports whether an operation ends an entry that tells a target which still holds, and that the new entry does not tell.
func (u updateCheck) loses(op memory.Operation, closed memory.Memory) bool {
	at, have := op.At, map[string]bool{}
	if op.New != nil {
		at, have = op.New.ValidFrom, text.StemSet(op.New.Content)
	}
	old := text.StemSet(closed.Content)
	for _, i := range u.tells(closed) {
		target := u.subject.Targets[i]
		if u.holds(i, at) && shareOf(target.Words, have) < shareOf(target.Words, old) {
			return true
		}
	}
	return false
}

// holds reports whether a target still holds at a time, as far as was told by then.
func (u updateCheck) holds(target int, at time.Time) bool {
	if op := u.subject.Targets[target].Operation; op == memory.OpDelete || op == memory.OpNone {
		return false
	}
	return !slices.ContainsFunc(u.subject.Targets, func(t Target) bool {
		return isUpdate(t) && t.Predecessor == target && !t.At.After(at)
	})
}

// tells returns which of the targets told in the entry's turns it tells: those half of whose words it has, or else the one that it has
// most words of.
func (u updateCheck) tells(m memory.Memory) []int {
	have := text.StemSet(m.Content)
	var out []int
	best, most := -1, 0.0
	for _, turn := range m.Sources {
		for _, i := range u.told[turn] {
			share := shareOf(u.subject.Targets[i].Words, have)
			if share >= 0.5 {
				out = append(out, i)
			}
			if share > most {
				best, most = i, share
			}
		}
	}
	if len(out) == 0 && best >= 0 {
		out = append(out, best)
	}
	return out
}

func isUpdate(t Target) bool {
	return t.Predecessor >= 0 && (t.Operation == memory.OpUpdate || t.Operation == memory.OpMerge || t.Operation == memory.OpDelete)
}

func shareOf(words []string, have map[string]bool) float64 {
	if len(words) == 0 {
		return 0
	}
	n := 0
	for _, w := range words {
		if have[text.Stem(w)] {
			n++
		}
	}
	return float64(n) / float64(len(words))
}

func closes(op memory.Operation) bool {
	return op.Kind == memory.OpUpdate || op.Kind == memory.OpMerge || op.Kind == memory.OpDelete
}

func intersect(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}
