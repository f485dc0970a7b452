// Package constraint selects the user's memories that every answer must respect: lasting constraints of the user.
// Examples are an allergy, a diet, a limit of ability or money, a person in the user's care, and a permanent dislike.
// A small trained network scores the binding force of a statement. The selection has quotations with their source
// memories, as the lines of a core block.
//
// The text of a statement is only data: it decides the selection and has no other effect.
package constraint

import (
	"cmp"
	_ "embed" // the model is part of the program
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/classifier"
	"github.com/mneme-memory/mneme/shared/text"
)

//go:embed model.json
var trained []byte

var shipped = classifier.Shipped("constraints", trained, saliency.Parse)

// Version names the model and the way of choosing, which takes own words alone. It is the policy version of the blocks:
// a block of another version is chosen anew.
func Version() string { return shipped().Version() + "+own+named+clause+brackets+permits" }

// Score returns the binding force of a statement, 0 to 1. Words that the model cannot read do not raise it.
func Score(said string) float64 {
	score, ok := shipped().Read(memory.Turn{Role: memory.RoleUser, Text: said})
	if !ok {
		return 0
	}
	return score
}

// Binds reports whether a statement, as a whole, binds enough to constrain.
func Binds(said string) bool { return Score(said) >= shipped().Threshold() }

// Bounds of a line. A sentence of more than lineWords is cut to its binding part. A part of more than maxLineWords or
// maxLineBytes is no line.
const (
	lineWords    = 16
	maxLineWords = 24
	maxLineBytes = 300
)

// repeated is the share of a statement's words that a newer one has when it is about the same.
const repeated = 0.8

var (
	// asked is the question that a short answer carries before it.
	asked = regexp.MustCompile(`^\[[^\]]*\]\s*`)
	// parts is where a sentence may be cut, outside brackets.
	parts = regexp.MustCompile(`[,;:–—]\s+|\s-\s`)
	// brackets are remarks that stay whole.
	brackets = regexp.MustCompile(`[(\[（][^)\]）]*[)\]）]`)
	// splitter parts sentences.
	splitter = sync.OnceValue(text.NewSplitter)
)

// quote returns the shortest binding run of a statement's words with its score, in whole sentences where they are
// short. It considers the clauses that may be lines. It returns "" where no part binds, and a score of at most 0 for
// a clause that only permits.
func quote(content string, may func(clause string) bool) (string, float64) {
	said := asked.ReplaceAllString(text.OneLine(content), "")
	least := shipped().Threshold()
	if Score(said) < least {
		return "", 0
	}
	best, most := "", 0.0
	consider := func(s string) {
		if s = strings.TrimSpace(s); len(s) > maxLineBytes || text.SubjectOf(s).IsUnnamed() {
			return // the person behind "he" is unknown
		}
		rank := Score(s)
		if rank < least {
			return
		}
		if permits(s) {
			rank -= 1 // behind every other clause
		}
		if (best == "" || rank > most) && may(s) {
			best, most = s, rank
		}
	}
	for _, s := range splitter().Split(said) {
		if len(strings.Fields(s)) <= lineWords {
			consider(s)
			continue
		}
		for _, run := range runs(s) {
			consider(run)
		}
	}
	if best == "" && len(strings.Fields(said)) <= maxLineWords {
		consider(said)
	}
	return best, most
}

var (
	// ability matches a clause that names only an ability of the speaker. A clause with a number may be a limit.
	ability = regexp.MustCompile(`^(?i:(?:and|but|so|yes|luckily|thankfully) )*(?i:i|we) (?i:can) \p{L}[^,;:\d]*$`)
	// restricting words make a limit of an ability: "I can only walk short distances".
	restricting = text.WordSet(`not never no none nothing nobody nowhere without only just barely hardly scarcely but
		except unless if when while until because since as for than little less least most max maximum faint get go die
		collapse react on one two three four five six seven eight nine ten twenty thirty forty fifty hundred thousand`)
)

// permits reports whether a statement only allows something. It restricts no answer: "I can eat nuts".
func permits(said string) bool {
	return ability.MatchString(said) && !slices.ContainsFunc(text.Words(said), func(w text.Word) bool {
		return restricting[w.Lower] || strings.HasSuffix(w.Lower, "n't")
	})
}

