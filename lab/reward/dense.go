package reward

import (
	"slices"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Joining names a way to join the lengths of several kinds of memory into one penalty. MemBuilder leaves it open.
type Joining string

// The readings.
const (
	JoinMean Joining = "mean" // mean over the kinds
	JoinMax  Joining = "max"  // the worst kind
)

// DenseOptions are MemBuilder's settings (3.4.1, B.4).
type DenseOptions struct {
	// Length is the weight of the penalty (lambda), 0 to 1.
	Length float64
	// CoreFree and CoreFull are growths of the core block in tokens. Up to CoreFree there is no penalty, from
	// CoreFull the penalty is whole (Eq. 7).
	CoreFree, CoreFull float64
	// Lower and Upper are ratios to an expert's tokens. Between them other memories have no penalty. Beyond LowerFull
	// and UpperFull the penalty is whole. A difference of up to Difference tokens counts nothing (Eq. 8).
	Lower, Upper, LowerFull, UpperFull, Difference float64
	// Join selects the way to join the penalties of the kinds.
	Join Joining
}

// DenseDefaults returns the paper's values. The full penalties at 0.2 and 2.0 come from the public code.
func DenseDefaults() DenseOptions {
	return DenseOptions{Length: 0.8, CoreFree: 150, CoreFull: 400, Lower: 0.5, Upper: 1.3, LowerFull: 0.2, UpperFull: 2,
		Difference: 200,
		Join:       JoinMean}
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

// Written has the tokens written to a kind of memory, and the tokens that an expert wrote. Both sides count the same
// way: the public code divides one side by four.
type Written struct{ Tokens, Expert float64 }

// Session is the result of a session.
type Session struct {
	// Valid is true when every answer has its form.
	Valid bool
	// Right is the number of questions about the session that the bank answers. Asked is the number of all questions
	// about it.
	Right, Asked int
	// Core is the growth of the core block in tokens. Kinds has all other kinds of memory. A kind without tokens
	// counts in the mean, too; otherwise a former could choose the kinds.
	Core  float64
	Kinds []Written
}

// Dense returns the reward of a session (Eq. 6). A session without questions has no reward: ok is false.
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

// CoreLength returns the penalty of the core block's growth (Eq. 7), 0 to 1.
func (o DenseOptions) CoreLength(grown float64) float64 {
	return min(1, max(0, (grown-o.CoreFree)/(o.CoreFull-o.CoreFree)))
}

// KindLength returns the penalty of another kind of memory (Eq. 8), 0 to 1.
func (o DenseOptions) KindLength(w Written) float64 {
	difference := max(w.Tokens-w.Expert, w.Expert-w.Tokens)
	if difference < o.Difference {
		return 0
	}
	if w.Expert <= 0 {
		return min(1, w.Tokens) // no tokens are right where the expert wrote no tokens
	}
	switch ratio := w.Tokens / w.Expert; {
	case ratio > o.Upper:
		return min(1, (ratio-o.Upper)/(o.UpperFull-o.Upper))
	case ratio < o.Lower:
		return min(1, (o.Lower-ratio)/(o.Lower-o.LowerFull))
	}
	return 0
}
