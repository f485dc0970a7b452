package reward

import (
	"math"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Entry is a memory as a reward sees it.
type Entry struct {
	// Text is what it says, Vector the embedding of that.
	Text   string
	Vector memory.Vector
	// Keywords are what an entry that is wanted must tell, word for word but for inflection. Of one that was made they are empty.
	Keywords []string
	// Replaced are the texts of the entries that making this one closed.
	Replaced []string
}

// TransitionOptions are DeltaMem's settings.
type TransitionOptions struct {
	// Tau is the least similarity of two entries that say the same, the cosine of their vectors, -1 to 1 (3.3.2, Table 4: 0.75 with the
	// paper's embedding; another embedding has another).
	Tau float64
	// Keywords says whether a pair counts for the share of keywords that it tells (Eq. 4), and not for its similarity (5.1).
	Keywords bool
	// Said, where it is not empty, is what was said: keywords that are not in it are not wanted, because nobody could have told them.
	Said string
	// Printed takes the differences as Eq. 2 prints them: an entry that the state made and the one wanted both have counts for neither, also
	// where the session brought it, so that the best there is has nothing to count. Otherwise only what was there before counts for neither.
	Printed bool
	// NothingIsRight gives 1 where nothing was wanted and nothing made. As Eq. 7 is printed it is 0 then, and a session that changes nothing
	// teaches to change something.
	NothingIsRight bool
	// Format, Retrieval and State weigh the parts (Eq. 8).
	Format, Retrieval, State float64
}

// TransitionDefaults returns the paper's settings, but for NothingIsRight, which is set, and for Printed, which is not.
func TransitionDefaults() TransitionOptions {
	return TransitionOptions{Tau: 0.75, Keywords: true, NothingIsRight: true, Format: 0.1, Retrieval: 0.1, State: 0.8}
}

// Validate reports a setting that is out of range.
func (o TransitionOptions) Validate() error {
	switch {
	case !(o.Tau >= -1 && o.Tau <= 1):
		return fault.Terminal("tau", "is %v, want -1 to 1", o.Tau)
	case !(o.Format >= 0 && o.Retrieval >= 0 && o.State >= 0):
		return fault.Terminal("weights", "are %v, %v and %v, want 0 or more", o.Format, o.Retrieval, o.State)
	}
	return nil
}

// Transition is how near a state of memory came to the one that was wanted (DeltaMem, 3.3).
type Transition struct {
	// Made and Wanted are the sizes of the differences (Eq. 2): entries of the state made, and of the one wanted, but for those that both
	// left as they were.
	Made, Wanted int
	// Shared is the soft count of what both have: the keywords' shares of all pairs.
	Shared float64
	// Precision, Recall and F1 are the soft ones (Eq. 6, 7), 0 to 1.
	Precision, Recall, F1 float64
	// Unexpected is how many entries replaced one that should have stayed: they are paired with nothing.
	Unexpected int
}

// epsilon keeps denominators off zero (Eq. 4, 6, 7).
const epsilon = 1e-9

// StateTransition compares the state that was made of one before with the one that was wanted.
func StateTransition(before, made, wanted []Entry, o TransitionOptions) Transition {
	unchanged, _ := divide(made, wanted)
	if !o.Printed {
		unchanged, _ = divide(before, unchanged)
	}
	_, onlyMade := divide(made, unchanged)
	_, onlyWanted := divide(wanted, unchanged)
	out := Transition{Made: len(onlyMade), Wanted: len(onlyWanted)}
	value := make([][]float64, len(onlyMade))
	for i, m := range onlyMade {
		value[i] = make([]float64, len(onlyWanted))
		unexpected := replacesWhatStays(m, wanted)
		if unexpected {
			out.Unexpected++
		}
		for j, w := range onlyWanted {
			value[i][j] = math.Inf(-1)
			if similar := memory.Cosine(m.Vector, w.Vector); !unexpected && similar >= o.Tau {
				value[i][j] = max(0, similar)
			}
		}
	}
	for i, j := range assign(value) {
		if j >= 0 {
			if o.Keywords {
				out.Shared += fidelity(onlyMade[i], onlyWanted[j], o.Said)
			} else {
				out.Shared += value[i][j]
			}
		}
	}
	if out.Made+out.Wanted == 0 && o.NothingIsRight {
		out.Precision, out.Recall, out.F1 = 1, 1, 1
		return out
	}
	out.Precision = out.Shared / (float64(out.Made) + epsilon)
	out.Recall = out.Shared / (float64(out.Wanted) + epsilon)
	out.F1 = 2 * out.Precision * out.Recall / (out.Precision + out.Recall + epsilon)
	return out
}

// Reward is the whole reward of a trajectory (Eq. 8): wellFormed says that it has the form that is wanted of it, retrieved that it
// looked at the memories that it had to change.
func (t Transition) Reward(wellFormed, retrieved bool, o TransitionOptions) float64 {
	r := o.State * t.F1
	if wellFormed {
		r += o.Format
	}
	if retrieved {
		r += o.Retrieval
	}
	return r
}

// divide returns the entries of a that b has, too, word for word and as often, and those that it has not.
func divide(a, b []Entry) (common, others []Entry) {
	times := map[string]int{}
	for _, e := range b {
		times[text.Canonical(e.Text)]++
	}
	for _, e := range a {
		if key := text.Canonical(e.Text); times[key] > 0 {
			times[key]--
			common = append(common, e)
		} else {
			others = append(others, e)
		}
	}
	return common, others
}

// replacesWhatStays reports whether an entry closed one that is still wanted.
func replacesWhatStays(e Entry, wanted []Entry) bool {
	return slices.ContainsFunc(e.Replaced, func(old string) bool {
		return slices.ContainsFunc(wanted, func(w Entry) bool { return text.Canonical(w.Text) == text.Canonical(old) })
	})
}

// fidelity is the share of a wanted entry's keywords that another tells (Eq. 4), of those that are in what was said, where that is known.
// Without keywords it is 1.
func fidelity(made, wanted Entry, said string) float64 {
	n, found := 0, 0
	for _, k := range wanted.Keywords {
		if said != "" && !tells(said, k) {
			continue
		}
		n++
		if tells(made.Text, k) {
			found++
		}
	}
	if n == 0 {
		return 1
	}
	return float64(found) / (float64(n) + epsilon)
}

// tells reports whether a text has a keyword in some inflection; one that has no stem, as "May", as it is.
func tells(said, keyword string) bool {
	stems := text.StemSet(keyword)
	if len(stems) == 0 {
		return strings.Contains(text.Canonical(said), text.Canonical(keyword))
	}
	all := text.StemSet(said)
	for s := range stems {
		if !all[s] {
			return false
		}
	}
	return true
}
