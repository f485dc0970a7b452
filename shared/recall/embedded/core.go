package embedded

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/text"
)

// coreShare is the part of the budget that the core block may take: one in so many words.
const coreShare = 3

// addCore adds lines of the core block: those that the query asks for first, then the others, each group in the order of the block. What
// a memory at hand says as well is left to it, since a memory can be cited.
func (w *writer) addCore() {
	type ranked struct {
		text   string
		weight float64
	}
	var lines []ranked
	for said := range strings.Lines(w.evidence.Core.Content) {
		said = recall.Plain(said)
		if said == "" || slices.ContainsFunc(w.evidence.Memories, func(m memory.Memory) bool { return says(m, said) }) {
			continue
		}
		stems := text.StemSet(strings.Map(slotSeparator, said))
		lines = append(lines, ranked{said, w.question.weight(stems, one)})
	}
	slices.SortStableFunc(lines, func(a, b ranked) int { return cmp.Compare(b.weight, a.weight) })
	left := w.left / coreShare
	for i, l := range lines {
		n := countWords(l.text)
		if n > left {
			continue
		}
		left -= n
		w.left -= n
		w.lines = append(w.lines, &line{section: SectionCore, text: recall.Escaped(l.text), rank: i})
	}
}

// says reports whether a memory holds and is what a line says; a line may name its slot in front of it.
func says(m memory.Memory, text string) bool {
	content := recall.Plain(m.Content)
	return m.Status == memory.StatusActive && (text == content || m.Slot != "" && text == m.Slot+": "+content)
}
