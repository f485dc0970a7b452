package utilizer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/query/intent"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/text"
)

// splitter is created once: that takes some milliseconds, and most users never need it.
var splitter = sync.OnceValue(text.NewSplitter)

// statements are the contents of the memories from a turn.
type statements struct{ valid, outdated []string }

// outdated returns the turns with a memory that no longer holds at a time.
func outdated(memories []memory.Memory, at time.Time) map[string]statements {
	out := map[string]statements{}
	each := func(active bool, add func(turn, content string)) {
		for _, m := range memories {
			for _, id := range m.Sources {
				if (m.Status == memory.StatusActive && !isOver(m, at)) == active {
					add(id, m.Content)
				}
			}
		}
	}
	each(false, func(turn, content string) { out[turn] = statements{outdated: append(out[turn].outdated, content)} })
	each(true, func(turn, content string) {
		if t, ok := out[turn]; ok {
			t.valid = append(t.valid, content)
			out[turn] = t
		}
	})
	return out
}

var (
	// being words tell a state: "I'm in Oslo this week", "no alcohol this month".
	being = text.WordSet("am is are i'm im we're he's she's it's they're no")
	// nominatives are the subjects that begin a statement of their own.
	nominatives = text.WordSet(`i i'm i've i'd i'll we we're we've he he's she she's they they're
		ich wir yo je j'ai io eu`)
)

// isOver reports whether a memory says in the present tense what only held until an earlier day. One with several
// statements is not over, because the others may hold. "This week" limits a state, and not an event: "I'm moving this
// week".
func isOver(m memory.Memory, at time.Time) bool {
	limit := m.LimitPassed(at)
	if !limit && !m.SpanPassed(at) {
		return false
	}
	words, subjects, isState, happens := text.Words(m.Content), 0, false, false
	for _, w := range words {
		if nominatives[w.Lower] {
			subjects++
		}
		isState = isState || being[w.Lower]
		happens = happens || strings.HasSuffix(w.Lower, "ing")
	}
	return subjects <= 1 && !text.TellsPast(words) && (limit || isState && !happens)
}

// dropOver removes memories that only held until an earlier day. A question about a time still gets them.
func dropOver(q query.Query, at time.Time, all []candidate) []candidate {
	if q.Horizon.Intent != intent.Present || q.AsksWhen(text.English) {
		return all
	}
	over := func(m memory.Memory) bool { return isOver(m, at) }
	var out []candidate
	for _, c := range all {
		c.Siblings = slices.DeleteFunc(slices.Clone(c.Siblings), over)
		if over(c.Memory) {
			if len(c.Siblings) == 0 {
				continue
			}
			c.Memory, c.Siblings = c.Siblings[0], c.Siblings[1:]
		}
		out = append(out, c)
	}
	return out
}

// dropOutdated removes the sentences of memories that no longer hold from the raw words and from the window. Raw words
// carry no validity, so such sentences would look valid. If the rest of a turn is no source of its memory, it removes
// the turn there. If these memories are unreadable, it shows no raw words behind memories.
func (r *Recaller) dropOutdated(ctx context.Context, scope memory.Scope, f *found, places []int) error {
	ids := idsOf(f.turns)
	for _, i := range places {
		c := f.candidates[i]
		if ids = append(ids, idsOf(c.Turns)...); c.Memory.Value != "" {
			ids = append(ids, c.Memory.Sources...)
		}
	}
	byTurn, err := r.outdatedOf(ctx, scope, f.from, ids)
	f.turns = withoutOutdated(f.turns, byTurn)
	for _, i := range places {
		c := &f.candidates[i]
		if err != nil {
			c.Turns, c.Memory.Value = nil, ""
			continue
		}
		c.Turns = supporting(c.Memory, c.Turns, withoutOutdated(c.Turns, byTurn))
		c.Memory.Value = validDialogue(c.Memory, byTurn)
	}
	return err
}

// supporting removes the turns that lost sentences, and whose rest is no source of the memory.
func supporting(m memory.Memory, all, rest []memory.Turn) []memory.Turn {
	return slices.DeleteFunc(slices.Clone(rest), func(t memory.Turn) bool {
		whole := slices.IndexFunc(all, func(o memory.Turn) bool { return o.ID == t.ID })
		return !supports(t.Text, all[whole].Text, m.Content)
	})
}

// supports reports whether the rest of some words is a source of a memory. The rest is all of the words, or has at
// least half of the words that they share with the memory.
func supports(rest, all, content string) bool {
	if rest == all {
		return true
	}
	words := text.StemSet(content)
	left := shared(words, text.StemSet(rest))
	return left > 0 && 2*left >= shared(words, text.StemSet(all))
}

// errManyClosed means that turns have more memories that no longer hold than a recall reads.
var errManyClosed = errors.New("the turns have too many outdated memories")

// outdatedOf finds the turns among these with a memory that no longer holds. It uses the index, or else the bank.
func (r *Recaller) outdatedOf(
	ctx context.Context, scope memory.Scope, from *cachedIndex, turns []string,
) (map[string]statements, error) {
	if from != nil {
		return from.outdated, nil
	}
	if len(turns) == 0 {
		return nil, nil
	}
	slices.Sort(turns)
	o := bank.ListOptions{
		Statuses: []memory.Status{memory.StatusSuperseded, memory.StatusRetracted},
		Sources:  slices.Compact(turns), Limit: bank.MaxLimit,
	}
	closed, err := r.Bank.List(ctx, scope, o)
	if err != nil {
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
	return outdated(append(closed.Memories, holds.Memories...), r.Now()), nil
}

func idsOf(turns []memory.Turn) []string {
	return converted(turns, func(t memory.Turn) string { return t.ID })
}

// withoutOutdated returns turns without sentences that no longer hold. It drops turns that have no other sentence.
func withoutOutdated(turns []memory.Turn, byTurn map[string]statements) []memory.Turn {
	if len(byTurn) == 0 {
		return turns
	}
	var out []memory.Turn
	for _, t := range turns {
		if about, ok := byTurn[t.ID]; ok {
			if t.Text = about.removeOutdated(t.Speaker, t.Text); t.Text == "" {
				continue
			}
		}
		out = append(out, t)
	}
	return out
}

// validDialogue returns the dialogue in a memory without sentences that no longer hold, and without lines whose rest is
// no source of the memory.
func validDialogue(m memory.Memory, byTurn map[string]statements) string {
	var about statements
	for _, id := range m.Sources {
		about.valid = append(about.valid, byTurn[id].valid...)
		about.outdated = append(about.outdated, byTurn[id].outdated...)
	}
	if m.Value == "" || len(about.outdated) == 0 {
		return m.Value
	}
	about.valid = append(about.valid, m.Content)
	var out []string
	for line := range strings.Lines(m.Value) {
		speaker, said, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if rest := about.removeOutdated(speaker, said); rest != "" && supports(rest, said, m.Content) {
			out = append(out, speaker+": "+rest)
		}
	}
	return strings.Join(out, "\n")
}

// removeOutdated returns the text of a speaker without the sentences of memories that no longer hold. It removes quoted
// and summarized sentences. It keeps a sentence that a valid memory has as well.
func (t statements) removeOutdated(speaker, said string) string {
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
	for _, content := range t.outdated {
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
	for _, content := range t.valid {
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
