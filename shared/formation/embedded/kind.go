package embedded

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// liking are the stems of what tells a preference.
var liking = text.StemSet("like love prefer hate enjoy dislike adore favourite favorite fan rather fond")

// routine matches the words of repeated actions.
var routine = regexp.MustCompile(`(?i)\b(?:every|each|usually|always|daily|weekly)\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days\b`)

// kindOf returns the kind of a quotation: a preference, a habit, an event, a plan or a state. It only selects the
// place in a profile.
func kindOf(said string, mentions []text.DateMention) memory.Kind {
	words := text.Words(said)
	own := slices.ContainsFunc(words, func(w text.Word) bool { return subjects[w.Lower] })
	switch {
	case slices.ContainsFunc(words, func(w text.Word) bool { return liking[text.Stem(w.Lower)] }):
		return memory.KindPreference
	case slices.ContainsFunc(mentions, isPlaced), text.TellsPast(words):
		return memory.KindEpisodic
	case own && routine.MatchString(said):
		return memory.KindProcedural
	case own || !strings.Contains(said, "?"):
		return memory.KindFact
	}
	return memory.KindSemantic
}

func isPlaced(m text.DateMention) bool { return m.Unit != text.Vague }
