package reward

import (
	"github.com/mneme-memory/mneme/shared/fault"
)

// HorizonOptions are Memory-R2's settings.
type HorizonOptions struct {
	// Compression is the weight of the penalty for a bank that is long beside what was said, Free the share of that which is free.
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

// Asked is a question that was answered from the bank at the end of a life.
type Asked struct {
	// Sessions are those that its evidence is in.
	Sessions []string
	// Score is how good the answer is, 0 to 1.
	Score float64
}

// Horizon is the reward of a session over a whole life: the mean score of the questions whose evidence is in it, answered from the last
// bank, less a penalty where the bank is long: memory and said are tokens. A session that no question is about has none: ok is false.
// In the public code it has the penalty alone, so that the size of the bank ranks it.
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

// Penalty is that for the length of the bank: of what exceeds the free share, in parts of what was said.
func (o HorizonOptions) Penalty(memory, said float64) float64 {
	if said <= 0 {
		return 0
	}
	return o.Compression * max(0, (memory-o.Free*said)/said)
}

// Outcome is the mean score of all questions, the same for every session: what the rewards of parts are compared with. Without questions
// there is none.
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
