package embedded

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/text"
)

// unit holds the memories of the same turns, the best memory first. Talk of these turns comes after the memories.
type unit struct {
	rank    int
	members []memory.Memory
	// head is the line of the best memory, nil before it has one. shown is the shown part of the statement.
	head  *line
	shown string
	// stated are the others that have a line.
	stated map[string]bool
}

// unitsOf groups memories that follow each other and were made from the same turns. A memory that is there already is
// passed over.
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
	for _, u := range out {
		slices.SortStableFunc(u.members, func(a, b memory.Memory) int { return cmp.Compare(a.Tier, b.Tier) })
	}
	return out
}

// dressed returns a memory's text with its date and its end of validity, as a line without its citation. A quotation
// has its speaker before it, and the month of the words or the day of the event. Talk has the day of the words.
func dressed(m memory.Memory, text string) string {
	if m.Tier == memory.TierTalk {
		return recall.Said(m.Speaker, m.ValidFrom.UTC().Format(time.DateOnly), text) + validity(m)
	}
	if m.Speaker != "" {
		return recall.Quotation(m.Speaker, dated(m), text) + validity(m)
	}
	line := recall.Escaped(text) + validity(m)
	if date := dated(m); date != "" && !strings.Contains(text, date) {
		return date + ": " + line
	}
	return line
}

// sentences returns the sentences of a text. It does not cut within a word such as "context.Context".
func sentences(splitter *text.Splitter, said string) []string {
	var out []string
	end := 0
	for _, s := range splitter.Sentences(said) {
		at := end + max(0, strings.Index(said[end:], s))
		if n := len(out); n > 0 && at == end && strings.HasSuffix(out[n-1], ".") {
			out[n-1] += s
		} else {
			out = append(out, s)
		}
		end = at + len(s)
	}
	return out
}

// abridge keeps the sentences of a long statement that the question asks for, in their order. It keeps the first
// sentence if no sentence matches.
func (w *writer) abridge(text string) string {
	if countWords(text) <= maxLineWords {
		return text
	}
	return w.question.extract(w.split(text), maxLineWords)
}

// extract takes the sentences with the best match to the question, in their order, up to this many words. It always
// takes one.
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

// quote returns sentences of the raw words with names and numbers that the statements leave out. It adds the date
// of the words if the line lacks it: “I drink 7 cups of it.” (2025-03).
func (u *unit) quote(w *writer) string {
	m := u.members[0]
	if m.Value == "" || m.Tier == memory.TierTalk { // the line of talk has the words already
		return ""
	}
	stated := u.shown
	for _, m := range u.members[1:] {
		if u.stated[m.ID] {
			stated += "\n" + m.Content
		}
	}
	have := text.StemSet(stated + " " + dateOf(m.EventTime))
	var out, kept []string
	last := ""
	flush := func(when string) {
		if len(kept) > 0 && when != last {
			out, kept = append(out, recall.Raw(strings.Join(kept, " "))+last), nil
		}
		last = when
	}
	for line := range strings.Lines(m.Value) {
		speaker, day, said := spokenBy(line)
		have[text.Stem(strings.ToLower(speaker))] = true
		when := last
		if speaker != "" {
			when = saidWhen(day, dated(m))
		}
		for _, s := range w.split(recall.Plain(said)) {
			if missing(s, have) {
				flush(when)
				kept = append(kept, w.shorten(s))
			}
		}
	}
	flush("end")
	return strings.Join(out, " ")
}

// saidWhen returns the date of raw words in brackets. It is the month, or the day after a line of another day of
// that month. It is "" if the line has that date.
func saidWhen(day, line string) string {
	if day == "" || strings.HasPrefix(day, line) && line != "" && len(line) >= len(month) {
		return ""
	}
	if len(line) == len(day) && line[:len(month)] == day[:len(month)] {
		return " (" + day + ")"
	}
	return " (" + day[:len(month)] + ")"
}

// missing reports whether a sentence has a new name or number. Short answers consist of these.
func missing(sentence string, have map[string]bool) bool {
	words := text.Words(sentence)
	for i, w := range words {
		if (w.Number || w.Capital && i > 0) && !text.IsFiller(sentence, words, i) && !have[text.Stem(w.Lower)] {
			return true
		}
	}
	return false
}

// spokenBy splits a line of dialogue: "Ana: text", or "Ana (2024-05-07): text". The day is empty if the line has no
// day.
func spokenBy(text string) (speaker, day, said string) {
	speaker, said, ok := strings.Cut(text, ": ")
	speaker, rest, _ := strings.Cut(speaker, "(")
	if !ok || len(strings.Fields(speaker)) > maxNameWords || strings.IndexFunc(speaker, unicode.IsLetter) < 0 {
		return "", "", text
	}
	if day = strings.TrimSuffix(rest, ")"); day != "" {
		if _, err := time.Parse(time.DateOnly, day); err != nil {
			day = ""
		}
	}
	return strings.TrimSpace(speaker), day, said
}

const (
	// maxNameWords is how many words a speaker's name may have.
	maxNameWords = 4
	// wholeRanks is the number of turns that are shown whole before the next ones get room. maxLineWords is the
	// limit for the others' statements, in words. Fewer words per line bring more turns into a small profile, and
	// fewer details.
	wholeRanks   = 3
	maxLineWords = 24
)