// runs are the parts of a long sentence, and the sentence itself where a line may have so many words.
func runs(sentence string) []string {
	var out []string
	begin := 0
	remarks := brackets.FindAllStringIndex(sentence, -1)
	for _, at := range append(parts.FindAllStringIndex(sentence, -1), []int{len(sentence), len(sentence)}) {
		if slices.ContainsFunc(remarks, func(r []int) bool { return r[0] < at[0] && at[0] < r[1] }) {
			continue
		}
		if part := sentence[begin:at[0]]; len(strings.Fields(part)) > 2 && len(strings.Fields(part)) <= maxLineWords {
			out = append(out, part)
		}
		begin = at[1]
	}
	if len(out) != 1 && len(strings.Fields(sentence)) <= maxLineWords {
		out = append(out, sentence)
	}
	return out
}

// statement is a memory that binds.
type statement struct {
	memory memory.Memory
	quote  string
	score  float64
	stems  []string
}

// Own reports whether a clause of a memory is the user's own word.
type Own func(m memory.Memory, clause string) bool

// anybody takes every clause for the user's.
func anybody(memory.Memory, string) bool { return true }

// read returns the binding part of a memory. ok is false for talk, for a memory that no longer holds, and if no binding
// part is the user's statement.
func read(m memory.Memory, own Own) (statement, bool) {
	if m.Status != memory.StatusActive || m.Tier == memory.TierTalk {
		return statement{}, false
	}
	q, score := quote(m.Content, func(clause string) bool { return own(m, clause) })
	return statement{m, q, score, text.ContentStems(q)}, q != ""
}

// Chosen are the lines of a block with the turns that they come from.
type Chosen struct {
	Lines   []memory.CoreLine
	Sources []string
}

// Candidates returns the memories with a binding part.
func Candidates(memories []memory.Memory) []memory.Memory {
	return slices.DeleteFunc(slices.Clone(memories), func(m memory.Memory) bool {
		_, binds := read(m, anybody)
		return !binds
	})
}

// Choose makes a block of the user's clauses with the highest scores, with at most memory.CoreWords words. Of several
// clauses about the same subject it takes the newest. The order of the memories makes no difference.
func Choose(memories []memory.Memory, own Own) Chosen {
	var all []statement
	for _, m := range memories {
		if s, ok := read(m, own); ok {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b statement) int {
		return cmp.Or(b.memory.ValidFrom.Compare(a.memory.ValidFrom), cmp.Compare(b.memory.ID, a.memory.ID))
	})
	var distinct []statement
	for _, s := range all {
		if !slices.ContainsFunc(distinct, func(newer statement) bool { return newer.covers(s) }) {
			distinct = append(distinct, s)
		}
	}
	slices.SortStableFunc(distinct, func(a, b statement) int { return cmp.Compare(b.score, a.score) })
	var out Chosen
	room := memory.CoreWords
	for _, s := range distinct {
		n := len(strings.Fields(s.quote))
		if n > room || permits(s.quote) { // a newer permission hides an older limit, and is no line
			continue
		}
		room -= n
		out.Lines = append(out.Lines, memory.CoreLine{Text: s.quote, Memories: []string{s.memory.ID}})
		out.Sources = append(out.Sources, s.memory.Sources...)
	}
	return out
}

// covers reports whether a newer statement has the subject of an older one. It fills the same slot, may have changed
// it, or repeats most of it without another subject.
func (s statement) covers(older statement) bool {
	switch {
	case text.IsAboutAnother(s.quote, older.quote):
		return false
	case permits(s.quote): // it lifts no other limit
		return repeats(s.stems, older.stems, 1)
	case s.memory.Slot != "" && s.memory.Slot == older.memory.Slot, slices.Contains(s.memory.Links, older.memory.ID):
		return true
	}
	return repeats(s.stems, older.stems, repeated)
}

// repeats reports whether a share of the older stems is among the newer.
func repeats(newer, older []string, share float64) bool {
	n := 0
	for _, stem := range older {
		if slices.Contains(newer, stem) {
			n++
		}
	}
	return len(older) > 0 && float64(n) >= share*float64(len(older))
}

// Touches reports whether a block may have to change. Another policy wrote it, or a binding memory was written or
// ceased to hold. A closed memory may be a source of the block, or may have hidden an older memory.
func Touches(c memory.Core, written, closed []memory.Memory) bool {
	binds := func(m memory.Memory) bool {
		_, ok := read(m, anybody)
		return ok
	}
	return c.Version > 0 && c.PolicyVersion != Version() ||
		slices.ContainsFunc(closed, func(m memory.Memory) bool { return c.Rests(m.ID) || binds(m) }) ||
		slices.ContainsFunc(written, func(m memory.Memory) bool {
			return slices.ContainsFunc(m.Links, c.Rests) || binds(m) && !c.Rests(m.ID)
		})
}
