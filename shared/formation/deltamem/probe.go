package deltamem

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Sizes of the embedded agent's searches. It searches once, for all that it wants to know.
const (
	// ownFound is how many memories a statement of its own search is held against, as many as the paper's tool returns.
	ownFound = 5
	// maxOwn is how many statements of one session have a search of their own.
	maxOwn = 32
	// shareMost is how many of the other statements share a search, which is only to find what repeats them. Short ones would drown
	// among others: of those, one shares for every shareBytes bytes of its own, but at least shareLeast. shareFound is what such a
	// search finds.
	shareMost  = 10
	shareLeast = 2
	shareBytes = 10
	shareFound = formation.MaxNeighbours
	// maxShared is how many shared searches a session has. Where there are more statements, more of them share one.
	maxShared = 24
)

// probe is one search on behalf of some statements, by their positions.
type probe struct {
	text       string
	k          int
	statements []int
}

// probesFor chooses what to search for. A statement that may change something known has a search of its own: one that sets or
// denies a value, or that has words of change. The others are most, and seldom meet anything but their own repetition, so they
// share searches.
func probesFor(related []formation.Related) []probe {
	var own []probe
	var others []int
	for i, r := range related {
		if mayChange(r.Candidate) && len(own) < maxOwn {
			own = append(own, probe{text: r.Candidate.Content, k: ownFound, statements: []int{i}})
			continue
		}
		others = append(others, i)
	}
	return append(own, share(related, others)...)
}

// share makes the searches that statements share, the shortest together: they say too little to be found among long ones.
func share(related []formation.Related, others []int) []probe {
	length := func(at int) int { return len(related[at].Candidate.Content) }
	slices.SortStableFunc(others, func(a, b int) int { return cmp.Compare(length(a), length(b)) })
	least := (len(others) + maxShared - 1) / maxShared
	var out []probe
	for len(others) > 0 {
		size := min(max(length(others[0])/shareBytes, shareLeast), shareMost)
		n := min(max(size, least), len(others))
		p := probe{k: shareFound, statements: others[:n]}
		texts := make([]string, n)
		for i, at := range p.statements {
			texts[i] = related[at].Candidate.Content
		}
		p.text = strings.Join(texts, " ")
		out, others = append(out, p), others[n:]
	}
	return out
}

// mayChange reports whether a statement tells how things are: what happened once changes less of what is known.
func mayChange(c formation.Candidate) bool { return c.Kind != memory.KindEpisodic }
