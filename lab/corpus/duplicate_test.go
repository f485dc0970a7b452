package corpus_test

import (
	"maps"
	"slices"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/text"
)

// nearDuplicate is two pairs, by index. They share more than half of the runs of three words of the pair with fewer
// runs. Pairs with the same stored statement show a difference on purpose, so only their later statements are
// compared.
type nearDuplicate struct{ First, Second int }

// leastRuns is the least number of runs of three words for a meaningful share.
const leastRuns = 4

// nearDuplicates returns the pairs of nearly equal texts, in order. It compares only pairs that share a run.
func nearDuplicates(pairs []corpus.Pair) []nearDuplicate {
	later, whole, stored := make([]map[string]bool, len(pairs)), make([]map[string]bool, len(pairs)),
		make([]string, len(pairs))
	holders := map[string][]int{}
	var out []nearDuplicate
	for i, p := range pairs {
		later[i], whole[i], stored[i] = map[string]bool{}, map[string]bool{}, text.Canonical(p.Stored)
		addRuns(later[i], p.Later)
		addRuns(whole[i], p.Stored)
		maps.Copy(whole[i], later[i])
		shared := map[int]int{}
		for run := range whole[i] {
			for _, j := range holders[run] {
				shared[j]++
			}
			holders[run] = append(holders[run], i)
		}
		for _, j := range slices.Sorted(maps.Keys(shared)) {
			runs, n := whole, shared[j]
			if stored[i] == stored[j] {
				runs, n = later, count(later[i], later[j])
			}
			if fewer := min(len(runs[i]), len(runs[j])); fewer >= leastRuns && 2*n > fewer {
				out = append(out, nearDuplicate{First: j, Second: i})
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

// count returns the number of common runs.
func count(a, b map[string]bool) (n int) {
	for run := range a {
		if b[run] {
			n++
		}
	}
	return n
}
