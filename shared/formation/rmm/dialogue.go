package rmm

import (
	"slices"
	"strings"
	"time"

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
