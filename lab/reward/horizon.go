package reward

import (
	"github.com/mneme-memory/mneme/shared/fault"
)

// HorizonOptions are Memory-R2's settings.
type HorizonOptions struct {
	// Compression is the weight of the penalty for a long bank. Free is the penalty-free length, as a share of the
	// length of the sessions.
	Compression, Free float64
}

// HorizonDefaults returns the paper's values.
func HorizonDefaults() HorizonOptions { return HorizonOptions{Compression: 0.3, Free: 0.7} }

// Validate reports a setting that is out of range.
func (o HorizonOptions) Validate() error {
	if !(o.Compression >= 0) || !(o.Free >= 0 && o.Free <= 1) {
		return fault.Terminal("compression", "is %v with %v free, want 0 or more, and 0 to 1", o.Compression, o.Free)
	}
	return nil
}

// Asked is a question with its answer from the bank at the end of a life.
type Asked struct {
	// Sessions are the sessions with its evidence.
	Sessions []string
	// Score is the score of the answer, 0 to 1.
	Score float64
}

// Horizon returns the reward of a session over a whole life. It is the mean score of the questions with evidence in
// the session, answered from the last bank, less a penalty for a long bank. memory and said are tokens. A session
// without questions has no reward: ok is false. The public code gives it the penalty alone, so the size of the bank
// ranks it.
func (o HorizonOptions) Horizon(session string, asked []Asked, memory, said float64) (r float64, ok bool) {
	sum, n := 0.0, 0
	for _, a := range asked {
		for _, s := range a.Sessions {
			if s == session {
				sum += a.Score
				n++
				break
			}
		}
	}
	if n == 0 {
		return 0, false
	}
	return sum/float64(n) - o.Penalty(memory, said), true
}

// Penalty returns the penalty for the length of the bank: the excess over the free share, as a share of the said
// tokens.
func (o HorizonOptions) Penalty(memory, said float64) float64 {
	if said <= 0 {
		return 0
	}
	return o.Compression * max(0, (memory-o.Free*said)/said)
}

// Outcome returns the mean score of all questions, the same for every session. It is the baseline for the rewards of
// parts. Without questions ok is false.
func Outcome(asked []Asked) (r float64, ok bool) {
	if len(asked) == 0 {
		return 0, false
	}
	sum := 0.0
	for _, a := range asked {
		sum += a.Score
	}
	return sum / float64(len(asked)), true
}
