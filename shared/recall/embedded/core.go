package embedded

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/maypok86/otter/v2"

	"github.com/mneme-memory/mneme/shared/formation/constraint"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/text"
)

// coreShare is the part of the budget that the core block may take: one in so many words.
const coreShare = 3

// addStanding adds the standing lines of the core block, each with its citation. A memory that was also found has
// its line at its rank. The other lines come after all found memories.
func (w *writer) addStanding() {
	left := w.left / coreShare
	for i, s := range w.evidence.Standing() {
		before := w.left
		u, place := w.find(s.Memory.ID)
		if u == nil {
			u, place = &unit{rank: len(w.units) + i, members: []memory.Memory{s.Memory}}, 0
		}
		said := recall.Plain(s.Text)
		text := w.dressed(u.members[place], said)
		if countWords(text)+1 > left {
			continue
		}
		l := w.place(u, place, text)
		if l == nil {
			continue
		}
		l.section = SectionCore
		left -= before - w.left
		switch {
		case u.rank >= len(w.units):
			l.place = len(w.evidence.Memories) // no turn's best
		case place == 0:
			u.head, u.shown = l, said
		default:
			u.stated[s.Memory.ID] = true
		}
	}
}

// find returns the unit of a memory of the evidence, and its place in the unit. It returns nil for any other memory.
func (w *writer) find(id string) (*unit, int) {
	for i := range w.units {
		if place := slices.IndexFunc(w.units[i].members, func(m memory.Memory) bool { return m.ID == id }); place >= 0 {
			return &w.units[i], place
		}
	}
	return nil, 0
}

// addCore adds lines of a core block that a strategy wrote. Lines that match the query come first. Each group is in the
// order of the block. A line with the same content as a memory at hand is left out, because a memory can be cited.
func (w *writer) addCore() {
	type ranked struct {
		text   string
		weight float64
	}
	var lines []ranked
	if len(w.evidence.Core.Lines) > 0 {
		w.addStanding()
		return
	}
	for said := range strings.Lines(w.evidence.Core.Content) {
		said = recall.Plain(said)
		if said == "" || slices.ContainsFunc(w.evidence.Memories, func(m memory.Memory) bool { return says(m, said) }) {
			continue
		}
		stems := text.StemSet(strings.Map(slotSeparator, said))
		lines = append(lines, ranked{said, w.question.weight(stems, one)})
	}
	slices.SortStableFunc(lines, func(a, b ranked) int { return cmp.Compare(b.weight, a.weight) })
	left := w.left / coreShare
	for i, l := range lines {
		n := countWords(l.text)
		if n > left {
			continue
		}
		left -= n
		w.left -= n
		w.lines = append(w.lines, &line{section: SectionCore, text: recall.Escaped(l.text), rank: i})
	}
}

// says reports whether a memory is current and has the content of a line. A line may begin with the name of its slot.
func says(m memory.Memory, text string) bool {
	content := recall.Plain(m.Content)
	return m.Status == memory.StatusActive && (text == content || m.Slot != "" && text == m.Slot+": "+content)
}

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
	case holds && mayBeUsers(m, owner) && isConstraint(m):
		return SectionConstraints
	case holds && m.Kind == memory.KindPreference:
		return SectionPreferences
	case m.Kind == memory.KindEpisodic:
		return SectionTimeline
	}
	return SectionFacts
}

// constraints remembers isConstraint for the texts that were read last. The key is a hash of speaker and text with the
// secret of this process, so it says nothing about words of users.
var (
	constraints   = otter.Must(&otter.Options[[sha256.Size]byte, bool]{MaximumSize: 100_000})
	processSecret = rand.Text()
)

// isConstraint reports whether a memory is a constraint in the speaker's own words, and not about an unnamed other. A
// model reads the text, which takes some 20 µs, and recalls show the same memories again and again.
func isConstraint(m memory.Memory) bool {
	key := sha256.Sum256([]byte(processSecret + m.Speaker + "\x00" + m.Content))
	known, ok := constraints.GetIfPresent(key)
	if !ok {
		known = constraint.Binds(m.Content) && !passedOn(m) && !text.SubjectOf(m.Content).IsUnnamed()
		constraints.Set(key, known)
	}
	return known
}

// mayBeUsers reports whether the user is the speaker of a memory, or may be. An unknown user may be any speaker.
func mayBeUsers(m memory.Memory, owner memory.Owner) bool {
	return m.Speaker == "" || !owner.Known() || owner.Is(m.Speaker)
}
