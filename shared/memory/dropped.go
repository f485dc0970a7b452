package memory

import "time"

// Dropped is the saliency filter's decision on a turn that did not pass. What the turn said is not in it.
type Dropped struct {
	// TurnID is the turn.
	TurnID string `json:"turn_id"`
	// SessionID is the session of the turn.
	SessionID string `json:"session_id"`
	// Time is when the turn was uttered.
	Time time.Time `json:"time"`
	// Score is the confidence that the turn is worth remembering, 0 to 1.
	Score float64 `json:"score"`
	// Threshold is what the score was held against, 0 to 1.
	Threshold float64 `json:"threshold"`
	// PolicyVersion is name and version of the policy that decided.
	PolicyVersion string `json:"policy_version"`
	// DecidedAt is that of the decision.
	DecidedAt time.Time `json:"decided_at,omitzero"`
}
