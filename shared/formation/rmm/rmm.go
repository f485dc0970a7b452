// Package rmm forms memory as RMM's prospective reflection does (section 5). A session is divided into the topics of
// each speaker. Every topic becomes a summary that refers to its turns. The summary is added to the bank, or merged
// with the speaker's earlier summary of the same topic. The summary is an entry's key, Content; the raw dialogue is
// its value, Value. The value keeps details that the summary leaves out. Summaries are never merged across speakers.
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

// ownerOf returns the owner of a turn's topics, in lower case.
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

// belongs reports whether an entry is an owner's, for entries of all strategies. A quotation names its speaker. The
// first keyword of a summary in the third person is the owner. An entry of another strategy in the third person names
// its subject.
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

// ownerOfCandidate returns the owner of a candidate's topic; empty for a candidate of another strategy.
func ownerOfCandidate(c formation.Candidate) string {
	if len(c.Keywords) == 0 {
		return ""
	}
	return c.Keywords[0]
}

// compatible reports whether two times can be of one topic: at least one is unknown, or they are the same.
func compatible(a, b memory.EventTime) bool {
	return a.Time.IsZero() || b.Time.IsZero() || a.Time.Equal(b.Time) && a.End.Equal(b.End) && a.Precision == b.Precision
}
