package membuilder

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
)

// roleInput is what all four roles work on.
type roleInput struct {
	session formation.Session
	core    memory.Core
	// turns are the session's turns that have not been formed before, in their order.
	turns []memory.Turn
	// related are the entries near to any of the turns, nearest first.
	related []memory.Memory
	version string
}

func newRoleInput(in formation.Bundle, version string) (*roleInput, error) {
	d := &roleInput{session: in.Session, core: in.Core, version: version, related: pool(in.Related)}
	cued := map[string]bool{}
	for _, r := range in.Related {
		if len(r.Candidate.Sources) == 0 {
			return nil, fault.Terminal("candidate.sources", "is empty, want a turn of the session")
		}
		for _, id := range r.Candidate.Sources {
			if !slices.ContainsFunc(in.Session.Turns, func(t memory.Turn) bool { return t.ID == id }) {
				return nil, fault.Terminal("candidate.sources", "names a turn that is not of the session")
			}
			cued[id] = true
		}
	}
	for _, t := range in.Session.Turns {
		if cued[t.ID] {
			d.turns = append(d.turns, t)
		}
	}
	return d, nil
}

// pool puts the active entries near to any search text into one order, by their best similarity.
func pool(related []formation.Related) []memory.Memory {
	best := map[string]float64{}
	var out []memory.Memory
	for _, r := range related {
		for i, m := range r.Memories {
			if m.Status != memory.StatusActive {
				continue
			}
			similarity := -1.0
			if i < len(r.Similarity) {
				similarity = r.Similarity[i]
			}
			old, seen := best[m.ID]
			if !seen {
				out = append(out, m)
			}
			if !seen || similarity > old {
				best[m.ID] = similarity
			}
		}
	}
	slices.SortStableFunc(out, func(a, b memory.Memory) int {
		return cmp.Or(cmp.Compare(best[b.ID], best[a.ID]), strings.Compare(a.ID, b.ID))
	})
	return out
}

// shownEntry is a memory as the roles see it.
type shownEntry struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Content string `json:"content"`
	Said    string `json:"said"`
	When    string `json:"when,omitempty"`
}

// view is the input of one of the roles that keep entries. It has the turns and the nearest memories, with the role's
// kind first.
type view struct {
	Context  []llm.ShownContext `json:"context,omitempty"`
	Turns    []llm.ShownTurn    `json:"turns"`
	Memories []shownEntry       `json:"memories"`

	kinds []memory.Kind
	own   map[string]memory.Memory // by alias; entries of other kinds are context only
	other map[string]bool
}

func (d *roleInput) view(kinds []memory.Kind) *view {
	v := &view{Context: llm.ShowContext(d.session.Context, d.turns), Turns: llm.ShowTurns(d.turns),
		Memories: []shownEntry{}, kinds: kinds, own: map[string]memory.Memory{}, other: map[string]bool{}}
	of := func(m memory.Memory) bool { return slices.Contains(kinds, m.Kind) }
	list := slices.Clone(d.related)
	slices.SortStableFunc(list, func(a, b memory.Memory) int {
		return map[bool]int{true: 0, false: 1}[of(a)] - map[bool]int{true: 0, false: 1}[of(b)]
	})
	for i, m := range list[:min(len(list), formation.MaxNeighbours)] {
		alias := llm.Alias("m", i)
		kind := m.Kind
		if of(m) {
			v.own[alias], kind = m, kinds[0]
		} else {
			v.other[alias] = true
		}
		v.Memories = append(v.Memories, shownEntry{
			ID: alias, Kind: string(kind), Content: m.Content, Said: model.ShowTime(m.ValidFrom),
			When: model.ShowEvent(m.EventTime),
		})
	}
	return v
}

// sources gives aliases of turns their ids back, sorted; newest is the last of them to be said.
func (d *roleInput) sources(aliases []string) (ids []string, newest memory.Turn, err error) {
	positions, err := llm.Positions(aliases, len(d.turns))
	for _, i := range positions {
		t := d.turns[i]
		ids = append(ids, t.ID)
		if newest.ID == "" || t.Time.After(newest.Time) {
			newest = t
		}
	}
	slices.Sort(ids)
	return ids, newest, err
}

// number sets the ids of the new entries of the i-th role. Roles may cite the same turns and run independently, so
// they must not use the same id.
func (d *roleInput) number(list []memory.Operation, i, roles int) {
	next := map[string]int{}
	for _, op := range list {
		if op.New == nil {
			continue
		}
		key := strings.Join(op.Sources, "\x00")
		op.New.ID = memory.DeriveID(d.session.Scope, op.Sources, next[key]*roles+i)
		next[key]++
	}
}
