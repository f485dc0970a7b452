package training

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/mneme-memory/mneme/evaluation/corpus"
	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/synthesis"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// quoter takes sessions apart as the embedded policy does; the former may not have a judge.
type quoter struct{ former formation.Former }

// lives returns what made-up people say in later sessions, held against most of what they said before: that which it changes, what is
// most like it in words, and some by chance.
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
		subject := g.Person(i).Subject("corpus")
		random := rand.New(rand.NewPCG(seed, uint64(i))) //nolint:gosec // not below 0
		l := life{targets: map[string][]dataset.Target{}, all: subject.Targets, random: random}
		for _, t := range subject.Targets {
			for _, turn := range t.Turns {
				l.targets[turn] = append(l.targets[turn], t)
			}
		}
		for _, s := range subject.Sessions {
			said, err := q.former.Extract(ctx, formation.Session{Scope: subject.Scope, ID: s.ID, Turns: s.Turns})
			if err != nil {
				return nil, fmt.Errorf("life %d: %w", i, err)
			}
			for _, c := range said {
				if set := l.among(c, said, most); len(set.Stored) > 0 {
					out = append(out, set)
				}
			}
			for _, c := range said {
				l.said = append(l.said, remembered{c, text.StemSet(c.Content)})
			}
		}
	}
	return out, nil
}

// livesBatch is the batch of what made-up people say.
const livesBatch = "lives"

type remembered struct {
	formation.Candidate
	stems map[string]bool
}

// life is what a made-up person has said so far.
type life struct {
	targets map[string][]dataset.Target // by turn
	all     []dataset.Target
	said    []remembered
	random  *rand.Rand
}

// among holds a candidate against what was said before.
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
	target, changes := l.update(c, session)
	if changes {
		before, best := l.all[target.Predecessor], -1
		for i, r := range l.said {
			if r.Speaker == c.Speaker && slices.ContainsFunc(before.Turns, func(id string) bool { return slices.Contains(r.Sources, id) }) &&
				(best < 0 || wordShare(before.Words, r.stems) > wordShare(before.Words, l.said[best].stems)) {
				best = i
			}
		}
		if best >= 0 {
			out.Looks, out.Label = 0, relation.Replaces
			if target.Operation == memory.OpDelete {
				out.Label = relation.Ends
			}
			own = slices.DeleteFunc(own, func(n near) bool { return n.Content == l.said[best].Content })
			own = slices.Insert(own, 0, near{remembered: l.said[best]})
			l.said = slices.Delete(l.said, best, best+1) // it holds no more
		}
	}
	for _, n := range own[:min(len(own), most)] {
		out.Stored = append(out.Stored, asUser(n.Candidate))
	}
	return out
}

// update is the change that a candidate tells: that of its turn most of whose words it has among the candidates of the turn.
func (l *life) update(c formation.Candidate, session []formation.Candidate) (dataset.Target, bool) {
	for _, t := range l.targets[c.Sources[0]] {
		if !t.IsUpdate() || t.Turns[0] != c.Sources[0] {
			continue
		}
		own := wordShare(t.Words, text.StemSet(c.Content))
		if !slices.ContainsFunc(session, func(o formation.Candidate) bool {
			return o.Sources[0] == c.Sources[0] && o.Content != c.Content && wordShare(t.Words, text.StemSet(o.Content)) > own
		}) {
			return t, true
		}
	}
	return dataset.Target{}, false
}

// wordShare is the share of words whose stems a text has.
func wordShare(words []string, stems map[string]bool) float64 {
	n := 0
	for _, w := range words {
		if stems[w] || stems[text.Stem(w)] {
			n++
		}
	}
	return float64(n) / float64(max(1, len(words)))
}
