package guard

import (
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// reasonEcho marks an entry that was not written because an assistant only repeated known facts.
const reasonEcho = "an assistant's echo of what is known"

// echoedShare is the least known share of an assistant's text that makes it an echo. An assistant adds other words
// around a recalled fact.
const echoedShare = 0.75

// recalling words introduce a recalled fact.
var recalling = text.StemSet(`told remember recall mentioned know knew since assistant user according earlier previously said says
	tell told talked stated noted right think good great picture`)

// echoes reports whether the known entries already have the content of an entry from an assistant's turns alone.
func echoes(op memory.Operation, speakers map[string]bool, known []memory.Memory) bool {
	matter := map[string]bool{}
	for _, stem := range text.ContentStems(op.New.Content) {
		if !recalling[stem] && !speakers[stem] {
			matter[stem] = true
		}
	}
	if len(matter) == 0 {
		return false
	}
	told := 0
	have := map[string]bool{}
	for _, m := range known {
		for stem := range text.StemSet(m.Content) {
			have[stem] = true
		}
	}
	for stem := range matter {
		if have[stem] {
			told++
		}
	}
	return float64(told) >= echoedShare*float64(len(matter))
}

// fresh turns the entries that an assistant's echo would make into NONE, unless something builds on them.
func (v voices) fresh(ops []memory.Operation, known []memory.Memory) []memory.Operation {
	built := targets(ops)
	for i, op := range ops {
		if op.Kind == memory.OpAdd && !built[op.New.ID] && v.assistants(op.Sources) && echoes(op, v.speakers, known) {
			ops[i] = memory.Operation{Kind: memory.OpNone, Sources: op.Sources, Reason: reasonEcho}
		}
	}
	return ops
}

// shown are the entries that the former was shown.
func shown(in formation.Bundle) []memory.Memory {
	var out []memory.Memory
	for _, r := range in.Related {
		out = append(out, r.Memories...)
	}
	for _, f := range in.Found {
		out = append(out, f.Memories...)
	}
	return out
}
