package requests

import (
	"slices"

	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Figures are measures of profiles. Shares are 0 to 1.
type Figures struct {
	Requests int
	// Covered is the mean share of a request's needed turns in the sources of the cited memories.
	Covered float64
	// Lines is the mean number of cited memories in a profile. Needed is the share of them with a needed turn in
	// their sources.
	Lines, Needed float64
	// Unrelated is the estimated share of cited memories without a relation to the request. NotRelated also has
	// memories off the request's topic that could matter. Both scale the unneeded memories by the shares among
	// Labelled ones.
	Unrelated, NotRelated float64
	Labelled              int
}

// Measure measures profiles by the requests' needed turns and by the labels of other turns.
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

// rests marks the turns of evidence in a memory's sources, and reports whether there are any.
func rests(m memory.Memory, evidence []string, found map[string]bool) bool {
	out := false
	for _, id := range m.Sources {
		if slices.Contains(evidence, id) {
			found[id], out = true, true
		}
	}
	return out
}
