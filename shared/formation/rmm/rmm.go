// Package rmm forms memory as RMM's prospective reflection does (section 5): a session is taken apart into what each speaker talks
// about, every topic becomes a summary that refers to its turns, and a summary is added to the bank or merged with what that speaker
// said of the same topic before. The summary is an entry's key, Content; the raw dialogue is its value, Value, so that no
// detail is lost with the words that the summary leaves out. Summaries are never merged across speakers.
package rmm

import (
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Name is the strategy's name.
const Name = "rmm"

// Reasons of operations; they hold no conversation text.
const (
	reasonAdded    = "new topic"
	reasonMerged   = "topic came up again"
	reasonRepeated = "already known"
)

// ownerOf names whose topics a turn tells, in lower case. Speakers without a name of their own go by their role.
func ownerOf(t memory.Turn) string {
	name := strings.ToLower(strings.Join(strings.Fields(t.Speaker), " "))
	switch name {
	case "", "user", "human", "assistant", "ai", "bot", "agent":
		if t.Role == memory.RoleAssistant {
			return "assistant"
		}
		return "user"
	}
	return name
}

// An entry that quotes says whose topic it is. Of a summary in the third person the first keyword does.

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

// belongs reports whether an entry is an owner's topic.
func belongs(m memory.Memory, owner string) bool {
	if m.Speaker != "" {
		return strings.EqualFold(m.Speaker, owner)
	}
	return len(m.Keywords) > 0 && m.Keywords[0] == owner
}

// ownerOfCandidate is whose topic a candidate is; empty for a candidate that this strategy did not make.
func ownerOfCandidate(c formation.Candidate) string {
	if c.Speaker != "" {
		return strings.ToLower(c.Speaker)
	}
	if len(c.Keywords) == 0 {
		return ""
	}
	return c.Keywords[0]
}

// compatible reports whether two times can be of one topic: one of them is not known, or they are the same.
func compatible(a, b memory.EventTime) bool {
	return a.Time.IsZero() || b.Time.IsZero() || a.Time.Equal(b.Time) && a.End.Equal(b.End) && a.Precision == b.Precision
}
