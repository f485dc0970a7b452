package utilizer

import (
	"strings"

	"github.com/mneme-memory/mneme/shared/formation/quarantine"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// holdBack removes quarantined clauses from the window and from the raw words of the shown memories, and others' words
// from the latter. The guard keeps or marks their entries. Otherwise their words would return unmarked behind another
// entry of the same turn. The words of a released entry stay.
func holdBack(f *found, places []int) {
	f.turns = harmless(f.turns)
	for _, i := range places {
		c := &f.candidates[i]
		if c.Memory.Quarantine != "" {
			continue
		}
		c.Turns = ownWords(c.Turns)
		c.Memory.Value = harmlessValue(c.Memory.Value)
	}
}

// harmless returns turns without clauses that look like an attack. It drops turns that have no other clause.
func harmless(turns []memory.Turn) []memory.Turn {
	return without(turns, func(t memory.Turn, _ bool) memory.Turn { return t })
}

// ownWords returns turns without such clauses, and users' turns without passed-on and doubted words.
func ownWords(turns []memory.Turn) []memory.Turn {
	return without(turns, func(t memory.Turn, attacked bool) memory.Turn {
		if t.Role != memory.RoleAssistant {
			t.Text = ownText(t.Text, t.Speaker, attacked)
		}
		return t
	})
}

// without returns the rests of turns without clauses that look like an attack, after a change of each.
func without(turns []memory.Turn, change func(rest memory.Turn, attacked bool) memory.Turn) []memory.Turn {
	odd := quarantine.Turns(turns)
	var out []memory.Turn
	for _, t := range turns {
		found, attacked := odd[t.ID]
		if attacked {
			t, _ = found.Harmless(t)
		}
		if t = change(t, attacked); t.Text+t.Caption != "" {
			out = append(out, t)
		}
	}
	return out
}

// ownText returns the speaker's own words without doubted ones. attacked says that an attack was beside them.
func ownText(said, speaker string, attacked bool) string {
	own, _ := text.Voices(said, speaker)
	plain, _ := quarantine.Doubted(own, attacked)
	return text.OneLine(plain)
}

// pictureMark begins the caption in a line of a dialogue, as RMM writes it, too.
const pictureMark = " [picture: "

// harmlessValue returns the dialogue in a memory without such clauses and words.
func harmlessValue(value string) string {
	var out strings.Builder
	for line := range strings.Lines(value) {
		speaker, said, spoken := strings.Cut(line, ": ")
		if !spoken {
			speaker, said = "", line
		}
		found, attacked := quarantine.Text(said)
		if attacked {
			said = found.Rest
		}
		said, picture, pictured := strings.Cut(said, pictureMark)
		name, _, _ := strings.Cut(speaker, " (")
		said = ownText(said, name, attacked)
		if pictured {
			said = strings.TrimSpace(said + pictureMark + strings.TrimRight(picture, "\n"))
		}
		switch {
		case said == "":
		case spoken:
			out.WriteString(speaker + ": " + said + "\n")
		default:
			out.WriteString(said + "\n")
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}
