package embedded

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// surelyEnds is the least probability of an end by which a statement ends a second entry about the same subject.
const surelyEnds = 0.8

// longestSubject is the maximum number of words of a subject: "my shift at the bakery".
const longestSubject = 5

// definite words begin a subject that the speaker has: "my father", "the house".
var definite = text.WordSet("my our the")

// subjectOf returns the words of the subject of a statement about the present: the words before "is" or a verb of the
// third person. It returns no words where the subject does not begin with a possessive or an article.
func subjectOf(said string) string {
	words := text.Words(said)
	if len(words) < 3 || !definite[words[0].Lower] {
		return ""
	}
	for i := 2; i < min(len(words), longestSubject+1); i++ {
		lower := words[i].Lower
		if pasts[lower] || strings.HasSuffix(lower, "ed") {
			return ""
		}
		if lower == "is" || lower == "has" || !words[i].Capital && !strings.Contains(lower, "'") &&
			strings.HasSuffix(lower, "s") {
			return said[:words[i-1].End]
		}
	}
	return ""
}

// surer is how much likelier an entry is changed by a message that names its subject.
const surer = 0.1

// leadOf is the part of the probability of a change that comes from the entry's subject. A statement about the past
// rarely changes.
func leadOf(message, content string) float64 {
	words := text.Words(plain(content))
	past := slices.ContainsFunc(words[:min(len(words), longestSubject)], func(w text.Word) bool { return pasts[w.Lower] })
	switch {
	case namesSubject(message, content):
		return surer
	case past:
		return -surer
	}
	return 0
}

// namesSubject reports whether a message names the subject of a statement about the present.
func namesSubject(message, content string) bool {
	subject := text.StemSet(subjectOf(plain(content)))
	return slices.ContainsFunc(text.ContentStems(message), func(stem string) bool { return subject[stem] })
}

// endsWith decides whether a message that ends one entry ends another entry, too. The message names the subject of the
// other entry, or ends the person or thing of a habit. And the judge is sure of the end.
func (d *decider) endsWith(later relation.Statement, m memory.Memory) bool {
	return (namesSubject(later.Text, m.Content) || isHabitWith(subjectPhrase(later.Text), m.Content)) &&
		d.judges.Between(later, asStored([]memory.Memory{m})[0])[relation.Ends] >= surelyEnds
}

// subjectPhrase returns the first two words of a message about someone or something of the speaker: "my uncle". It is
// "" if a third word belongs to the subject: "my dog walker".
func subjectPhrase(message string) string {
	words := text.Words(message)
	if len(words) < 3 || !isPossessive(words[0]) || !acts(words[2:3]) {
		return ""
	}
	return words[0].Lower + " " + words[1].Lower
}

// isHabitWith reports whether a statement tells of the speaker's habit with someone or something: "I visit my uncle
// every Friday" of "my uncle".
func isHabitWith(phrase, content string) bool {
	words := text.Words(plain(content))
	if phrase == "" || !hasSubject(content) || !routine.MatchString(content) || text.TellsPast(words) {
		return false
	}
	for i := 1; i < len(words); i++ {
		if words[i-1].Lower+" "+words[i].Lower == phrase {
			return true
		}
	}
	return false
}

// The options for the effect of a statement on an entry.
const (
	links    = 1
	replaces = 2
)

// never is the log-odds of an option that the rules exclude. A policy may choose it if the policy is very sure.
const never = -20

// changes returns the options for the effect of a statement on an entry: no effect, an uncertain link, or replacement.
// The thresholds set the odds of each option. whole is the probability that the statement changes any entry. may
// reports whether this entry can be the changed one.
func (f *Former) changes(
	c formation.Candidate, m memory.Memory, r relation.Relation, whole float64, may bool,
) []decision.Option {
	change := r.Change()
	link := decision.Above(change, f.links)
	replace := float64(never)
	if may {
		replace = max(0, link) + decision.Above(whole, f.closes)
	}
	out := []decision.Option{{}, {Base: link}, {Base: replace}}
	if _, plain := f.choose.(decision.Rules); plain {
		return out // no caller reads the features
	}
	slot := 0.0
	if c.Slot != "" && c.Slot == m.Slot {
		slot = 1
	}
	similar := memory.Cosine(c.Vector, m.Vector)
	out[0].Features = make([]float64, len(decision.Features(decision.Change)))
	out[links].Features = []float64{1, decision.Odds(change) / 5, decision.Odds(r[relation.Same]) / 5, 0, 0, 0, 0, 0}
	out[replaces].Features = []float64{0, 0, 0, 1, decision.Odds(change) / 5, decision.Odds(r[relation.Ends]) / 5, similar,
		slot}
	return out
}
