// Package saliency is the attentional gate of the embedded policy: a small network over words and their vectors, trained on labelled and
// on made-up dialogues, that scores how worth remembering a turn is.
//
// A score depends on the turn alone: its text, caption, role, and the speaker's own name. How turns are
// batched changes nothing, and nothing is kept between calls.
// What a turn says is only ever text: instructions in it steer nothing.
package saliency

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"unicode"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Filter decides by a model. It is safe for concurrent use.
type Filter struct {
	version   string
	threshold float64
	network   *Network
	index     Index
	table     table
	passes    sync.Pool
}

var _ formation.Filter = (*Filter)(nil)

// NewFilter returns a filter that decides by a model, or ErrModel.
func NewFilter(m Model) (*Filter, error) {
	n, err := m.Network()
	if err != nil {
		return nil, err
	}
	return &Filter{
		version: m.Version, threshold: m.Threshold, network: n, index: n.Index(), table: n.table(),
		passes: sync.Pool{New: func() any { return new(Pass) }},
	}, nil
}

// NewTrained returns the filter with the model that is compiled into the binary. It panics
// when that cannot be read, because then the binary itself is broken.
func NewTrained() *Filter { return shipped() }

// shipped is made once: the table of what vectors add takes some milliseconds.
var shipped = sync.OnceValue(func() *Filter {
	m, err := Trained()
	if err != nil {
		panic(fmt.Sprintf("load the compiled-in saliency model: %v", err))
	}
	f, err := NewFilter(m)
	if err != nil {
		panic(fmt.Sprintf("load the compiled-in saliency model: %v", err))
	}
	return f
})

// Filter scores every turn by itself. A turn in which an assistant commits itself scores the threshold at least.
func (f *Filter) Filter(ctx context.Context, _ memory.Scope, turns, _ []memory.Turn) ([]memory.SaliencyDecision, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("filter turns: %w", err)
	}
	decisions := make([]memory.SaliencyDecision, len(turns))
	for i := range turns {
		score := f.Score(turns[i])
		if score < f.threshold && Commitment(turns[i]) != "" {
			score = f.threshold
		}
		decisions[i] = memory.SaliencyDecision{
			Salient: score >= f.threshold, Score: score, Threshold: f.threshold, PolicyVersion: f.version,
		}
	}
	return decisions, nil
}

// Score returns how worth remembering a turn is, 0 to 1. What a user says in words that the model cannot know scores the threshold at
// least: a filter may drop only what it can read.
func (f *Filter) Score(t memory.Turn) float64 {
	score, unread := f.score(t)
	if unread {
		score = max(score, f.threshold)
	}
	return score
}

// Worth is the score of what the model can read, and 1 of what a user says in words that it cannot know: nothing speaks against that.
func (f *Filter) Worth(t memory.Turn) float64 {
	score, unread := f.score(t)
	if unread {
		return 1
	}
	return score
}

// Read is the score of what the model can read; ok is false of what a user says in words that it cannot know.
func (f *Filter) Read(t memory.Turn) (score float64, ok bool) {
	score, unread := f.score(t)
	return score, !unread
}

func (f *Filter) score(t memory.Turn) (score float64, unread bool) {
	r := Read(t)
	if len(r.Clauses) == 0 {
		return 0, false // no words: an emoticon at most
	}
	p, _ := f.passes.Get().(*Pass)
	f.network.run(p, &r, f.index.Places(&r), f.table)
	score = logistic(float64(p.Logit))
	f.passes.Put(p)
	return score, r.foreign() && t.Role != memory.RoleAssistant
}

// Deciding returns a filter that has each turn be decided on by a chooser, whose version is kept behind its own with what it decides: the
// threshold's odds are what a turn's score is held against.
func (f *Filter) Deciding(choose decision.Chooser, version string) formation.Filter {
	return &deciding{f, choose, f.version + "@" + version}
}

type deciding struct {
	scores  *Filter
	choose  decision.Chooser
	version string
}

// Filter implements formation.Filter.
func (d *deciding) Filter(ctx context.Context, scope memory.Scope, turns, before []memory.Turn) ([]memory.SaliencyDecision, error) {
	out, err := d.scores.Filter(ctx, scope, turns, before)
	for i := range out {
		above := decision.Above(out[i].Score, out[i].Threshold)
		out[i].Salient = decision.Either(d.choose, decision.Filter, "", above, func() []float64 { return describe(turns[i], out[i].Score) })
		out[i].PolicyVersion = d.version
	}
	return out, err
}

// describe returns the features that decision.Features names.
func describe(t memory.Turn, score float64) []float64 {
	has := func(is bool) float64 {
		if is {
			return 1
		}
		return 0
	}
	words := len(strings.Fields(t.Text))
	return []float64{
		1, decision.Odds(score) / 5, math.Log1p(float64(words)) / 5, has(strings.Contains(t.Text, "?")), has(t.Role == memory.RoleAssistant),
		has(strings.ContainsFunc(t.Text, unicode.IsDigit)),
	}
}
