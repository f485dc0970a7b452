package embedded

import (
	"context"
	"fmt"
	"math"

	"github.com/mneme-memory/mneme/shared/memory"

	"github.com/mneme-memory/mneme/shared/formation"
)

// DefaultThreshold is the score from which a turn is salient. It is set by recall: a missed
// turn is lost, an extra one costs a little space.
const DefaultThreshold = 0.5

// Filter is the attentional gate: a logistic score over features that can be read off a turn.
// It is safe for concurrent use.
type Filter struct {
	threshold float64
}

var _ formation.Filter = (*Filter)(nil)

// NewFilter returns the filter with DefaultThreshold.
func NewFilter() *Filter { return &Filter{threshold: DefaultThreshold} }

// Filter decides on every turn by itself; only the names of the speakers are shared, because being
// called by name is no content.
func (f *Filter) Filter(ctx context.Context, _ memory.Scope, turns []memory.Turn) ([]formation.Decision, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("filter turns: %w", err)
	}
	names := speakerNames(turns)
	decisions := make([]formation.Decision, len(turns))
	for i, t := range turns {
		score := scoreTurn(t, names)
		decisions[i] = formation.Decision{
			Salient: score >= f.threshold, Score: score, Threshold: f.threshold, PolicyVersion: FilterVersion,
		}
	}
	return decisions, nil
}

// weights of the features; the score is the logistic of their sum. They were set by hand, on what
// each feature means, and are the same for everybody.
const (
	weightBias      = -0.95
	weightCaption   = 1.6
	weightAssistant = -0.4
)

// scoreTurn returns how worth remembering a turn is, 0 to 1.
func scoreTurn(t memory.Turn, names map[string]bool) float64 {
	sum := weightBias
	for _, s := range scanSegments(t.Text, names) {
		sum += s.value()
	}
	if hasContent(t.Caption) {
		sum += weightCaption
	}
	if t.Role == memory.RoleAssistant {
		sum += weightAssistant
	}
	return 1 / (1 + math.Exp(-sum))
}

// value is what one sentence adds to the sum: what it tells, less where it asks, greets or
// only reacts.
func (s segment) value() float64 {
	if s.content == 0 {
		return 0
	}
	v := 0.22*float64(min(s.content, 10)) + 0.7*float64(min(s.names, 3)) + 0.5*float64(min(s.times, 2)) +
		0.35*float64(min(s.tells, 3))
	if s.first {
		v += 0.55
	}
	switch {
	case s.question:
		v *= 0.3
	case s.reaction && !s.first:
		v *= 0.35
	case s.reaction, s.second && !s.first:
		v *= 0.6
	}
	return v
}
