// Package recall is the port to the policies that use memory at query time: the profile for a query, and the answer
// from it.
package recall

import (
	"context"
	"slices"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/query"
)

// Evidence is the found memories and data for a query.
type Evidence struct {
	// Query is the understood query. Its messages rest on no memory.
	Query query.Query
	// Filter is the filter of the query's memories. Every memory here matches it, or stands behind a match.
	Filter memory.Filter
	// Memories are the reranked memories, best first, linked ones InOrder. Newer memories without a rank come last.
	// Those made from the same turns as a better one come directly after it. Each may carry the dialogue that it was
	// made from in Value, as lines "speaker: text". Memories that no longer hold are among them only where the question
	// is about the past.
	Memories []memory.Memory
	// Current has the valid versions of memories in Memories that no longer hold.
	Current []memory.Memory
	// Replaced has the earlier versions of a shown current memory by its id, the newest first. A memory answers what
	// its earlier versions answered.
	Replaced map[string][]memory.Memory
	// Explored is the id of a memory that is shown to learn from its citation. It is empty without exploration.
	Explored string
	// Support is the log odds that the found memories answer this query, and not the same query about another
	// person. It is less than 0 if that is less likely than not. It is 0 if it is not known.
	Support float64
	// Best is the best score of a found memory by the shared prior, from any speaker. It is 0 if it is not known.
	Best float64
	// Request means that a user asks an assistant for something. The query asks for no fact, and names no person.
	Request bool
	// Owner separates the user from other speakers. It is empty if the user is not known.
	Owner memory.Owner
	// Window is working memory, oldest first.
	Window []memory.Turn
	// Core is the user's core block. It is zero if there is none, or if it has nothing for the requested time.
	// CoreMemories are the current memories behind its lines.
	Core         memory.Core
	CoreMemories []memory.Memory
	// WordBudget is how many words the profile may have.
	WordBudget int
}

// Standing returns the lines of the core block with current memories, in their order, each with the first of its
// memories.
func (e Evidence) Standing() []Standing {
	var out []Standing
	for _, l := range e.Core.Lines {
		at := slices.IndexFunc(e.CoreMemories, func(m memory.Memory) bool { return slices.Contains(l.Memories, m.ID) })
		if at >= 0 && e.CoreMemories[at].Status == memory.StatusActive {
			out = append(out, Standing{Text: l.Text, Memory: e.CoreMemories[at]})
		}
	}
	return out
}

// Standing is a line of the core block with a memory that it rests on.
type Standing struct {
	Text   string
	Memory memory.Memory
}

// Section is a part of a profile.
type Section struct {
	// Name is core, constraints, preferences, facts, recent, timeline or talk.
	Name string
	// Lines end with their citations: [1] is the first memory of Profile.Cited. Lines of recent turns have no
	// citation if they rest on no memory. Lines of a core block from a strategy have none either. Nothing else in a
	// line looks like a citation.
	Lines []string
}

// Profile is the query-adapted summary of the relevant memories.
type Profile struct {
	Sections []Section
	// Cited are the memories cited, in order of their numbers: [i] is Cited[i-1], and the turns behind it are its
	// Sources (Turns).
	Cited []memory.Memory
	// Unrelated means that no evidence bears on the query. The sections have only the standing lines of the core block.
	Unrelated bool
}

// Answer is a generator's reply.
type Answer struct {
	// Text is the reply, with citations [i] unless it cites nothing.
	Text string
	// Abstained means that no memory answers. The text may still answer from lines without a memory, such as recent
	// turns.
	Abstained bool
	// Cited are the ids of the memories the text cites; all were in the profile.
	Cited []string
}

// Touched returns the memories that the answer cites.
func (a Answer) Touched(memory.Scope) memory.Touch { return memory.Touch{Memories: a.Cited} }

// Profiler writes profiles (the utilizer's policy).
type Profiler interface {
	// Profile never cites a memory outside the evidence, and keeps the word budget. A standing line of the core
	// block appears once, with its citation, within a third of the budget.
	Profile(ctx context.Context, scope memory.Scope, e Evidence) (Profile, error)
}

// Generator answers from a profile in one step.
type Generator interface {
	// Answer cites only memories of the profile. It abstains if the profile has no answer, and never because of a
	// failure. An unavailable dependency and a timeout are errors.
	Answer(ctx context.Context, scope memory.Scope, e Evidence, p Profile) (Answer, error)
}
