package membuilder

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/language"
	"github.com/mneme-memory/mneme/shared/memory"
)

var (
	// occasion is what a habit follows: "When Ana cannot sleep, Ana reads".
	occasion = regexp.MustCompile(`^(?:When|Whenever|Every time|Each time|Before|After) ([^,]{3,80}), (?:[\p{L}' -]+ )?\p{L}+`)
	// purpose is what steps are for: "To make tea, Ana first boils water, then ...".
	purpose    = regexp.MustCompile(`^(?:To|In order to) ([^,]{3,80}), `)
	firstStep  = regexp.MustCompile(`(?i)\b(?:first|start(?:s)? (?:by|with)|begin(?:s)? (?:by|with))\b`)
	secondStep = regexp.MustCompile(`(?i)\b(?:then|next|after that|afterwards|finally|lastly|second)\b`)
	// notDone tells wishes and single occasions from what is done.
	notDone = regexp.MustCompile(`(?i)\b(?:will|would|wants?|hopes?|wish(?:es)?|plans?|might|should|could|used to|yesterday|tomorrow|was|were|had|did|said|asked|told)\b`)
)

// procedureMark stands in the slots of procedures.
const procedureMark = "/procedure:"

// maxKeyStems bounds the name of a procedure.
const maxKeyStems = 6

func isProcedure(slot string) bool { return strings.Contains(slot, procedureMark) }

// procedureOf returns the slot of a statement that tells how its speaker does something, or "". Only what is sure counts: an occasion with
// what follows on it, or steps with what they are for.
func procedureOf(c formation.Candidate, t memory.Turn) string {
	if t.Role == memory.RoleAssistant || c.Kind == memory.KindEpisodic || c.Negates || isProcedure(c.Slot) || notDone.MatchString(c.Content) {
		return ""
	}
	m := occasion.FindStringSubmatch(c.Content)
	if m == nil && firstStep.MatchString(c.Content) && secondStep.MatchString(c.Content) {
		m = purpose.FindStringSubmatch(c.Content)
	}
	if m == nil {
		return ""
	}
	speaker := strings.ToLower(oneLine(t.Speaker))
	stems := language.ContentStems(m[1])
	stems = slices.DeleteFunc(stems, func(s string) bool { return s == language.Stem(speaker) })
	if len(stems) == 0 {
		return ""
	}
	return speaker + procedureMark + strings.Join(stems[:min(len(stems), maxKeyStems)], " ")
}
