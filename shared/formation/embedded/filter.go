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

// Weights of the features; the score is the logistic of their sum. They were set by hand on what
// each feature means, and some (weightThird, shareSecond, weightBias) were then picked by watching
// how many turns of the development dialogues are kept; expect a little less on others.
const (
	weightBias      = -0.8
	weightCaption   = 1.6
	weightAssistant = -0.4

	weightContent = 0.22 // per word of content
	weightName    = 0.7  // per name
	weightTime    = 0.5  // per number or word of time
	weightTelling = 0.35 // per word of states, plans and likes
	weightFirst   = 0.55 // the speaker speaks of themself
	weightThird   = 0.5  // somebody or something they know is spoken of

	// What a sentence tells counts less when it asks, only reacts, or speaks of the other one.
	shareQuestion      = 0.3
	shareReaction      = 0.35
	shareReactionFirst = 0.4
	shareSecond        = 0.4
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
	v := weightContent*float64(min(s.content, 10)) + weightName*float64(min(s.names, 3)) +
		weightTime*float64(min(s.times, 2)) + weightTelling*float64(min(s.tells, 3))
	if s.first {
		v += weightFirst
	}
	if s.third {
		v += weightThird
	}
	switch {
	case s.question:
		return v * shareQuestion
	case s.reaction && s.first:
		return v * shareReactionFirst
	case s.reaction:
		return v * shareReaction
	case s.second && !s.first:
		return v * shareSecond
	}
	return v
}
