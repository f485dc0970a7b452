package evaluation

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// shortAnswer is how many content words an answer has at most to be looked for in memories.
const shortAnswer = 3

// Tally is what was counted over one or more subjects; Report makes shares of it.
type Tally struct {
	Users, Turns, DroppedTurns  int
	Evidence, KeptEvidence      int
	Asked, Contained            int
	Entries, Active, Duplicates int
	Updates, UpdateHits         int
	Closings, WrongClosings     int
	Kinds                       map[memory.Kind]int
	Operations                  map[memory.OpKind]int
	Slotted                     int
}

// NewTally returns an empty tally.
func NewTally() *Tally {
	return &Tally{Kinds: map[memory.Kind]int{}, Operations: map[memory.OpKind]int{}}
}

// Add measures what a run made of a subject.
func (t *Tally) Add(s Subject, f Formed) {
	t.Users++
	t.filter(s, f)
	t.contain(s, f)
	t.bank(s, f)
	t.updates(s, f)
	for _, op := range f.Operations {
		t.Operations[op.Kind]++
	}
}

func (t *Tally) filter(s Subject, f Formed) {
	kept := func(id string) bool {
		salient, decided := f.Decisions[id]
		return salient || !decided
	}
	for id := range turnIDs(s.Sessions) {
		t.Turns++
		if !kept(id) {
			t.DroppedTurns++
		}
	}
	seen := map[string]bool{}
	for _, q := range s.Questions {
		if q.Unanswerable {
			continue // its evidence does not tell what it asks
		}
		for _, id := range q.Evidence {
			if seen[id] {
				continue
			}
			seen[id] = true
			t.Evidence++
			if kept(id) {
				t.KeptEvidence++
			}
		}
	}
}

// contain asks whether the memories made from the evidence hold the words of the answer.
func (t *Tally) contain(s Subject, f Formed) {
	for _, q := range s.Questions {
		if q.Unanswerable || len(q.Evidence) == 0 || !IsShort(q) {
			continue
		}
		t.Asked++
		if Contains(f.Entries, q) {
			t.Contained++
		}
	}
}

// IsShort reports whether a question asks for a short answer that one turn holds: those that containment is measured on.
func IsShort(q Question) bool {
	n := len(text.ContentStems(q.Answer))
	return q.SingleHop && n > 0 && n <= shortAnswer
}

// Contains reports whether the entries made from a question's evidence say all content words of its answer.
func Contains(entries []memory.Memory, q Question) bool {
	var said strings.Builder
	for _, m := range entries {
		if slices.ContainsFunc(q.Evidence, func(id string) bool { return slices.Contains(m.Sources, id) }) {
			said.WriteString(m.Content + "\n" + m.Value + "\n")
		}
	}
	have := text.StemSet(said.String())
	for _, stem := range text.ContentStems(q.Answer) {
		if !have[stem] {
			return false
		}
	}
	return true
}

func (t *Tally) bank(s Subject, f Formed) {
	t.Entries += len(f.Entries)
	t.Duplicates += len(Duplicates(f.Entries))
	for _, m := range f.Entries {
		if m.Status != memory.StatusActive {
			continue
		}
		t.Active++
		t.Kinds[m.Kind]++
		if m.Slot != "" {
			t.Slotted++
		}
	}
}

// Duplicates returns the active entries that say what an earlier active entry says: the same words in the same
// order, or the same words in any order for the same slot.
func Duplicates(entries []memory.Memory) []memory.Memory {
	var out []memory.Memory
	seen := map[string]bool{}
	for _, m := range entries {
		if m.Status != memory.StatusActive {
			continue
		}
		keys := []string{text.Canonical(m.Content)}
		if m.Slot != "" {
			stems := text.ContentStems(m.Content)
			slices.Sort(stems)
			keys = append(keys, "slot\x00"+m.Slot+"\x00"+strings.Join(slices.Compact(stems), " "))
		}
		if slices.ContainsFunc(keys, func(k string) bool { return seen[k] }) {
			out = append(out, m)
		}
		for _, k := range keys {
			seen[k] = true
		}
	}
	return out
}
