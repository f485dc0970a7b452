// Package rmm forms memory as RMM's prospective reflection does (section 5). A session is divided into the topics of
// each speaker. Every topic becomes a summary that refers to its turns. The summary is added to the bank, or merged
// with the speaker's earlier summary of the same topic. The summary is an entry's key, Content; the raw dialogue is
// its value, Value. The value keeps details that the summary leaves out. Summaries are never merged across speakers.
package rmm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
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

// Embedded is the strategy without a model server. It is safe for concurrent use.
type Embedded struct {
	*embedded.Former
	splitter *text.Splitter
}

var _ formation.Divisible = (*Embedded)(nil)

// NewEmbedded makes the former; it takes some milliseconds to load the models.
func NewEmbedded() *Embedded { return NewEmbeddedOver(embedded.NewFormer(embedded.IdentityOf(Name))) }

// NewEmbeddedOver makes the former over one that quotes.
func NewEmbeddedOver(f *embedded.Former) *Embedded {
	return &Embedded{Former: f, splitter: text.NewSplitter()}
}

// Division says that topics are found in a session as a whole, and decided in groups.
func (f *Embedded) Division() formation.Division { return formation.Division{Decide: true} }

// Extract divides the session into the topics of each speaker, memories and talk apart. A topic's summary quotes the
// speaker.
func (f *Embedded) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	found, err := f.Former.Extract(ctx, in)
	if err != nil {
		return nil, err
	}
	position := in.Positions()
	type group struct {
		owner string
		tier  memory.Tier
	}
	said := map[group][]statement{}
	var groups []group
	for _, c := range found {
		if len(c.Sources) == 0 {
			return nil, fault.Terminal("candidate.sources", "is empty, want turns of the session")
		}
		i, ok := position[c.Sources[0]]
		if !ok {
			return nil, fault.Terminal("candidate.sources", "names a turn that is not of the session")
		}
		g := group{ownerOf(in.Turns[i]), c.Tier}
		if said[g] == nil {
			groups = append(groups, g)
		}
		said[g] = append(said[g], newStatement(c, i, g.owner))
	}
	var topics [][]statement
	for _, g := range groups {
		topics = append(topics, segments(said[g])...)
	}
	slices.SortStableFunc(topics, func(a, b []statement) int { return cmp.Compare(a[0].turn, b[0].turn) })
	out := make([]formation.Candidate, len(topics))
	for i, t := range topics {
		out[i] = topicOf(t)
	}
	return out, nil
}

// Decide adds each topic, or merges it with the entries that it goes on with.
func (f *Embedded) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	view := in
	view.Related = slices.Clone(in.Related)
	for i, r := range in.Related {
		view.Related[i].Memories = slices.Clone(r.Memories)
		for j, m := range r.Memories {
			view.Related[i].Memories[j].Content = plain(m.Content)
		}
	}
	verdict, err := f.Former.Decide(ctx, view)
	if err != nil {
		return formation.Verdict{}, err
	}
	ops := onWhole(verdict.Operations)
	if len(ops) != len(in.Related) {
		return formation.Verdict{}, fmt.Errorf("decide topics: %d decisions on %d candidates", len(ops), len(in.Related))
	}
	m := newMerger(f, in)
	for i, op := range ops {
		if err := m.mergeTopic(ctx, in.Related[i], op); err != nil {
			return formation.Verdict{}, err
		}
	}
	return formation.Verdict{Operations: m.ops}, nil
}

// onWhole takes out what leaves an entry with a part fewer: a summary is written anew as a whole. What changes the part
// names the entry itself then.
func onWhole(ops []memory.Operation) []memory.Operation {
	whole := map[string]string{}
	var out []memory.Operation
	for _, op := range ops {
		if op.Reason == embedded.ReasonRest {
			whole[op.New.ID] = op.Targets[0]
			continue
		}
		if op.New != nil {
			for i, id := range op.New.Links {
				if of, ok := whole[id]; ok {
					op.New.Links[i] = of
				}
			}
		}
		for i, id := range op.Targets {
			if of, ok := whole[id]; ok {
				op.Targets[i] = of
			}
		}
		out = append(out, op)
	}
	return out
}
