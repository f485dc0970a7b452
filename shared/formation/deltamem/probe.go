package deltamem

import (
	"regexp"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
)

// Sizes of the embedded agent's searches. It looks once, for all that it wants to know.
const (
	// ownFound is how many memories a statement of its own search is held against, as many as the paper's tool returns.
	ownFound = 5
	// maxOwn is how many statements of one session have a search of their own.
	maxOwn = 32
	// shareStatements is how many of the other statements share a search, which is only to find what repeats them; shareFound is what it finds.
	shareStatements = 8
	shareFound      = formation.MaxNeighbours
	// maxShared is how many shared searches a session has. Where there are more statements, more of them share one.
	maxShared = 24
)

// probe is one search on behalf of some statements, by their positions.
type probe struct {
	text       string
	k          int
	statements []int
}

// probesFor chooses what to look for. A statement that may change something known has a search of its own: one that sets or denies a value,
// or that has words of change. The others are most, and seldom meet anything but their own repetition, so they share searches.
func probesFor(related []formation.Related) []probe {
	var own, shared []probe
	var others []int
	for i, r := range related {
		if mayChange(r.Candidate) && len(own) < maxOwn {
			own = append(own, probe{text: r.Candidate.Content, k: ownFound, statements: []int{i}})
			continue
		}
		others = append(others, i)
	}
	size := max(shareStatements, (len(others)+maxShared-1)/maxShared)
	for first := 0; first < len(others); first += size {
		p := probe{k: shareFound, statements: others[first:min(first+size, len(others))]}
		texts := make([]string, len(p.statements))
		for i, at := range p.statements {
			texts[i] = related[at].Candidate.Content
		}
		p.text = strings.Join(texts, " ")
		shared = append(shared, p)
	}
	return append(own, shared...)
}

func mayChange(c formation.Candidate) bool {
	return c.Negates || c.Slot != "" || changing.MatchString(c.Content)
}

// changing are words that tell of a change to what was so.
var changing = regexp.MustCompile(`(?i)\b(?:no longer|any ?more|instead|actually|correction|used to|switched|swapped|changed|replaced|moved|quit|` +
	`stopped|gave up|given up|got rid of|sold|cancell?ed|called off|postponed|rescheduled|broke up|split up|fell through)\b`)
