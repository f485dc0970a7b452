package training

import (
	"math/rand/v2"
	"slices"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/embedded/link"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// labeller judges pairs by the truth of a subject, and keeps what it was asked.
type labeller struct {
	subject dataset.Subject
	// stated are the targets by the turns that state them.
	stated   map[string][]int
	examples []link.Example
	// noise makes it err now and then, so that the model also learns on banks that are not as they should be.
	noise *rand.Rand
}

// How often a label is wrong.
const (
	noiseMissed = 0.2
	noiseJoined = 0.02
)

func newLabeller(s dataset.Subject, noise *rand.Rand) *labeller {
	t := &labeller{subject: s, stated: map[string][]int{}, noise: noise}
	for i, target := range s.Targets {
		for _, turn := range target.Turns {
			t.stated[turn] = append(t.stated[turn], i)
		}
	}
	return t
}

// watch returns a judge that asks a model, while the labeller notes what would have been right.
func (t *labeller) watch(m *link.Model) embedded.Judge {
	return func(p embedded.Pair) float64 {
		t.examples = append(t.examples, link.Example{X: p.X, Y: t.label(p)})
		return m.Probability(p.X)
	}
}

// judge is a judge that mostly says what is right.
func (t *labeller) judge(p embedded.Pair) float64 {
	label := t.label(p)
	t.examples = append(t.examples, link.Example{X: p.X, Y: label})
	joined := t.noise.Float64() < noiseJoined
	missed := t.noise.Float64() < noiseMissed
	switch {
	case label == labelUpdate && !missed:
		return 1
	case label > 0 && !missed:
		return 0.9
	case joined:
		return 0.2 // below what replaces: the entries are joined
	}
	return 0
}

// Labels of a pair: the entry says what the update is about, or it says something that was untrue already, or repeats what the update is
// about. The latter are closed along with the first, but they are not to be taken for it.
const (
	labelUpdate   = 1.0
	labelObsolete = 0.7
)

// label says how well the statement updates what the entry says; 0 where it does not.
func (t *labeller) label(p embedded.Pair) float64 {
	said, known := text.StemSet(p.Statement), text.StemSet(p.Entry.Content)
	best := 0.0
	for _, turn := range p.Sources {
		for _, i := range t.stated[turn] {
			target := t.subject.Targets[i]
			if !target.IsUpdate() || score.WordsIn(target.Words, said) == 0 {
				continue
			}
			says := func(before dataset.Target) bool {
				return score.Overlap(p.Entry.Sources, before.Turns) && score.WordsIn(before.Words, known) > 0
			}
			switch {
			case says(t.subject.Targets[target.Predecessor]):
				return labelUpdate
			case slices.ContainsFunc(t.past(i), says):
				best = labelObsolete
			}
		}
	}
	return best
}

// past returns what an update leaves untrue: its predecessor, what came before that, and every repetition of these that was stated by then.
func (t *labeller) past(update int) []dataset.Target {
	var out []dataset.Target
	for i := t.subject.Targets[update].Predecessor; i >= 0; i = t.subject.Targets[i].Predecessor {
		out = append(out, t.subject.Targets[i])
		for _, again := range t.subject.Targets[:update] {
			if again.Predecessor == i && again.Operation == memory.OpNone {
				out = append(out, again)
			}
		}
	}
	return out
}
