package utilizer

import (
	"strings"

	"github.com/mneme-memory/mneme/shared/formation/quarantine"
	"github.com/mneme-memory/mneme/shared/memory"
)

// holdBack removes quarantined clauses from the raw words of the shown memories and from the window. The guard keeps
// their entries out of recall. Otherwise their words would return behind another entry of the same turn. The words of
// a released entry stay.
func holdBack(f *found, places []int) {
	f.turns = harmless(f.turns)
	for _, i := range places {
		c := &f.candidates[i]
		if c.Memory.Quarantine != "" {
			continue
		}
		c.Turns = harmless(c.Turns)
		c.Memory.Value = harmlessValue(c.Memory.Value)
	}
}

// harmless returns turns without clauses that look like an attack. It drops turns that have no other clause.
func harmless(turns []memory.Turn) []memory.Turn {
	odd := quarantine.Turns(turns)
	if len(odd) == 0 {
		return turns
	}
	var out []memory.Turn
	for _, t := range turns {
		if found, ok := odd[t.ID]; ok {
			if t, ok = found.Harmless(t); !ok {
				continue
			}
		}
		out = append(out, t)
	}
	return out
}

// harmlessValue returns the dialogue in a memory without such clauses.
func harmlessValue(value string) string {
	var out strings.Builder
	for line := range strings.Lines(value) {
		speaker, said, spoken := strings.Cut(line, ": ")
		if !spoken {
			speaker, said = "", line
		}
		found, ok := quarantine.Text(said)
		switch {
		case !ok:
			out.WriteString(line)
		case found.Rest != "" && spoken:
			out.WriteString(speaker + ": " + found.Rest + "\n")
		case found.Rest != "":
			out.WriteString(found.Rest + "\n")
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}
