package diagnosis

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Recall holds the results of one query on a bank. Evidence needs this and the turns.
type Recall struct {
	// Query is the question.
	Query string
	// Past says that the query asks about the past.
	Past bool
	// Filter is the filter of the recall. The zero filter removes nothing.
	Filter memory.Filter
	// Memories are the bank's entries, in every state.
	Memories []memory.Memory
	// Retrieved are the ids of the candidates in order of retrieval. Ranked are the ids that the reranker kept, in
	// its order.
	Retrieved, Ranked []string
	// Floored are the ids that the relevance floor removed after the reranker kept them.
	Floored []string
	// Shown are the ids that the profile cites. Cited are the ids that the answer cites.
	Shown, Cited []string
	// Profile is the list of profile lines.
	Profile []string
	// Core is the core block in the profile, or zero.
	Core memory.Core
	// Answer is the answer's text.
	Answer string
	// Abstained says that the answer reports no knowledge in memory.
	Abstained bool
}

// Turn describes a turn, apart from the entries of the bank.
type Turn struct {
	// ID is the turn.
	ID string
	// Kept says that the turn was consolidated. Pending says that it waits in working memory.
	Kept, Pending bool
	// Dropped is the filter's decision to drop the turn, or nil if unknown.
	Dropped *memory.Dropped
	// Saliency is the filter's decision on a consolidated turn.
	Saliency memory.SaliencyDecision
}

// OfTurn returns the evidence on an expected turn.
func (r Recall) OfTurn(t Turn) Evidence {
	e := r.begin()
	e.TurnID, e.Kept, e.Pending, e.Dropped, e.Saliency = t.ID, t.Kept, t.Pending && !t.Kept, t.Dropped, t.Saliency
	e.Memories = r.placed(func(m memory.Memory) bool { return slices.Contains(m.Sources, t.ID) })
	e.Uncited = r.Core.Version > 0 && len(r.Core.Lines) == 0 && slices.Contains(r.Core.Sources, t.ID)
	return e
}

// OfText returns the evidence on an expected text, where the turns are not known. The argument kept lists turns of
// the bank that may contain the text. The argument pending lists such turns of working memory. A candidate contains
// the text when it has all content stems of the text. The answer need not repeat the stems of the query. A text
// without content stems matches nothing.
func (r Recall) OfText(expect string, kept, pending []memory.Turn) Evidence {
	e := r.begin()
	stems := text.StemSet(expect)
	holds := func(text string) bool { return holdsAll(text, stems) }
	tells := Tells(expect)
	if at := slices.IndexFunc(kept, tells); at >= 0 {
		e.TurnID, e.Kept, e.Saliency = kept[at].ID, true, kept[at].Saliency
	} else if at := slices.IndexFunc(pending, tells); at >= 0 {
		e.TurnID, e.Pending = pending[at].ID, true
	}
	e.Memories = r.placed(func(m memory.Memory) bool { return holds(m.Content + "\n" + m.Value) })
	for _, m := range r.Memories {
		if m.Tier == memory.TierMemory && e.TurnID != "" && slices.Contains(m.Sources, e.TurnID) &&
			!holds(m.Content+"\n"+m.Value) {
			e.Silent++
		}
	}
	e.Uncited = slices.ContainsFunc(r.Profile, holds)
	e.Verdict = Wrong
	if !r.Abstained && holdsAll(r.Answer, beyond(stems, r.Query)) {
		e.Verdict = Right
	}
	return e
}

func (r Recall) begin() Evidence {
	return Evidence{Past: r.Past, Candidates: len(r.Retrieved), Places: len(r.Ranked), Abstained: r.Abstained}
}

// placed returns the progress of the selected memories.
func (r Recall) placed(meant func(memory.Memory) bool) []Memory {
	var out []Memory
	for _, m := range r.Memories {
		if !meant(m) {
			continue
		}
		out = append(out, Memory{
			ID: m.ID, Tier: m.Tier, Status: m.Status, Retrieved: slices.Index(r.Retrieved, m.ID) + 1,
			Ranked: slices.Index(r.Ranked, m.ID) + 1,
			Shown:  slices.Contains(r.Shown, m.ID), Cited: slices.Contains(r.Cited, m.ID),
			Floored: slices.Contains(r.Floored, m.ID), Unmatched: !r.Filter.Match(m),
		})
	}
	return out
}

// Tells matches turns that contain all content stems of the expected text. Speaker, text and caption count together.
func Tells(expect string) func(memory.Turn) bool {
	stems := text.StemSet(expect)
	return func(t memory.Turn) bool {
		return holdsAll(strings.Join([]string{t.Speaker, t.Text, t.Caption}, "\n"), stems)
	}
}

func holdsAll(said string, stems map[string]bool) bool {
	has := text.StemSet(said)
	for s := range stems {
		if !has[s] {
			return false
		}
	}
	return len(stems) > 0
}

// beyond returns the stems that are not in the query. It returns all stems where the query has them all.
func beyond(stems map[string]bool, query string) map[string]bool {
	asked, out := text.StemSet(query), map[string]bool{}
	for s := range stems {
		if !asked[s] {
			out[s] = true
		}
	}
	if len(out) == 0 {
		return stems
	}
	return out
}
