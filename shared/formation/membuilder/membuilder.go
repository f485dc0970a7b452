// Package membuilder forms memory as MemBuilder does (multi-dimensional memory, section 3.2): four roles work on a session side by
// side, each with a kind of memory of its own. The core role keeps one block of who the user is, which is always in view; the episodic
// role a diary of dated events; the semantic role what is known of the people, places and things of the user's life; the procedural role
// how things are done. An update is a new version that names the one before it, and never takes it away.
package membuilder

import (
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Name is the strategy's name.
const Name = "membuilder"

// compressTo is what a compressed core block must be shorter than, in characters (MemBuilder, Appendix H).
const compressTo = 3000

// maxCueBytes is how much of a turn is searched for in the bank: about what embedding models read.
const maxCueBytes = 2 << 10

// Reasons of operations; they hold no conversation text.
const (
	reasonKnown = "already known"
	reasonRange = "repeated: one entry for the range of time"
	reasonSteps = "the procedure as it is now"
)

// kinds are what a role's entries are about, the kind of new ones first. Facts and preferences, which other strategies write, are
// knowledge of the user's world, and so the semantic role's.
var (
	episodicKinds   = []memory.Kind{memory.KindEpisodic}
	semanticKinds   = []memory.Kind{memory.KindSemantic, memory.KindFact, memory.KindPreference}
	proceduralKinds = []memory.Kind{memory.KindProcedural}
)

// searchTexts are what the bank is searched for: every turn as it was said.
func searchTexts(in formation.Session) []formation.Candidate {
	out := make([]formation.Candidate, 0, len(in.Turns))
	for _, t := range in.Turns {
		text := cueOf(t)
		if text == "" {
			continue
		}
		out = append(out, formation.Candidate{Kind: memory.KindEpisodic, Content: text, Sources: []string{t.ID}})
	}
	return out
}

// cueOf is a turn in one line, cut to what an embedding reads.
func cueOf(t memory.Turn) string {
	said := text.OneLine(t.Text + " " + t.Caption)
	if speaker := text.OneLine(t.Speaker); said != "" && speaker != "" {
		said = speaker + ": " + said
	}
	return text.Cut(said, maxCueBytes)
}
