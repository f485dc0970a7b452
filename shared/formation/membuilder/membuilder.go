// Package membuilder forms memory as MemBuilder does (multi-dimensional memory, section 3.2). Four roles work on a
// session in parallel, each with a separate kind of memory. The core role keeps one block about the user, which is
// always in view. The episodic role keeps a diary of dated events. The semantic role keeps knowledge of the people,
// places and things of the user's life. The procedural role keeps methods. An update is a new version that names the
// one before it, and never deletes it.
package membuilder

import (
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Name is the strategy's name.
const Name = "membuilder"

// compressTo is the upper limit of a compressed core block, in characters (MemBuilder, Appendix H). The block must be
// shorter.
const compressTo = 3000

// maxCueBytes is how much of a turn is searched for in the bank: about what embedding models read.
const maxCueBytes = 2 << 10

// Reasons of operations; they hold no conversation text.
const (
	reasonKnown = "already known"
	reasonRange = "repeated: one entry for the range of time"
	reasonSteps = "the procedure as it is now"
)

// kinds are the kinds of a role's entries, with the kind of new ones first. Other strategies write facts and
// preferences. Both are knowledge of the user's world, so the semantic role has them.
var (
	episodicKinds   = []memory.Kind{memory.KindEpisodic}
	semanticKinds   = []memory.Kind{memory.KindSemantic, memory.KindFact, memory.KindPreference}
	proceduralKinds = []memory.Kind{memory.KindProcedural}
)

// searchTexts returns the search texts for the bank: every turn in its original words.
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

// cueOf returns a turn in one line, cut to the length that an embedding reads.
func cueOf(t memory.Turn) string {
	said := text.OneLine(t.Text + " " + t.Caption)
	if speaker := text.OneLine(t.Speaker); said != "" && speaker != "" {
		said = speaker + ": " + said
	}
	return text.Cut(said, maxCueBytes)
}
