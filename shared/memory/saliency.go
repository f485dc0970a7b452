package memory

import "time"

// SaliencyMode is what a tenant has the saliency filter do.
type SaliencyMode string

// The modes. The zero value is not known: decisions of before there were modes have it.
const (
	// SaliencyGate drops the turns below the threshold: no memory is made of them, and their session's formers see them as context.
	SaliencyGate SaliencyMode = "gate"
	// SaliencyMark rates every turn, says so of it, and drops none.
	SaliencyMark SaliencyMode = "mark"
	// SaliencyOff asks no filter: every turn passes unrated.
	SaliencyOff SaliencyMode = "off"
)

// SaliencyModes returns the modes.
func SaliencyModes() []SaliencyMode { return []SaliencyMode{SaliencyGate, SaliencyMark, SaliencyOff} }

// SaliencyDecision is the filter's verdict on one turn.
type SaliencyDecision struct {
	// Salient is whether the turn is worth remembering. Where nobody rated it, it counts as salient.
	Salient bool `json:"salient"`
	// Score is the confidence, 0 to 1.
	Score float64 `json:"score"`
	// Threshold is what the score was held against, 0 to 1.
	Threshold float64 `json:"threshold"`
	// PolicyVersion is name and version of the policy that decided.
	PolicyVersion string `json:"policy_version"`
	// Mode is what the decision was for.
	Mode SaliencyMode `json:"mode,omitempty"`
	// DecidedAt is when it was decided, in milliseconds; zero where that is not known.
	DecidedAt time.Time `json:"decided_at,omitzero"`
}

// Passes reports whether the turn goes on to be formed: only a gate drops anything.
func (d SaliencyDecision) Passes() bool {
	return d.Salient || d.Mode == SaliencyMark || d.Mode == SaliencyOff
}
