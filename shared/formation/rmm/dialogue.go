package rmm

import (
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// ellipsis marks where a turn was cut.
const ellipsis = "…"

// Dialogue returns the value of a topic. It has the source turns in their order, each a line with speaker, day and
// caption. The values of the replaced entries come before them, oldest first. Lines beyond memory.MaxValueBytes are
// dropped from the oldest on. The newest turn is kept, and cut at its end if it alone is too long.
func Dialogue(turns []memory.Turn, sources []string, older ...string) string {
	return bounded(linesOf(turns, sources, older...))
}

// whole reports whether the value of a topic would have all the dialogue.
func whole(turns []memory.Turn, sources []string, older ...string) bool {
	return len(strings.Join(linesOf(turns, sources, older...), "\n")) <= memory.MaxValueBytes
}

func linesOf(turns []memory.Turn, sources []string, older ...string) []string {
	var lines []string
	for _, value := range older {
		for line := range strings.SplitSeq(value, "\n") {
			if line != "" && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	for _, t := range turns {
		if slices.Contains(sources, t.ID) {
			lines = append(lines, lineOf(t))
		}
	}
	return lines
}

// dialogueOf returns the dialogue of an entry. An entry of another strategy has none, but a quotation is a turn's text.
func dialogueOf(m memory.Memory) string {
	if m.Value != "" || m.Speaker == "" {
		return m.Value
	}
	return lineOf(memory.Turn{Speaker: m.Speaker, Time: m.ValidFrom, Text: m.Content})
}

// lineOf writes a turn as one line.
func lineOf(t memory.Turn) string {
	said := text.OneLine(t.Text)
	if caption := text.OneLine(t.Caption); caption != "" {
		said += " [picture: " + caption + "]"
	}
	return text.OneLine(t.Speaker) + " (" + t.Time.Format(time.DateOnly) + "): " + said
}

// bounded joins the last lines that fit.
func bounded(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	first, size := len(lines)-1, len(lines[len(lines)-1])
	if size > memory.MaxValueBytes {
		return text.Cut(lines[first], memory.MaxValueBytes-len(ellipsis)) + ellipsis
	}
	for first > 0 && size+1+len(lines[first-1]) <= memory.MaxValueBytes {
		first--
		size += 1 + len(lines[first])
	}
	return strings.Join(lines[first:], "\n")
}

// withDialogue sets the values of the entries that operations write. known are the possible targets in addition to
// entries of earlier operations.
func withDialogue(ops []memory.Operation, turns []memory.Turn, known map[string]memory.Memory) {
	written := map[string]string{}
	for i := range ops {
		if ops[i].New == nil {
			continue
		}
		var older []string
		for _, id := range ops[i].Targets {
			if value, ok := written[id]; ok {
				older = append(older, value)
			} else {
				older = append(older, dialogueOf(known[id]))
			}
		}
		ops[i].New.Value = Dialogue(turns, ops[i].Sources, older...)
		written[ops[i].New.ID] = ops[i].New.Value
	}
}

// When a topic is the same as an entry's. Both must hold: words alone match by accident, and so do vectors.
const (
	// leastSimilarity is the cosine of the summaries' vectors.
	leastSimilarity = 0.55
	// leastOverlap is the share of the smaller summary's stems that both have, and leastShared how many these are at
	// least.
	leastOverlap = 0.4
	leastShared  = 2
)

// same finds the entry that a topic continues, and the summary of both. It is the most similar entry of the same
// speaker with shared words and no other event. It must have room for the summary and the dialogue of both, which are
// kept whole.
func (m *merger) same(r formation.Related) (best memory.Memory, content string, ok bool) {
	c := r.Candidate
	entries, similarity := m.known(r)
	most, owner := leastSimilarity, text.StemSet(ownerOfCandidate(c))
	for i, e := range entries {
		if c.Tier != e.Tier || !compatible(c.EventTime, e.EventTime) || similarity[i] < most || ok && similarity[i] == most ||
			!overlaps(c.Content, e.Content, owner) || !whole(m.in.Session.Turns, c.Sources, dialogueOf(e)) {
			continue
		}
		if joined := m.former.join(m.candidate(c), m.former.sentencesOf(e)); text.CountWords(joined) <= maxSummaryWords {
			best, content, most, ok = e, joined, similarity[i], true
		}
	}
	return best, content, ok
}

// overlaps reports whether two summaries share enough words.
func overlaps(a, b string, owner map[string]bool) bool {
	x, y := topicStems(a, owner), topicStems(b, owner)
	shared := 0
	for stem := range x {
		if y[stem] {
			shared++
		}
	}
	return shared >= leastShared && float64(shared) >= leastOverlap*float64(min(len(x), len(y)))
}

// reporting stems describe the act of speech, not its content.
var reporting = map[string]bool{"said": true, "ask": true, "share": true, "photo": true, "assist": true, "user": true}

// topicStems returns the stems of a summary's subject. It leaves out the speaker's name, words of reporting, numbers
// and times: events of one day are not one topic.
func topicStems(content string, owner map[string]bool) map[string]bool {
	out := map[string]bool{}
	dates := text.Dates(content, time.Time{})
	for _, w := range text.Words(content) {
		dated := slices.ContainsFunc(dates, func(d text.DateMention) bool { return w.Start >= d.Start && w.End <= d.End })
		if stem := text.Stem(w.Lower); !dated && !w.Number && !text.IsStopWord(w.Lower) && !owner[stem] && !reporting[stem] {
			out[stem] = true
		}
	}
	return out
}
