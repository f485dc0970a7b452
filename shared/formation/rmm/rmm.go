// Package rmm forms memory as RMM's prospective reflection does (section 5): a session is taken apart into what each speaker talks
// about, every topic becomes a summary that refers to its turns, and a summary is added to the bank or merged with what that speaker
// said of the same topic before. The summary is an entry's key, Content; the raw dialogue is its value, Value, so that no
// detail is lost with the words that the summary leaves out. Summaries are never merged across speakers.
package rmm

import (
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Name is the strategy's name.
const Name = "rmm"

// Reasons of operations; they hold no conversation text.
const (
	reasonAdded    = "new topic"
	reasonMerged   = "topic came up again"
	reasonRepeated = "already known"
)

// ownerOf names whose topics a turn tells, in lower case.
func ownerOf(t memory.Turn) string { return ownerNamed(t.Speaker, t.Role) }

// ownerNamed is the owner that a speaker's name stands for. Speakers without a name of their own go by their role.
func ownerNamed(speaker string, role memory.Role) string {
	name := strings.ToLower(strings.Join(strings.Fields(speaker), " "))
	switch name {
	case "", "user", "human", "assistant", "ai", "bot", "agent":
		if role == memory.RoleAssistant {
			return "assistant"
		}
		return "user"
	}
	return name
}

// owned puts the owner before the keywords.
func owned(owner string, keywords []string) []string {
	out := []string{owner}
	for _, k := range keywords {
		if k != owner {
			out = append(out, k)
		}
	}
	return out
}

// belongs reports whether an entry is an owner's, whatever strategy made it. One that quotes says whose words it has; of a summary in the
// third person the first keyword is the owner; and what another strategy tells in the third person names whom it is about.
func belongs(m memory.Memory, owner string) bool {
	switch {
	case m.Speaker != "":
		return ownerNamed(m.Speaker, memory.Role(m.Speaker)) == owner
	case m.Strategy == Name:
		return len(m.Keywords) > 0 && m.Keywords[0] == owner
	}
	first, _, _ := strings.Cut(owner, " ")
	return owner != "" && text.StemSet(m.Content)[text.Stem(first)]
}

// ownerOfCandidate is whose topic a candidate is; empty for a candidate that this strategy did not make.
func ownerOfCandidate(c formation.Candidate) string {
	if len(c.Keywords) == 0 {
		return ""
	}
	return c.Keywords[0]
}

// compatible reports whether two times can be of one topic: one of them is not known, or they are the same.
func compatible(a, b memory.EventTime) bool {
	return a.Time.IsZero() || b.Time.IsZero() || a.Time.Equal(b.Time) && a.End.Equal(b.End) && a.Precision == b.Precision
}
