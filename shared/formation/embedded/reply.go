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
	// partWords is the number of words of one part of a reply, partBytes its length in any script.
	partWords = 160
	partBytes = 2 << 10
	maxParts  = 4
)

// quoteReply returns the parts of an assistant's reply, as talk. Its questions to the user are left out. A reply
// without substance, such as praise, makes no talk. The parts share the searches of the session, so that the guard sees
// repeated words.
func (f *Former) quoteReply(turn memory.Turn) []formation.Candidate {
	if !saliency.HasSubstance(turn) && saliency.Commitment(turn) == "" {
		return nil
	}
	var parts []string
	words := partWords
	add := func(said string) {
		said = text.Cut(said, partBytes)
		n := text.CountWords(said)
		if last := len(parts) - 1; last >= 0 && words+n <= partWords && len(parts[last])+len(said) < partBytes {
			parts[last] += " " + said
			words += n
			return
		}
		parts, words = append(parts, said), n
	}
	for _, b := range text.Blocks(text.Printable(turn.Text)) {
		switch b.Kind {
		case text.Code:
			add("[code: " + shortened(b.Text) + "]")
		case text.Quotation, text.Pasted:
			add("[quotes: " + shortened(b.Text) + "]")
		default:
			for _, sentence := range whole(f.splitter.Sentences(b.Text)) {
				if sentence = text.OneLine(sentence); text.CountWords(sentence) > 0 && !isQuestion(sentence) {
					add(sentence)
				}
			}
		}
	}
	var out []formation.Candidate
	for _, said := range parts[:min(len(parts), maxParts)] {
		c := f.candidate(quotation{said: strings.TrimSpace(said), sources: []string{turn.ID}, tier: memory.TierTalk}, turn)
		c.Neighbours = formation.SharedNeighbours
		out = append(out, c)
	}
	return out
}
