package embedded

import (
	"github.com/mneme-memory/mneme/shared/formation/constraint"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Names of the sections.
const (
	SectionCore        = "core"
	SectionConstraints = "constraints"
	SectionPreferences = "preferences"
	SectionFacts       = "facts"
	SectionRecent      = "recent"
	SectionTimeline    = "timeline"
	SectionTalk        = "talk"
)

// sectionOrder is the order of the sections in a profile.
var sectionOrder = []string{
	SectionCore, SectionConstraints, SectionPreferences, SectionFacts, SectionRecent, SectionTimeline, SectionTalk,
}

// isPlain reports whether a section makes no claim about its memories, beyond their dates.
func isPlain(section string) bool { return section == SectionFacts || section == SectionTimeline }

func isTimeline(name string) bool { return name == SectionTimeline }

// SectionOf returns the section of a memory. A constraint and a preference hold now. A constraint is in the words of
// the user, so that no other speaker limits an answer.
func SectionOf(m memory.Memory, owner memory.Owner) string {
	holds := m.Status == memory.StatusActive
	switch {
	case m.Tier == memory.TierTalk:
		return SectionTalk
	case holds && mayBeUsers(m, owner) && constraint.Binds(m.Content) && !passedOn(m): // passedOn takes longest
		return SectionConstraints
	case holds && m.Kind == memory.KindPreference:
		return SectionPreferences
	case m.Kind == memory.KindEpisodic:
		return SectionTimeline
	}
	return SectionFacts
}

// mayBeUsers reports whether the user is the speaker of a memory, or may be. An unknown user may be any speaker.
func mayBeUsers(m memory.Memory, owner memory.Owner) bool {
	return m.Speaker == "" || !owner.Known() || owner.Is(m.Speaker)
}
