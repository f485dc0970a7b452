// Package embedded uses memory at query time without a model server. It makes a profile of the found memories,
// within a word budget, and an extractive answer from it. Both are deterministic.
package embedded

import (
	_ "embed"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/text"
)

// question has the content words of a query, as the policies compare them with memories.
type question struct {
	// stems are the content stems, without weak ones and names.
	stems []string
	// weak are stems that many questions share.
	weak []string
	// when is whether it asks for a time.
	when bool
}

func questionOf(q query.Query) question {
	out := question{when: q.AsksWhen(text.English)}
	for _, p := range q.Parts {
		for i, w := range p.Words {
			lower := strings.TrimSuffix(w.Lower, "'s")
			switch stem := text.Stem(lower); {
			case text.IsFiller(p.Text, p.Words, i), out.when && query.IsTimeNoun(lower):
			case w.Capital && i > 0, w.Capital && len(p.Words) == 1: // a name
			case weakWords[lower]:
				out.weak = append(out.weak, stem)
			default:
				out.stems = append(out.stems, stem)
			}
		}
	}
	return out
}

// index is the searchable side of a memory: the stems of all that it carries.
func index(m memory.Memory) map[string]bool {
	fields := []string{m.Speaker, m.Content, m.Topic, strings.Map(slotSeparator, m.Slot), strings.Join(m.Keywords, " ")}
	return text.StemSet(strings.Join(fields, " "))
}

func slotSeparator(r rune) rune {
	if unicode.IsLetter(r) || unicode.IsDigit(r) {
		return r
	}
	return ' '
}

// weight returns the number of question stems in a set of stems. Weak stems count less.
func (q question) weight(stems map[string]bool, idf func(string) float64) float64 {
	sum := 0.0
	for _, s := range q.stems {
		if matches(stems, s) {
			sum += idf(s)
		}
	}
	for _, s := range q.weak {
		if stems[s] {
			sum += weakWeight * idf(s)
		}
	}
	return sum
}

const weakWeight = 0.3

// one weighs all stems alike.
func one(string) float64 { return 1 }

// matches reports whether a stem, or another word for it, is in the set.
func matches(stems map[string]bool, s string) bool {
	return stems[s] || slices.ContainsFunc(otherWords[s], func(other string) bool { return stems[other] })
}

// dateOf returns an event time as it is written in lines, a range as "from to until", or "".
func dateOf(t memory.EventTime) string {
	layout := map[memory.Precision]string{
		memory.PrecisionYear: "2006", memory.PrecisionMonth: "2006-01", memory.PrecisionDay: time.DateOnly,
	}[t.Precision]
	switch {
	case layout == "":
		return ""
	case t.End.IsZero():
		return t.Time.Format(layout)
	}
	return t.Time.Format(layout) + " to " + t.End.Format(layout)
}

// month is the form of a month in lines.
const month = "2006-01"

// dated returns the date in a memory's line: the date of its event, or the month of a quotation. It is "" if there
// is no date.
func dated(m memory.Memory) string {
	date := dateOf(m.EventTime)
	if date != "" && m.Kind == memory.KindEpisodic {
		return date
	}
	if m.Speaker == "" {
		return ""
	}
	return m.ValidFrom.UTC().Format(month)
}

// validity returns until when a memory held, in brackets, or "" while it holds.
func validity(m memory.Memory) string {
	if m.Status == memory.StatusActive || m.ValidTo.IsZero() {
		return ""
	}
	return " (until " + m.ValidTo.UTC().Format("2006-01-02") + ")"
}

// weakWords are in many questions and carry little content.
var weakWords = text.WordSet(`tell know remember say said mention mentioned talk talked kind kinds type types
	thing things much many
	name long get go going went like do does did make made one time new use feel think want try recent recently
	last first`)

//go:embed otherwords.txt
var otherWordFile string

// otherWords maps the stem of a word in questions to stems of words in statements.
var otherWords = stemTable(text.ReadWordLists(otherWordFile))

func stemTable(in map[string]string) map[string][]string {
	out := make(map[string][]string, len(in))
	for k, v := range in {
		for _, w := range strings.Fields(v) {
			out[text.Stem(k)] = append(out[text.Stem(k)], text.Stem(w))
		}
	}
	return out
}
