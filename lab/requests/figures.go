package requests

import (
	"slices"

	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Figures are what profiles show. Shares are 0 to 1.
type Figures struct {
	Requests int
	// Covered is the mean share of the turns that a request needs on which what is cited rests.
	Covered float64
	// Lines is how many memories a profile cites, on average; Needed is the share of all that rest on a turn that the request needs.
	Lines, Needed float64
	// Unrelated is about the share of cited memories that have nothing to do with the request, NotRelated that of those which are not of what
	// it is about, though they could matter: of the ones that are not needed, as many as of the Labelled ones among them.
	Unrelated, NotRelated float64
	Labelled              int
}

// Measure measures profiles by what requests need and by the labels of what they do not.
func Measure(asked []Asked, labels []corpus.ShownTurn) Figures {
	type pair struct{ request, turn string }
	known := map[pair]corpus.Relatedness{}
	for _, l := range labels {
		known[pair{l.Request, l.Turn}] = l.Label
	}
	f := Figures{Requests: len(asked)}
	var lines, needed, unrelated, notRelated int
	for _, a := range asked {
		evidence := a.Question.EvidenceTurns()
		found := map[string]bool{}
		for _, m := range a.Result.Profile.Cited {
			lines++
			if rests(m, evidence, found) {
				needed++
				continue
			}
			label, ok := known[pair{a.Question.Text, m.Sources[0]}]
			if !ok {
				continue
			}
			f.Labelled++
			if label != corpus.Related {
				notRelated++
			}
			if label == corpus.Unrelated {
				unrelated++
			}
		}
		f.Covered += score.Share(len(found), len(evidence)) / float64(len(asked))
	}
	f.Lines, f.Needed = score.Share(lines, len(asked)), score.Share(needed, lines)
	f.Unrelated = (1 - f.Needed) * score.Share(unrelated, f.Labelled)
	f.NotRelated = (1 - f.Needed) * score.Share(notRelated, f.Labelled)
	return f
}

// rests notes on which turns of evidence a memory rests, and reports whether on any.
func rests(m memory.Memory, evidence []string, found map[string]bool) bool {
	out := false
	for _, id := range m.Sources {
		if slices.Contains(evidence, id) {
			found[id], out = true, true
		}
	}
	return out
}
