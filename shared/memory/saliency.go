package memory

import "time"

// SaliencyDecision is the filter's verdict on one turn.
type SaliencyDecision struct {
	// Salient is whether the turn is worth remembering.
	Salient bool `json:"salient"`
	// Score is the confidence, 0 to 1.
	Score float64 `json:"score"`
	// Threshold is what the score was held against, 0 to 1.
	Threshold float64 `json:"threshold"`
	// PolicyVersion is name and version of the policy that decided.
	PolicyVersion string `json:"policy_version"`
	// DecidedAt is when it was decided, in milliseconds; zero where that is not known.
	DecidedAt time.Time `json:"decided_at,omitzero"`
}
