package relating

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/relation"
)

// Parts says how well what holds no more is taken out of entries that may tell several facts, given that they change.
type Parts struct {
	// Entries counts them, All those of which nothing holds any more.
	Entries int `json:"entries"`
	All     int `json:"all"`
	// Decided is the share that is changed rather than left beside the new statement; of those, Gone is the share in which nothing is left
	// that holds no more, and Lost that in which something is taken that holds on.
	Decided float64 `json:"decided"`
	Gone    float64 `json:"gone"`
	Lost    float64 `json:"lost"`
}

// Divider tells which parts of a stored statement hold no more.
type Divider interface {
	// Gone returns their probabilities, given that the later statement changes something of it.
	Gone(later relation.Statement, parts []string) []float64
}

// EvaluateParts measures a divider on the changes among statements whose writers marked what holds no more.
func EvaluateParts(d Divider, sets []corpus.Among) Parts {
	var p Parts
	var decided, gone, lost float64
	for _, a := range sets {
		if !a.Label.Changes() || a.Part == "" {
			continue
		}
		said := a.Stored[a.Looks].Text
		facts := embedded.Facts(said)
		if len(facts) < 2 {
			continue
		}
		told, over := embedded.Gone(d.Gone(a.Later, facts)), overlapping(said, facts, a.Part)
		p.Entries++
		if !slices.Contains(over, false) {
			p.All++
		}
		if !slices.Contains(told, true) {
			continue
		}
		left, loses := false, false
		for i := range facts {
			left, loses = left || over[i] && !told[i], loses || told[i] && !over[i]
		}
		decided++
		gone += flag(!left)
		lost += flag(loses)
	}
	p.Decided, p.Gone, p.Lost = decided/max(1, float64(p.Entries)), gone/max(1, decided), lost/max(1, decided)
	return p
}

// letters are what a word is made of.
var letters = regexp.MustCompile(`[\p{L}\p{N}]`)

// overlapping tells of each fact whether two letters of it at least are in a part.
func overlapping(said string, facts []string, part string) []bool {
	out := make([]bool, len(facts))
	start := strings.Index(strings.ToLower(said), strings.ToLower(part))
	at := 0
	for i, f := range facts {
		from := at + strings.Index(said[at:], f)
		at = from + len(f)
		if a, b := max(from, start), min(at, start+len(part)); a < b {
			out[i] = len(letters.FindAllString(said[a:b], 2)) == 2
		}
	}
	return out
}

// Render writes the figures as a line.
func (p Parts) Render(out io.Writer) error {
	_, err := fmt.Fprintf(out, "\n%d changed entries may tell several facts, %d change as a whole: %s are divided; of those %s keep "+
		"nothing that holds no more, %s lose something that holds\n",
		p.Entries, p.All, score.Percent(p.Decided), score.Percent(p.Gone), score.Percent(p.Lost))
	return err
}
