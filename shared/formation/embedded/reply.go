package embedded

import (
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Bounds of the talk that one reply makes. The turn keeps the whole text, and recall searches all of it.
const (
	// partWords is the number of words of one part of a reply.
	partWords = 160
	maxParts  = 4
)

// quoteReply returns the parts of an assistant's reply, as talk. A reply changes nothing that is known of the user, so
// its parts are compared with no entry. Its questions to the user are left out. Praise and greetings make no talk.
func (f *Former) quoteReply(turn memory.Turn) []formation.Candidate {
	if !saliency.HasSubstance(turn) && saliency.Commitment(turn) == "" {
		return nil
	}
	var parts []string
	words := partWords
	add := func(said string) {
		n := text.CountWords(said)
		if last := len(parts) - 1; last >= 0 && words+n <= partWords {
			parts[last] += " " + said
			words += n
			return
		}
		parts, words = append(parts, said), n
	}
	for _, b := range text.Blocks(text.Printable(turn.Text)) {
		if b.Kind == text.Code {
			add("[code: " + shortened(b.Text) + "]")
			continue
		}
		for _, sentence := range whole(f.splitter.Split(b.Text)) {
			if sentence = text.OneLine(sentence); text.CountWords(sentence) > 0 && !strings.HasSuffix(sentence, "?") {
				add(sentence)
			}
		}
	}
	var out []formation.Candidate
	for _, said := range parts[:min(len(parts), maxParts)] {
		c := f.candidate(quotation{said: said, sources: []string{turn.ID}, tier: memory.TierTalk}, turn)
		c.Neighbours = formation.NoNeighbours
		out = append(out, c)
	}
	return out
}
