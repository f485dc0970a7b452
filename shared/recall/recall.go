// Package recall is the port to the policies that use memory at query time: the profile
// that a query calls for, and the answer made from it.
package recall

import (
	"context"
	"slices"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Evidence is what was found for a query.
type Evidence struct {
	// Query is the user's question, Messages what was said just before it, oldest first: data that help to understand it, and rest on no
	// memory.
	Query    string
	Messages []memory.Message
	// Filter is what the query's memories had to match; everything here does, or stands behind what does.
	Filter memory.Filter
	// Now is when it is asked, Horizon the time that it asks about.
	Now     time.Time
	Horizon Horizon
	// Memories are the reranked memories, best first, linked ones InOrder. Those made from the same turns as a better one come directly after
	// it. Each may carry the dialogue that it was made from in Value, as lines "speaker: text". Memories that no longer hold are among
	// them only where the question is about the past.
	Memories []memory.Memory
	// Support are the log odds that what was found answers the query, rather than another about somebody else, who told it: less than 0
	// where that is less likely than not. 0 where it is not known.
	Support float64
	// Best is the score, by the shared prior, of what was found that answers best, whoever told it; 0 where it is not known.
	Best float64
	// Request says that a user asks an assistant for something, and not for what was told: no fact, and nobody by name.
	Request bool
	// Owner tells the user from other speakers; it knows nobody where that is not known.
	Owner memory.Owner
	// Window is working memory, oldest first.
	Window []memory.Turn
	// Core is the user's core block; zero where there is none, or it says nothing about the time asked for. CoreMemories are those that its
	// lines rest on and that hold.
	Core         memory.Core
	CoreMemories []memory.Memory
	// WordBudget is how many words the profile may have.
	WordBudget int
}

// Standing are the lines of the core block that rest on memories which hold, in their order, each with the first of these.
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
	// Name is core, constraints, preferences, recent or timeline.
	Name string
	// Lines end with their citations: [1] is the first memory of Profile.Cited. Those of recent have none where they rest on no memory, nor
	// have those of a core block that a strategy wrote. Nothing else in a line looks like a citation.
	Lines []string
}

// Profile is the query-adapted summary of what matters now.
type Profile struct {
	Sections []Section
	// Cited are the memories cited, in order of their numbers: [i] is Cited[i-1], and the turns behind it are its Sources (Turns).
	Cited []memory.Memory
}

// Answer is a generator's reply.
type Answer struct {
	// Text is the reply, with citations [i] unless it cites nothing.
	Text string
	// Abstained says that no memory tells. The text may still answer from lines that rest on none, such as what was said just now.
	Abstained bool
	// Cited are the ids of the memories the text cites; all were in the profile.
	Cited []string
}

// Touched is what the answer cites.
func (a Answer) Touched(memory.Scope) memory.Touch { return memory.Touch{Memories: a.Cited} }

// Profiler writes profiles (the utilizer's policy).
type Profiler interface {
	// Profile never cites a memory that is not in the evidence and keeps the word budget. What stands of the core block has a line with its
	// citation, within a third of the budget, and no second one.
	Profile(ctx context.Context, scope memory.Scope, e Evidence) (Profile, error)
}

// Generator answers from a profile in one step.
type Generator interface {
	// Answer cites only memories of the profile. It abstains when the profile does not tell, and never because something failed: what is
	// away, and a deadline that passes, are errors.
	Answer(ctx context.Context, scope memory.Scope, e Evidence, p Profile) (Answer, error)
}
