package utilizer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/text"
)

// splitter is created once: that takes some milliseconds, and most users never need it.
var splitter = sync.OnceValue(text.NewSplitter)

// told has the memories from a turn: the valid ones, and those that no longer hold.
type told struct{ holds, closed []string }

// outdated returns the turns with a memory that no longer holds.
func outdated(memories []memory.Memory) map[string]told {
	out := map[string]told{}
	each := func(active bool, add func(turn, content string)) {
		for _, m := range memories {
			for _, id := range m.Sources {
				if (m.Status == memory.StatusActive) == active {
					add(id, m.Content)
				}
			}
		}
	}
	each(false, func(turn, content string) { out[turn] = told{closed: append(out[turn].closed, content)} })
	each(true, func(turn, content string) {
		if t, ok := out[turn]; ok {
			t.holds = append(t.holds, content)
			out[turn] = t
		}
	})
	return out
}

// leaveOut removes the sentences of memories that no longer hold from the raw words and from the window. Raw words
// carry no validity, so such sentences would look valid. If these memories are unreadable, it shows no raw words
// behind memories.
func (r *Recaller) leaveOut(ctx context.Context, scope memory.Scope, f *found, places []int) error {
	ids := idsOf(f.turns)
	for _, i := range places {
		c := f.candidates[i]
		if ids = append(ids, idsOf(c.Turns)...); c.Memory.Value != "" {
			ids = append(ids, c.Memory.Sources...)
		}
	}
	of, err := r.outdatedOf(ctx, scope, f.from, ids)
	f.turns = turnsThatHold(f.turns, of)
	for _, i := range places {
		c := &f.candidates[i]
		if c.Turns, c.Memory.Value = turnsThatHold(c.Turns, of), valueThatHolds(c.Memory, of); err != nil {
			c.Turns, c.Memory.Value = nil, ""
		}
	}
	return err
}

// errManyClosed means that turns have more memories that no longer hold than a recall reads.
var errManyClosed = errors.New("the turns have too many outdated memories")

// outdatedOf finds the turns among these with a memory that no longer holds. It uses the index, or else the bank.
func (r *Recaller) outdatedOf(ctx context.Context, scope memory.Scope, from *cachedIndex, turns []string) (map[string]told, error) {
	if from != nil {
		return from.outdated, nil
	}
	if len(turns) == 0 {
		return nil, nil
	}
	slices.Sort(turns)
	o := bank.ListOptions{
		Statuses: []memory.Status{memory.StatusSuperseded, memory.StatusRetracted}, Sources: slices.Compact(turns), Limit: bank.MaxLimit,
	}
	closed, err := r.Bank.List(ctx, scope, o)
	if err != nil || len(closed.Memories) == 0 {
		return nil, err
	}
	if closed.Next != "" {
		return nil, errManyClosed
	}
	o.Statuses = []memory.Status{memory.StatusActive}
	holds, err := r.Bank.List(ctx, scope, o) // if there is more than a page, some valid sentences are removed, too
	if err != nil {
		return nil, err
	}
	return outdated(append(closed.Memories, holds.Memories...)), nil
}

func idsOf(turns []memory.Turn) []string {
	out := make([]string, len(turns))
	for i, t := range turns {
		out[i] = t.ID
	}
	return out
}

// turnsThatHold returns turns without sentences that no longer hold. It drops turns that have no other sentence.
func turnsThatHold(turns []memory.Turn, of map[string]told) []memory.Turn {
	if len(of) == 0 {
		return turns
	}
	var out []memory.Turn
	for _, t := range turns {
		if about, ok := of[t.ID]; ok {
			if t.Text = about.holding(t.Speaker, t.Text); t.Text == "" {
				continue
			}
		}
		out = append(out, t)
	}
	return out
}

// valueThatHolds returns the dialogue in a memory without sentences that no longer hold.
func valueThatHolds(m memory.Memory, of map[string]told) string {
	var about told
	for _, id := range m.Sources {
		about.holds, about.closed = append(about.holds, of[id].holds...), append(about.closed, of[id].closed...)
	}
	if m.Value == "" || len(about.closed) == 0 {
		return m.Value
	}
	about.holds = append(about.holds, m.Content)
	var out []string
	for line := range strings.Lines(m.Value) {
		speaker, said, _ := strings.Cut(line, ": ")
		if said = about.holding(speaker, said); said != "" {
			out = append(out, speaker+": "+said)
		}
	}
	return strings.Join(out, "\n")
}

// holding returns the text of a speaker without the sentences of memories that no longer hold. It removes quoted and
// summarized sentences. It keeps a sentence that a valid memory has as well.
func (t told) holding(speaker, said string) string {
	names := text.StemSet(speaker)
	stems := func(s string) map[string]bool {
		out := text.StemSet(s)
		for n := range names {
			delete(out, n)
		}
		return out
	}
	sentences := splitter().Split(said)
	tells := make([]map[string]bool, len(sentences))
	for i, s := range sentences {
		tells[i] = stems(s)
	}
	drop := make([]bool, len(sentences))
	for _, content := range t.closed {
		closed := stems(content)
		quoted, nearest, most := false, -1, 0
		for i, s := range tells {
			n := shared(closed, s)
			if n > 0 && n == min(len(closed), len(s)) {
				quoted, drop[i] = true, true
			}
			if n > most && 2*n >= min(len(closed), len(s)) {
				nearest, most = i, n
			}
		}
		if !quoted && nearest >= 0 { // the memory uses other words
			drop[nearest] = true
		}
	}
	for _, content := range t.holds {
		holds := stems(content)
		for i, s := range tells {
			drop[i] = drop[i] && shared(holds, s) < len(s)
		}
	}
	if !slices.Contains(drop, true) {
		return said
	}
	var out []string
	for i, s := range sentences {
		if !drop[i] {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

func shared(a, b map[string]bool) int {
	n := 0
	for s := range a {
		if b[s] {
			n++
		}
	}
	return n
}
