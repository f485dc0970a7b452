package memoryr2

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// A quotation belongs to its speaker. In the third person, the text decides. A fact is about the session's speaker
// whom its content names first, else the one whom its slot names, else the one who said it. A memory belongs to every
// speaker whom its content or its slot names. Both belong together when the fact is about one of these speakers. A
// memory without a named speaker belongs with facts that name no speaker.
type speakers struct{ names []string }

// speakersOf are the names of those who speak in a session.
func speakersOf(turns []memory.Turn) speakers {
	var s speakers
	for _, t := range turns {
		name := strings.Join(strings.Fields(t.Speaker), " ")
		if name != "" && !slices.Contains(s.names, name) {
			s.names = append(s.names, name)
		}
	}
	return s
}

// subject returns the person whom a fact is about. named is false where neither content nor slot has a name, and the
// first source's speaker is returned.
func (s speakers) subject(c formation.Candidate, turns []memory.Turn) (name string, named bool) {
	if c.Speaker != "" {
		return c.Speaker, true
	}
	if all := s.namedIn(c.Content); len(all) > 0 {
		return all[0], true
	}
	if all := s.inSlot(c.Slot); len(all) > 0 {
		return all[0], true
	}
	for _, t := range turns {
		if slices.Contains(c.Sources, t.ID) {
			return strings.Join(strings.Fields(t.Speaker), " "), false
		}
	}
	return "", false
}

// owns reports whether a memory is of that speaker.
func (s speakers) owns(m memory.Memory, subject string, named bool) bool {
	if m.Speaker != "" {
		return m.Speaker == subject
	}
	of := append(s.namedIn(m.Content), s.inSlot(m.Slot)...)
	if len(of) == 0 {
		return !named
	}
	return slices.Contains(of, subject)
}

// namedIn returns the speakers whom a text names by their first name, in the order of their first mention.
func (s speakers) namedIn(said string) []string {
	var out []string
	for _, w := range text.Words(said) {
		for _, name := range s.names {
			if names(w, name) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// inSlot is in for the subject of a slot, which is in lower case: "ana/home", "ana's sister/home".
func (s speakers) inSlot(slot string) []string {
	subject, _, _ := strings.Cut(slot, "/")
	words := text.Words(subject)
	if len(words) == 0 {
		return nil
	}
	words[0].Capital = true
	var out []string
	for _, name := range s.names {
		if names(words[0], name) {
			out = append(out, name)
		}
	}
	return out
}

// names reports whether a word is a speaker's first name. A small letter is no name where the speaker has a great one:
// "will", "may".
func names(w text.Word, speaker string) bool {
	first := text.Words(speaker)
	if len(first) == 0 || strings.TrimSuffix(w.Lower, "'s") != strings.TrimSuffix(first[0].Lower, "'s") {
		return false
	}
	r, _ := utf8.DecodeRuneInString(speaker)
	return w.Capital || !unicode.IsUpper(r)
}
