package saliency

import (
	_ "embed" // the model is part of the program
	"strings"
	"sync"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/classifier"
	"github.com/mneme-memory/mneme/shared/text"
)

//go:embed commitment.json
var commitmentModel []byte

// commitments is the network that separates an assistant's commitments from all other sentences.
var commitments = classifier.Shipped("commitments", commitmentModel, Parse)

var splitter = sync.OnceValue(text.NewSplitter)

// Commitment returns the sentence of an assistant's turn that most surely states an action, a note or a promise of the
// assistant. It returns "" without such a sentence, and for others' turns. It does not read code, quoted lines and
// questions.
func Commitment(t memory.Turn) string {
	if t.Role != memory.RoleAssistant {
		return ""
	}
	f := commitments()
	best, most := "", f.threshold
	for _, b := range text.Blocks(t.Text) {
		if b.Kind != text.Prose {
			continue
		}
		for _, s := range splitter().Split(b.Text) {
			if s = strings.TrimLeft(text.OneLine(s), "-*• "); strings.HasSuffix(s, "?") {
				continue
			}
			if score, _ := f.score(memory.Turn{Role: memory.RoleAssistant, Text: s}); score >= most {
				best, most = s, score
			}
		}
	}
	return best
}
