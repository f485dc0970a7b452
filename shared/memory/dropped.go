package memory

import "time"

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
