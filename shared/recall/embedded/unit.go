package embedded

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/text"
)

// unit is what was made of the same turns: the best memory first.
type unit struct {
	rank    int
	members []memory.Memory
	// head is the line of the best memory, nil while it has none; shown is what it says of the statement.
	head  *line
	shown string
	// stated are the others that have a line.
	stated map[string]bool
}

// unitsOf groups memories that follow each other and were made from the same turns. A memory that is there already is passed over.
func unitsOf(memories []memory.Memory) []unit {
	var out []unit
	seen := map[string]bool{}
	for _, m := range memories {
		if seen[m.ID] {
			continue
		}
		seen[m.ID] = true
		last := len(out) - 1
		if last >= 0 && len(m.Sources) > 0 && slices.Equal(m.Sources, out[last].members[0].Sources) {
			out[last].members = append(out[last].members, m)
			continue
		}
		out = append(out, unit{rank: len(out), members: []memory.Memory{m}, stated: map[string]bool{}})
	}
	return out
}

// dressed is a memory's text with its date and until when it held, as a line without its citation. A quotation has its speaker and
// the month, or the day of what it tells, before it.
func dressed(m memory.Memory, text string) string {
	if m.Speaker != "" {
		return quoted(m, text) + validity(m)
	}
	text += validity(m)
	if date := dateOf(m.EventTime); date != "" && m.Kind == memory.KindEpisodic && !strings.Contains(text, date) {
		return date + ": " + text
	}
	return text
}

// abridge keeps the sentences of a long statement that the question asks for, in their order; the first one where it asks for none.
func (w *writer) abridge(text string) string {
	if countWords(text) <= maxLineWords {
		return text
	}
	return w.question.extract(w.split(text), maxLineWords)
}

// extract takes the sentences that the question asks for most, in their order, as long as they have no more than so many words; one
// is always taken.
func (q question) extract(sentences []string, words int) string {
	weights := make([]float64, len(sentences))
	for i, s := range sentences {
		weights[i] = q.weight(text.StemSet(s), one)
	}
	keep := make([]bool, len(sentences))
	for taken := 0; ; taken++ {
		best := -1
		for i := range sentences {
			if !keep[i] && weights[i] >= 0 && (best < 0 || weights[i] > weights[best]) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		n := countWords(sentences[best])
		if taken > 0 && n > words {
			weights[best] = -1
			taken--
			continue
		}
		keep[best] = true
		words -= n
	}
	var out []string
	for i, s := range sentences {
		if keep[i] {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

// quote returns the sentences of the raw words whose names and numbers the statements leave out.
func (u *unit) quote(split func(string) []string) string {
	stated := u.shown
	for _, m := range u.members[1:] {
		if u.stated[m.ID] {
			stated += "\n" + m.Content
		}
	}
	have := text.StemSet(stated + " " + dateOf(u.members[0].EventTime))
	var out []string
	for line := range strings.Lines(u.members[0].Value) {
		speaker, said := spokenBy(line)
		have[text.Stem(strings.ToLower(speaker))] = true
		for _, s := range split(recall.Plain(said)) {
			if missing(s, have) {
				out = append(out, s)
			}
		}
	}
	return strings.Join(out, " ")
}

// missing reports whether a sentence has a name or a number that is not there already: what short answers are made of.
func missing(sentence string, have map[string]bool) bool {
	words := text.Words(sentence)
	for i, w := range words {
		if (w.Number || w.Capital && i > 0) && !text.IsFiller(sentence, words, i) && !have[text.Stem(w.Lower)] {
			return true
		}
	}
	return false
}

// spokenBy takes a line of dialogue apart: "Ana: text", or "Ana (2024-05-07): text".
func spokenBy(text string) (speaker, said string) {
	speaker, said, ok := strings.Cut(text, ": ")
	if at := strings.IndexByte(speaker, '('); at > 0 {
		speaker = speaker[:at]
	}
	if !ok || len(strings.Fields(speaker)) > maxNameWords || strings.IndexFunc(speaker, unicode.IsLetter) < 0 {
		return "", text
	}
	return strings.TrimSpace(speaker), said
}

const (
	// maxNameWords is how many words a speaker's name may have.
	maxNameWords = 4
	// wholeRanks is how many turns are shown whole before there is room for the next ones, maxLineWords to how many words the others'
	// statements are abridged then. Fewer words a line bring more turns into a small profile and fewer of their details.
	wholeRanks   = 3
	maxLineWords = 24
)
