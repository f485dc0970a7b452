package memory

import "time"

// SaliencyMode is a tenant's mode of the saliency filter.
type SaliencyMode string

// The modes. The zero value is an unknown mode: decisions from before the modes have it.
const (
	// SaliencyGate drops the turns below the threshold. They form no memory, and the formers of their session see
	// them as context.
	SaliencyGate SaliencyMode = "gate"
	// SaliencyMark rates every turn, records the rating, and drops no turn.
	SaliencyMark SaliencyMode = "mark"
	// SaliencyOff uses no filter: every turn passes unrated.
	SaliencyOff SaliencyMode = "off"
)

// SaliencyModes returns the modes.
func SaliencyModes() []SaliencyMode { return []SaliencyMode{SaliencyGate, SaliencyMark, SaliencyOff} }

// SaliencyDecision is the filter's verdict on one turn.
type SaliencyDecision struct {
	// Salient says whether the turn is worth remembering. An unrated turn counts as salient.
	Salient bool `json:"salient"`
	// Score is the confidence, 0 to 1.
	Score float64 `json:"score"`
	// Threshold is the minimum score of a salient turn, 0 to 1.
	Threshold float64 `json:"threshold"`
	// PolicyVersion is name and version of the policy that decided.
	PolicyVersion string `json:"policy_version"`
	// Mode is the mode of the filter at the decision.
	Mode SaliencyMode `json:"mode,omitempty"`
	// DecidedAt is the time of the decision, in milliseconds. It is zero if unknown.
	DecidedAt time.Time `json:"decided_at,omitzero"`
}

// Passes reports whether the turn continues to formation. Only a gate drops turns.
func (d SaliencyDecision) Passes() bool {
	return d.Salient || d.Mode == SaliencyMark || d.Mode == SaliencyOff
}

// Dropped is the saliency filter's decision on a turn that did not pass. It does not contain the text of the turn.
type Dropped struct {
	// TurnID is the turn.
	TurnID string `json:"turn_id"`
	// SessionID is the session of the turn.
	SessionID string `json:"session_id"`
	// Time is the time of the utterance.
	Time time.Time `json:"time"`
	// Score is the confidence that the turn is worth remembering, 0 to 1.
	Score float64 `json:"score"`
	// Threshold is the minimum score of a salient turn, 0 to 1.
	Threshold float64 `json:"threshold"`
	// PolicyVersion is name and version of the policy that decided.
	PolicyVersion string `json:"policy_version"`
	// DecidedAt is the time of the decision.
	DecidedAt time.Time `json:"decided_at,omitzero"`
}
