package reward

import (
	"slices"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Joining says how the lengths of several kinds of memory make one penalty, which MemBuilder leaves open.
type Joining string

// The readings.
const (
	JoinMean Joining = "mean" // each kind counts alike
	JoinMax  Joining = "max"  // the worst counts
)

// DenseOptions are MemBuilder's settings (3.4.1, B.4).
type DenseOptions struct {
	// Length is the weight of the penalty (lambda), 0 to 1.
	Length float64
	// CoreFree and CoreFull are by how many tokens the core block may grow without a penalty, and from where it is whole (Eq. 7).
	CoreFree, CoreFull float64
	// Lower and Upper are the ratios to an expert's tokens within which other memories are free, LowerFull and UpperFull from where the
	// penalty is whole; Difference is up to how many tokens more or less nothing counts (Eq. 8).
	Lower, Upper, LowerFull, UpperFull, Difference float64
	// Join makes one penalty of the kinds'.
	Join Joining
}

// DenseDefaults returns the paper's values. The full penalties at 0.2 and 2.0 are the public code's.
func DenseDefaults() DenseOptions {
	return DenseOptions{Length: 0.8, CoreFree: 150, CoreFull: 400, Lower: 0.5, Upper: 1.3, LowerFull: 0.2, UpperFull: 2, Difference: 200,
		Join: JoinMean}
}

// Validate reports a setting that is out of range.
func (o DenseOptions) Validate() error {
	switch {
	case !(o.Length >= 0 && o.Length <= 1):
		return fault.Terminal("length", "is %v, want 0 to 1", o.Length)
	case !(o.CoreFull > o.CoreFree):
		return fault.Terminal("core_full", "is %v, want more than core_free, %v", o.CoreFull, o.CoreFree)
	case !(o.LowerFull < o.Lower && o.Lower <= o.Upper && o.Upper < o.UpperFull):
		return fault.Terminal("ratios", "are %v, %v, %v, %v, want them to rise", o.LowerFull, o.Lower, o.Upper, o.UpperFull)
	case o.Join != JoinMean && o.Join != JoinMax:
		return fault.Terminal("join", "is %q, want %q or %q", o.Join, JoinMean, JoinMax)
	}
	return nil
}

// Written is how many tokens a kind of memory was given, and how many an expert gave it. Both are counted alike: the public code divides
// one side by four.
type Written struct{ Tokens, Expert float64 }

// Session is what a session came to.
type Session struct {
	// Valid says that every answer had its form.
	Valid bool
	// Right are the questions about the session that the bank answers, of Asked.
	Right, Asked int
	// Core is by how many tokens the core block grew; Kinds are the other kinds of memory: all that there are, for a kind that was given
	// nothing counts in the mean, too, which a former could else choose the kinds of.
	Core  float64
	Kinds []Written
}

// Dense is the reward of a session (Eq. 6). A session about which nothing is asked has none: ok is false, and it teaches nothing.
func (o DenseOptions) Dense(s Session) (r float64, ok bool) {
	if s.Asked == 0 {
		return 0, false
	}
	if !s.Valid {
		return 0, true
	}
	return float64(s.Right) / float64(s.Asked) * (1 - o.Length*o.penalty(s)), true
}

// penalty is l, 0 to 1.
func (o DenseOptions) penalty(s Session) float64 {
	all := []float64{o.CoreLength(s.Core)}
	for _, w := range s.Kinds {
		all = append(all, o.KindLength(w))
	}
	if o.Join == JoinMax {
		return slices.Max(all)
	}
	sum := 0.0
	for _, l := range all {
		sum += l
	}
	return sum / float64(len(all))
}

// CoreLength is the penalty of the core block's growth (Eq. 7), 0 to 1.
func (o DenseOptions) CoreLength(grown float64) float64 {
	return min(1, max(0, (grown-o.CoreFree)/(o.CoreFull-o.CoreFree)))
}

// KindLength is the penalty of another kind of memory (Eq. 8), 0 to 1.
func (o DenseOptions) KindLength(w Written) float64 {
	difference := max(w.Tokens-w.Expert, w.Expert-w.Tokens)
	if difference < o.Difference {
		return 0
	}
	if w.Expert <= 0 {
		return min(1, w.Tokens) // nothing, where nothing was wanted, is right
	}
	switch ratio := w.Tokens / w.Expert; {
	case ratio > o.Upper:
		return min(1, (ratio-o.Upper)/(o.UpperFull-o.Upper))
	case ratio < o.Lower:
		return min(1, (o.Lower-ratio)/(o.Lower-o.LowerFull))
	}
	return 0
}

// Attribution weighs the kinds of memory by how often each was retrieved to answer (Eq. 9, 10): the one that was most has weight, the
// others 1. Of several that were as often, the first in order of name has it. Where none was, all have 1; the core block always has,
// which is never retrieved and so not among them.
func Attribution(retrieved map[string]int, weight float64) map[string]float64 {
	out := make(map[string]float64, len(retrieved))
	var most string
	for kind, n := range retrieved {
		out[kind] = 1
		if n > 0 && (most == "" || n > retrieved[most] || n == retrieved[most] && kind < most) {
			most = kind
		}
	}
	if most != "" {
		out[most] = weight
	}
	return out
}
