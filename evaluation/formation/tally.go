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

// Measures are what was counted over one or more subjects, as shares of 0 to 1 and means per user.
type Measures struct {
	// KeptEvidence is the share of evidence turns that pass the filter, DroppedShare that of all turns that do not.
	KeptEvidence float64 `json:"kept_evidence"`
	DroppedShare float64 `json:"dropped_share"`
	// Containment is the share of short answers that the memories of their evidence turns hold in full.
	Containment float64 `json:"containment"`
	// Questions is how many were asked for that.
	Questions int `json:"questions"`
	// Duplicates counts active entries that say what another active one says.
	Duplicates int `json:"duplicates"`
	// Updates is how many updates there should be; UpdateHits the share that reached the right entry.
	Updates    int     `json:"updates"`
	UpdateHits float64 `json:"update_hits"`
	// Closings counts operations that closed an entry; WrongUpdates is the share that closed what still holds.
	Closings     int     `json:"closings"`
	WrongUpdates float64 `json:"wrong_updates"`
	// DeadLetters counts the batches of turns that could not be formed.
	DeadLetters int `json:"dead_letters"`
	// MemoriesPerUser is the mean number of active entries, SlottedShare the share of them that fill a slot.
	MemoriesPerUser float64 `json:"memories_per_user"`
	SlottedShare    float64 `json:"slotted_share"`
	// SearchesPerMemory is how often the bank was searched for each memory written.
	SearchesPerMemory float64 `json:"searches_per_memory"`
	// FormerMS is how many milliseconds a turn took in the former; filter, embedding and searches come on top.
	FormerMS float64 `json:"former_ms_per_turn"`
	// Users and Turns are what was measured on.
	Users int `json:"users"`
	Turns int `json:"turns"`
	// Kinds of active entries, and Operations decided, by name.
	Kinds      map[memory.Kind]int   `json:"memories_per_kind"`
	Operations map[memory.OpKind]int `json:"operations_per_kind"`
}

// Tally counts over one or more subjects.
type Tally struct {
	// counted has what is counted as it is.
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

// Measures returns the shares. A share of nothing is 0.
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

// Add measures what a run made of a subject.
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
		if !q.Unanswerable { // else its evidence does not state what it asks
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

// contain asks whether the memories made from the evidence hold the words of the answer.
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
