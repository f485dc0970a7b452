package reward

import (
	"math"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Entry is a memory in a reward's view.
type Entry struct {
	// Text is the text of the entry, Vector its embedding.
	Text   string
	Vector memory.Vector
	// Keywords are the words that a wanted entry must have, in any inflection. They are empty for an entry that was
	// made.
	Keywords []string
	// Replaced are the texts of the entries that this entry closed.
	Replaced []string
}

// TransitionOptions are DeltaMem's settings.
type TransitionOptions struct {
	// Tau is the least similarity of two entries with the same meaning: the cosine of their vectors, -1 to 1 (3.3.2,
	// Table 4). The paper has 0.75 for its embedding; another embedding needs another value.
	Tau float64
	// Keywords makes a pair count its share of told keywords (Eq. 4) in place of its similarity (5.1).
	Keywords bool
	// Said, where not empty, is the text of the turns. Keywords that the turns lack are not wanted, because no former
	// could know them.
	Said string
	// Printed takes the differences as Eq. 2 prints them. An entry in both the made and the wanted state then counts
	// for neither, even where the session brought it, so the best state has nothing to count. Otherwise only earlier
	// entries count for neither.
	Printed bool
	// NothingIsRight gives 1 where no change was wanted and none made. Eq. 7 as printed gives 0 there. Then a session
	// without a change rewards changes.
	NothingIsRight bool
	// Format, Retrieval and State weigh the parts (Eq. 8).
	Format, Retrieval, State float64
}

// TransitionDefaults returns the paper's settings, except that it sets NothingIsRight and not Printed.
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

// Transition measures how near a state of memory is to the wanted one (DeltaMem, 3.3).
type Transition struct {
	// Made and Wanted are the sizes of the differences (Eq. 2): entries of the made state and of the wanted state,
	// without the entries that both left unchanged.
	Made, Wanted int
	// Shared is the soft count of the common entries: the sum of the keyword shares of all pairs.
	Shared float64
	// Precision, Recall and F1 are the soft measures (Eq. 6, 7), 0 to 1.
	Precision, Recall, F1 float64
	// Unexpected counts the entries that replaced a still wanted entry. They have no partner.
	Unexpected int
}

// epsilon keeps denominators off zero (Eq. 4, 6, 7).
const epsilon = 1e-9

// StateTransition compares the made state with the wanted state, given the state before.
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

// Reward is the whole reward of a trajectory (Eq. 8). wellFormed is true for an answer with the required form.
// retrieved is true when the former saw the memories that it had to change.
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

// divide returns the entries of a that b has, too, with the same text and count, and the other entries of a.
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

// replacesWhatStays reports whether an entry closed a still wanted one.
func replacesWhatStays(e Entry, wanted []Entry) bool {
	return slices.ContainsFunc(e.Replaced, func(old string) bool {
		return slices.ContainsFunc(wanted, func(w Entry) bool { return text.Canonical(w.Text) == text.Canonical(old) })
	})
}

// fidelity is the share of a wanted entry's keywords that another entry tells (Eq. 4). Where said is known, only
// keywords in it count. Without keywords it is 1.
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

// tells reports whether a text has a keyword in some inflection. A keyword without a stem, as "May", must match as it
// is.
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
