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

// Parts measures how well a judge removes outdated facts from changed entries that may tell several facts.
type Parts struct {
	// Entries counts the entries. All counts those without any fact that still holds.
	Entries int `json:"entries"`
	All     int `json:"all"`
	// Decided is the share of entries that the judge changes. Of those, Gone is the share without an outdated fact
	// left, and Lost the share that lost a fact that still holds.
	Decided float64 `json:"decided"`
	Gone    float64 `json:"gone"`
	Lost    float64 `json:"lost"`
}

// Divider finds the outdated parts of a stored statement.
type Divider interface {
	// Gone returns their probabilities, given that the later statement changes a part.
	Gone(later relation.Statement, parts []string) []float64
}

// EvaluateParts measures a divider on changed statements with marked outdated parts.
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
		told, over := embedded.GoneFrom(said, a.Later.Text, d.Gone(a.Later, facts)), overlapping(said, facts, a.Part)
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

// letters matches the characters of a word.
var letters = regexp.MustCompile(`[\p{L}\p{N}]`)

// overlapping reports for each fact whether a part has at least two of its letters.
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
	_, err := fmt.Fprintf(out, "\n"+
		"%d changed entries may tell several facts, %d change as a whole: %s are divided; of those %s keep nothing that "+
		"holds no more, %s lose something that holds\n",
		p.Entries, p.All, score.Percent(p.Decided), score.Percent(p.Gone), score.Percent(p.Lost))
	return err
}
