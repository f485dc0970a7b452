package formation

import (
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Measures hold counts over one or more subjects. Shares are 0 to 1; means are per user.
type Measures struct {
	// KeptEvidence is the share of evidence turns that pass the filter. DroppedShare is the share of all turns that
	// do not pass.
	KeptEvidence float64 `json:"kept_evidence"`
	DroppedShare float64 `json:"dropped_share"`
	// Containment is the share of short answers that the memories of their evidence turns contain in full.
	Containment float64 `json:"containment"`
	// Questions is the number of questions behind Containment.
	Questions int `json:"questions"`
	// Duplicates counts active entries that repeat another active entry.
	Duplicates int `json:"duplicates"`
	// Updates is the number of expected updates. UpdateHits is the share that reached the right entry.
	Updates    int     `json:"updates"`
	UpdateHits float64 `json:"update_hits"`
	// Closings counts operations that closed an entry. WrongUpdates is the share that closed a statement that is
	// still true.
	Closings     int     `json:"closings"`
	WrongUpdates float64 `json:"wrong_updates"`
	// DeadLetters counts the batches of turns that failed for good.
	DeadLetters int `json:"dead_letters"`
	// MemoriesPerUser is the mean number of active entries. SlottedShare is the share of them that fill a slot.
	MemoriesPerUser float64 `json:"memories_per_user"`
	SlottedShare    float64 `json:"slotted_share"`
	// SearchesPerMemory is the number of searches in the bank for each written memory.
	SearchesPerMemory float64 `json:"searches_per_memory"`
	// FormerMS is the former's time per turn in milliseconds, without filter, embedding and searches.
	FormerMS float64 `json:"former_ms_per_turn"`
	// Users and Turns are the measured users and turns.
	Users int `json:"users"`
	Turns int `json:"turns"`
	// Kinds counts active entries and Operations counts decisions, both by name.
	Kinds      map[memory.Kind]int   `json:"memories_per_kind"`
	Operations map[memory.OpKind]int `json:"operations_per_kind"`
}

// Tally counts over one or more subjects.
type Tally struct {
	// counted holds the values that need no division.
	counted Measures

	droppedTurns, evidence, keptEvidence, contained int
	updateHits, wrongClosings, active, slotted      int
	searches, written                               int
	took                                            time.Duration
}

// NewTally returns an empty tally.
func NewTally() *Tally {
	return &Tally{counted: Measures{Kinds: map[memory.Kind]int{}, Operations: map[memory.OpKind]int{}}}
}

// Measures returns the shares. The share of an empty set is 0.
func (t *Tally) Measures() Measures {
	m := t.counted
	m.KeptEvidence, m.DroppedShare = score.Share(t.keptEvidence, t.evidence), score.Share(t.droppedTurns, m.Turns)
	m.Containment = score.Share(t.contained, m.Questions)
	m.UpdateHits, m.WrongUpdates = score.Share(t.updateHits, m.Updates), score.Share(t.wrongClosings, m.Closings)
	m.MemoriesPerUser, m.SlottedShare = score.Share(t.active, m.Users), score.Share(t.slotted, t.active)
	m.SearchesPerMemory = score.Share(t.searches, t.written)
	if m.Turns > 0 {
		m.FormerMS = float64(t.took.Microseconds()) / 1e3 / float64(m.Turns)
	}
	return m
}

// Add counts the result of a run on a subject.
func (t *Tally) Add(s dataset.Subject, f Formed) {
	t.counted.Users++
	t.counted.DeadLetters += len(f.DeadLetters)
	t.searches += f.Searches
	t.took += f.Took
	t.filter(s, f)
	t.contain(s, f)
	t.bank(f)
	t.updates(s, f)
	for _, op := range f.Operations {
		t.counted.Operations[op.Kind]++
		if op.New != nil {
			t.written++
		}
	}
}

func (t *Tally) filter(s dataset.Subject, f Formed) {
	kept := func(id string) bool {
		salient, decided := f.Decisions[id]
		return salient || !decided
	}
	for id := range s.TurnIDs() {
		t.counted.Turns++
		if !kept(id) {
			t.droppedTurns++
		}
	}
	evidence := map[string]bool{}
	for _, q := range s.Questions {
		if !q.Unanswerable { // else the evidence does not state the answer
			for _, id := range q.Evidence {
				evidence[id] = true
			}
		}
	}
	for id := range evidence {
		t.evidence++
		if kept(id) {
			t.keptEvidence++
		}
	}
}

// contain checks whether the memories of the evidence contain the words of the answer.
func (t *Tally) contain(s dataset.Subject, f Formed) {
	for _, q := range s.Questions {
		if !q.IsShort() {
			continue
		}
		t.counted.Questions++
		var made []score.Shown
		for _, m := range f.Entries {
			if score.Overlap(q.Evidence, m.Sources) {
				made = append(made, score.Shown{Text: m.Content + "\n" + m.Value})
			}
		}
		if score.Contains(made, q.Answer) {
			t.contained++
		}
	}
}

func (t *Tally) bank(f Formed) {
	t.counted.Duplicates += len(Duplicates(f.Entries))
	for _, m := range f.Entries {
		if m.Status != memory.StatusActive {
			continue
		}
		t.active++
		t.counted.Kinds[m.Kind]++
		if m.Slot != "" {
			t.slotted++
		}
	}
}

// Duplicates returns the active entries that repeat an earlier active entry. An entry repeats another with the same
// words in the same order, or with the same words and the same slot.
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
