package diagnosis

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Recall is what one query made of a bank: all that evidence is drawn from but the turns.
type Recall struct {
	// Query is the question.
	Query string
	// Past says that it asks about the past.
	Past bool
	// Filter is the recall's; the zero filter leaves out nothing.
	Filter memory.Filter
	// Memories are the bank's entries, in every state.
	Memories []memory.Memory
	// Retrieved are the candidates' ids in order of retrieval, Ranked those that the reranker kept, in its order.
	Retrieved, Ranked []string
	// Floored are those that the relevance floor left out, though the reranker kept them.
	Floored []string
	// Shown are the ids that the profile cites, Cited those that the answer does.
	Shown, Cited []string
	// Profile is the profile's lines.
	Profile []string
	// Core is the core block that the profile was written from; zero where there was none.
	Core memory.Core
	// Answer is the answer's text.
	Answer string
	// Abstained says that the answer is that memory does not tell.
	Abstained bool
}

// Turn is what is known of a turn beside what the bank's entries say.
type Turn struct {
	// ID is the turn.
	ID string
	// Kept says that it was consolidated, Pending that it waits in working memory.
	Kept, Pending bool
	// Dropped is the filter's decision; nil where none is known.
	Dropped *memory.Dropped
	// Saliency is the filter's decision on a turn that was consolidated.
	Saliency memory.SaliencyDecision
}

// OfTurn is the evidence on an expected turn.
func (r Recall) OfTurn(t Turn) Evidence {
	e := r.begin()
	e.TurnID, e.Kept, e.Pending, e.Dropped, e.Saliency = t.ID, t.Kept, t.Pending && !t.Kept, t.Dropped, t.Saliency
	e.Memories = r.placed(func(m memory.Memory) bool { return slices.Contains(m.Sources, t.ID) })
	e.Uncited = r.Core.Version > 0 && len(r.Core.Lines) == 0 && slices.Contains(r.Core.Sources, t.ID)
	return e
}

// OfText is the evidence on an expected text, where turns are not known: kept are turns of the bank that may
// tell it, pending those of working memory. A text is held by what
// has all of its content stems; the answer need not repeat those that the query has. Without any content stem nothing is held.
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
		if e.TurnID != "" && slices.Contains(m.Sources, e.TurnID) && !holds(m.Content+"\n"+m.Value) {
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

// placed is how far the memories came that are meant.
func (r Recall) placed(meant func(memory.Memory) bool) []Memory {
	var out []Memory
	for _, m := range r.Memories {
		if !meant(m) {
			continue
		}
		out = append(out, Memory{
			ID: m.ID, Status: m.Status, Retrieved: slices.Index(r.Retrieved, m.ID) + 1, Ranked: slices.Index(r.Ranked, m.ID) + 1,
			Shown: slices.Contains(r.Shown, m.ID), Cited: slices.Contains(r.Cited, m.ID),
			Floored: slices.Contains(r.Floored, m.ID), Unmatched: !r.Filter.Match(m),
		})
	}
	return out
}

// Tells matches turns whose speaker, text and caption together have all content stems of what is expected.
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

// beyond are the stems that a query does not have; all of them where it has them all.
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
