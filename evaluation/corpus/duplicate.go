package corpus

import (
	"maps"
	"slices"

	"github.com/mneme-memory/mneme/shared/text"
)

// NearDuplicate are two pairs, by their places, that share more than half of the runs of three words of the one that has fewer. Of pairs
// with the same stored statement, which are there to show what makes the difference, only the later statements are compared.
type NearDuplicate struct{ First, Second int }

// leastRuns is how many runs of three words a text has to have for a share of them to say something.
const leastRuns = 4

// NearDuplicates returns the pairs that say nearly what another says, in order.
func NearDuplicates(pairs []Pair) []NearDuplicate {
	later, whole := make([]map[string]bool, len(pairs)), make([]map[string]bool, len(pairs))
	holders := map[string][]int{}
	for i, p := range pairs {
		later[i], whole[i] = map[string]bool{}, map[string]bool{}
		addRuns(later[i], p.Later)
		addRuns(whole[i], p.Stored)
		maps.Copy(whole[i], later[i])
		for run := range whole[i] {
			holders[run] = append(holders[run], i)
		}
	}
	var out []NearDuplicate
	for i := range pairs {
		others := map[int]bool{}
		for run := range whole[i] {
			for _, j := range holders[run] {
				if j < i {
					others[j] = true
				}
			}
		}
		for _, j := range slices.Sorted(maps.Keys(others)) {
			runs := whole
			if text.Canonical(pairs[i].Stored) == text.Canonical(pairs[j].Stored) {
				runs = later
			}
			if nearly(runs[i], runs[j]) {
				out = append(out, NearDuplicate{First: j, Second: i})
			}
		}
	}
	return out
}

func addRuns(to map[string]bool, said string) {
	words := text.Words(said)
	for j := range max(0, len(words)-2) {
		to[words[j].Lower+" "+words[j+1].Lower+" "+words[j+2].Lower] = true
	}
}

func nearly(a, b map[string]bool) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	shared := 0
	for run := range a {
		if b[run] {
			shared++
		}
	}
	return len(a) >= leastRuns && 2*shared > len(a)
}
