package deltamem

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Sizes of the embedded agent's searches. It searches once, for all that it wants to know, and at most once for two
// statements.
const (
	// foundEach is the number of results of a search. The paper's tool returns five for one query; here several
	// statements share the results.
	foundEach = formation.MaxNeighbours
	// maxPairs is how many pairs of statements of one session have a search.
	maxPairs = 32
	// shareMost is the most other statements that share a search. Such a search only needs to find their repetitions.
	// Short statements would not count among many others. A short one shares with one statement for every shareBytes
	// of its bytes, but with at least shareLeast.
	shareMost  = 10
	shareLeast = 2
	shareBytes = 10
	// maxShared is how many shared searches a session has. Where there are more statements, more of them share one.
	maxShared = 24
)

// probe is one search on behalf of some statements, by their positions.
type probe struct {
	text       string
	statements []int
}

// probeOf makes one search of statements.
func probeOf(related []formation.Related, statements ...int) probe {
	texts := make([]string, len(statements))
	for i, at := range statements {
		texts[i] = related[at].Candidate.Content
	}
	return probe{text: strings.Join(texts, " "), statements: statements}
}

// probesFor chooses what to search for. Statements that may change something known share a search by twos, each with
// the one that is nearest to it. The others seldom meet anything but their own repetition, so that more of them share
// one.
func probesFor(related []formation.Related) []probe {
	var changing, others []int
	for i, r := range related {
		if mayChange(r.Candidate) && len(changing) < 2*maxPairs {
			changing = append(changing, i)
			continue
		}
		others = append(others, i)
	}
	var out []probe
	for len(changing) > 1 {
		first := changing[0]
		second := slices.MaxFunc(changing[1:], func(a, b int) int {
			return cmp.Compare(nearness(related, first, a), nearness(related, first, b))
		})
		out = append(out, probeOf(related, first, second))
		changing = slices.DeleteFunc(changing, func(i int) bool { return i == first || i == second })
	}
	return append(out, share(related, append(others, changing...))...)
}

// nearness of two statements.
func nearness(related []formation.Related, a, b int) float64 {
	return memory.Cosine(related[a].Candidate.Vector, related[b].Candidate.Vector)
}

// share makes the searches that statements share, the shortest together: they say too little to be found among long
// ones.
func share(related []formation.Related, others []int) []probe {
	length := func(at int) int { return len(related[at].Candidate.Content) }
	slices.SortStableFunc(others, func(a, b int) int { return cmp.Compare(length(a), length(b)) })
	least := (len(others) + maxShared - 1) / maxShared
	var out []probe
	for len(others) > 0 {
		size := min(max(length(others[0])/shareBytes, shareLeast), shareMost)
		n := min(max(size, least), len(others))
		out, others = append(out, probeOf(related, others[:n]...)), others[n:]
	}
	return out
}

// mayChange reports whether a statement describes a state: an event changes fewer known entries.
func mayChange(c formation.Candidate) bool { return c.Kind != memory.KindEpisodic }
