package llm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

// Filter rates turns by a model. It is safe for concurrent use.
type Filter struct {
	role Role
	opts Options
}

var _ formation.Filter = (*Filter)(nil)

// ratings is the filter's answer.
type ratings struct {
	Turns []rating `json:"turns" desc:"one entry for every turn"`
}

type rating struct {
	ID    string  `json:"id" desc:"the turn's id"`
	Score float64 `json:"score" desc:"0 to 1"`
}

// NewFilter makes a filter. A prompt that does not work is an error here, not later.
func NewFilter(client *model.Client, opts Options) (*Filter, error) {
	f := &Filter{opts: opts}
	if err := NewRoles(client, "", builtin, opts,
		Spec[ratings](&f.role, model.RoleFilter, "filter.v4", "mneme_filter")); err != nil {
		return nil, fmt.Errorf("llm filter: %w", err)
	}
	return f, nil
}

// Version is prompt version and model.
func (f *Filter) Version() string { return "llm/" + f.role.Prompt() + "/" + f.role.Model() }

// maxBefore is how many turns before those that are rated the model reads.
const maxBefore = 6

// Filter rates the turns session by session. It makes a call for each batch and shows the turns before the batch. Its
// errors are the errors of package shared/model/llm.
func (f *Filter) Filter(
	ctx context.Context, scope memory.Scope, turns, before []memory.Turn,
) ([]memory.SaliencyDecision, error) {
	out := make([]memory.SaliencyDecision, len(turns))
	sessions := map[string][]int{} // the positions of its turns
	var order []string
	for i, t := range turns {
		if sessions[t.SessionID] == nil {
			order = append(order, t.SessionID)
		}
		sessions[t.SessionID] = append(sessions[t.SessionID], i)
	}
	for _, session := range order {
		read := slices.DeleteFunc(slices.Clone(before), func(t memory.Turn) bool { return t.SessionID != session })
		for batch := range slices.Chunk(sessions[session], f.opts.FilterBatch) {
			rated := make([]memory.Turn, len(batch))
			for n, i := range batch {
				rated[n] = turns[i]
			}
			scores, err := f.rateOrHalve(ctx, scope, rated, read)
			if err != nil {
				return nil, err
			}
			for n, i := range batch {
				out[i] = memory.SaliencyDecision{
					Salient: scores[n] >= f.opts.Threshold, Score: scores[n], Threshold: f.opts.Threshold, PolicyVersion: f.Version(),
				}
			}
			read = append(read, rated...)
		}
	}
	return out, nil
}

// rateOrHalve rates turns in one call. Where the model gives no usable answer, it divides the turns into two calls.
func (f *Filter) rateOrHalve(ctx context.Context, scope memory.Scope, turns, before []memory.Turn) ([]float64, error) {
	scores, err := f.rate(ctx, scope, turns, before[max(0, len(before)-maxBefore):])
	if half := len(turns) / 2; half > 0 && errors.Is(err, fault.ErrUnusableAnswer) {
		if scores, err = f.rateOrHalve(ctx, scope, turns[:half], before); err != nil {
			return nil, err
		}
		rest, err := f.rateOrHalve(ctx, scope, turns[half:], slices.Concat(before, turns[:half]))
		return append(scores, rest...), err
	}
	return scores, err
}

func (f *Filter) rate(ctx context.Context, scope memory.Scope, turns, before []memory.Turn) ([]float64, error) {
	data := struct {
		Context []ShownContext `json:"context,omitempty"`
		Turns   []ShownTurn    `json:"turns"`
	}{ShowContext(before, turns), ShowTurns(turns)}
	return Ask(ctx, f.role, scope, data, len(turns), func(a ratings) ([]float64, error) { return a.scores(len(turns)) })
}

// scores puts the ratings in the order of the turns; every turn must be rated exactly once.
func (a ratings) scores(n int) ([]float64, error) {
	index := turnIndex(n)
	out := make([]float64, n)
	seen := make([]bool, n)
	for _, r := range a.Turns {
		i, known := index[r.ID]
		switch {
		case !known:
			return nil, structured.Faultf("%s is not the id of a turn; the ids are t1 to t%d", structured.Alias(r.ID), n)
		case seen[i]:
			return nil, structured.Faultf("%s is rated twice", r.ID)
		case r.Score < 0 || r.Score > 1:
			return nil, structured.Faultf("the score of %s is not between 0 and 1", r.ID)
		}
		seen[i], out[i] = true, r.Score
	}
	if i := slices.Index(seen, false); i >= 0 {
		return nil, structured.Faultf("%s is not rated; every turn must be", Alias("t", i))
	}
	return out, nil
}
