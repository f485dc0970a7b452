package training

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/text"
)

// quoter splits sessions as the embedded policy does. The former may not have a judge.
type quoter struct{ former formation.Former }

// lives returns the later statements of made-up people. Each has at most `most` earlier statements: the changed one,
// those with the most similar words, and some by chance.
func (q quoter) lives(ctx context.Context, seed uint64, persons, most int) ([]corpus.Among, error) {
	if persons == 0 {
		return nil, nil
	}
	g, err := synthesis.New(synthesis.Options{Seed: seed, Persons: persons, Split: synthesis.SplitTrain})
	if err != nil {
		return nil, err
	}
	var out []corpus.Among
	for i := range persons {
		person := g.Person(i)
		subject := person.Subject("corpus")
		random := rand.New(rand.NewPCG(seed, uint64(i))) //nolint:gosec // not below 0
		l := life{targets: map[string][]change{}, all: subject.Targets, random: random}
		for i, t := range subject.Targets {
			for _, turn := range t.Turns {
				l.targets[turn] = append(l.targets[turn], change{t, person.Targets[i].Evolution})
			}
		}
		for _, s := range subject.Sessions {
			said, err := q.former.Extract(ctx, formation.Session{Scope: subject.Scope, ID: s.ID, Turns: s.Turns})
			if err != nil {
				return nil, fmt.Errorf("life %d: %w", i, err)
			}
			for _, turn := range byTurn(said) {
				out = append(out, l.amongOf(turn, said, most)...)
			}
			for _, c := range said {
				l.said = append(l.said, remembered{c, text.StemSet(c.Content)})
			}
		}
	}
	return out, nil
}

// livesBatch is the batch name of made-up people's statements.
const livesBatch = "lives"

type remembered struct {
	formation.Candidate
	stems map[string]bool
}

// change is a target with the cause of its change.
type change struct {
	dataset.Target
	synthesis.Evolution
}

// leastShare is the least share of a target's words in a candidate that tells the target.
const leastShare = 1.0 / 3

// life has all earlier statements of a made-up person.
type life struct {
	targets map[string][]change // by turn
	all     []dataset.Target
	said    []remembered
	random  *rand.Rand
}

// amongOf compares the candidates of a turn with the earlier statements. The whole message tells the effect of a
// candidate, so only that candidate gets it.
func (l *life) amongOf(turn, session []formation.Candidate, most int) []corpus.Among {
	var out []corpus.Among
	telling := 0
	tells := func(a corpus.Among) bool { return a.Label != relation.Unrelated || len(a.Stored) == 0 }
	for _, c := range turn {
		set := l.among(c, session, most)
		if tells(set) {
			telling++
		}
		out = append(out, set)
	}
	for i := range out {
		if telling == 0 || telling == 1 && tells(out[i]) {
			out[i].Later.Text = embedded.Message(turn, i)
		}
	}
	return slices.DeleteFunc(out, func(a corpus.Among) bool { return len(a.Stored) == 0 })
}

// byTurn groups candidates by their turn.
func byTurn(said []formation.Candidate) [][]formation.Candidate {
	var out [][]formation.Candidate
	for _, c := range said {
		if n := len(out) - 1; n >= 0 && out[n][0].Sources[0] == c.Sources[0] {
			out[n] = append(out[n], c)
			continue
		}
		out = append(out, []formation.Candidate{c})
	}
	return out
}

// among compares a candidate with the earlier statements.
func (l *life) among(c formation.Candidate, session []formation.Candidate, most int) corpus.Among {
	out := corpus.Among{Later: asUser(c), Looks: -1, Batch: livesBatch, Kind: "life"}
	stems := text.ContentStems(c.Content)
	type near struct {
		remembered
		share float64
	}
	var own []near
	for _, r := range l.said {
		if r.Speaker == c.Speaker {
			own = append(own, near{r, wordShare(stems, r.stems) + l.random.Float64()/1000})
		}
	}
	slices.SortFunc(own, func(a, b near) int { return cmp.Compare(b.share, a.share) })
	if len(own) > most { // half of them the nearest, half by chance
		rest := own[most/2:]
		l.random.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		own = own[:most]
	}
	if told, ok := l.update(c, session); ok {
		stated := l.stated(told.Predecessor, c.Speaker)
		if stated < 0 {
			return corpus.Among{}
		}
		before := l.said[stated]
		own = slices.DeleteFunc(own, func(n near) bool { return n.Content == before.Content })
		own = slices.Insert(own, 0, near{remembered: before})
		out.Looks = 0
		switch told.Evolution {
		case synthesis.EvolutionExpand:
			out.Label = relation.Adds
		case synthesis.EvolutionEnd:
			out.Label, out.Part = relation.Ends, l.telling(before.Content, told.Predecessor)
		case synthesis.EvolutionPartial:
			out.Label = relation.Replaces // the data does not show which of its words stay
		default:
			out.Label, out.Part = relation.Replaces, l.telling(before.Content, told.Predecessor)
		}
		if told.Evolution != synthesis.EvolutionExpand {
			l.said = slices.Delete(l.said, stated, stated+1) // it holds no more
		}
	}
	for _, n := range own[:min(len(own), most)] {
		out.Stored = append(out.Stored, asUser(n.Candidate))
	}
	return out
}

// update returns the change that a candidate tells. It is the change of its turn for which this candidate has the
// most words of all candidates of the turn.
func (l *life) update(c formation.Candidate, session []formation.Candidate) (change, bool) {
	for _, t := range l.targets[c.Sources[0]] {
		if !t.IsUpdate() && t.Evolution != synthesis.EvolutionExpand || t.Turns[0] != c.Sources[0] {
			continue
		}
		own := wordShare(t.Words, text.StemSet(c.Content))
		if own >= leastShare && !slices.ContainsFunc(session, func(o formation.Candidate) bool {
			return o.Sources[0] == c.Sources[0] && o.Content != c.Content && wordShare(t.Words, text.StemSet(o.Content)) >= own
		}) {
			return t, true
		}
	}
	return change{}, false
}

// stated returns the index of the statement that tells a target, or -1.
func (l *life) stated(target int, speaker string) int {
	before, best, most := l.all[target], -1, leastShare
	for i, r := range l.said {
		if r.Speaker != speaker || !slices.ContainsFunc(before.Turns, func(id string) bool {
			return slices.Contains(r.Sources, id)
		}) {
			continue
		}
		if share := wordShare(before.Words, r.stems); best < 0 && share >= most || share > most {
			best, most = i, share
		}
	}
	return best
}

// telling returns the sentence of a statement with the most words of a target. It is empty where the sentence may
// tell several facts, since the words may belong to any of them.
func (l *life) telling(said string, target int) string {
	telling, most := "", 0.0
	for _, sentence := range splitter().Split(said) {
		if share := wordShare(l.all[target].Words, text.StemSet(sentence)); share > most {
			telling, most = sentence, share
		}
	}
	facts := embedded.Facts(telling)
	if len(facts) != 1 {
		return ""
	}
	return facts[0]
}

// splitter splits texts into sentences.
var splitter = sync.OnceValue(text.NewSplitter)

// wordShare is the share of words with a stem in a text.
func wordShare(words []string, stems map[string]bool) float64 {
	n := 0
	for _, w := range words {
		if stems[w] || stems[text.Stem(w)] {
			n++
		}
	}
	return float64(n) / float64(max(1, len(words)))
}
