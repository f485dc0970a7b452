package embedded

import (
	"crypto/sha256"

	"github.com/maypok86/otter/v2"

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
	case holds && mayBeUsers(m, owner) && limits(m):
		return SectionConstraints
	case holds && m.Kind == memory.KindPreference:
		return SectionPreferences
	case m.Kind == memory.KindEpisodic:
		return SectionTimeline
	}
	return SectionFacts
}

// limiting has the results of limits for the texts that were read last. The key is a SHA-256 of speaker and text, so it
// contains no words of users.
var limiting = otter.Must(&otter.Options[[sha256.Size]byte, bool]{MaximumSize: 100_000})

// limits reports whether a memory is a constraint in the speaker's own words. A model reads the text, which takes some
// 20 µs, and the same memories are shown again and again.
func limits(m memory.Memory) bool {
	key := sha256.Sum256([]byte(m.Speaker + "\x00" + m.Content))
	known, ok := limiting.GetIfPresent(key)
	if !ok {
		known = constraint.Binds(m.Content) && !passedOn(m)
		limiting.Set(key, known)
	}
	return known
}

// mayBeUsers reports whether the user is the speaker of a memory, or may be. An unknown user may be any speaker.
func mayBeUsers(m memory.Memory, owner memory.Owner) bool {
	return m.Speaker == "" || !owner.Known() || owner.Is(m.Speaker)
}
