package membuilder

import (
	"context"
	"slices"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Embedded is the strategy without a model server. It decides on the quotations of a session and then sorts them into
// the four kinds of memory. It is safe for concurrent use.
type Embedded struct {
	*embedded.Former
	splitter *text.Splitter
}

var _ formation.Former = (*Embedded)(nil)

// NewEmbedded makes the former; it takes some milliseconds to load the models.
func NewEmbedded() *Embedded { return NewEmbeddedOver(embedded.NewFormer(embedded.IdentityOf(Name))) }

// NewEmbeddedOver makes the former over one that quotes.
func NewEmbeddedOver(f *embedded.Former) *Embedded {
	return &Embedded{Former: f, splitter: text.NewSplitter()}
}

// Extract returns the quotations of the turns, in order. A description of how to do a task is procedural; its slot
// names the task.
func (f *Embedded) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	out, err := f.Former.Extract(ctx, in)
	if err != nil {
		return nil, err
	}
	turns := byID(in.Turns)
	for i := range out {
		c := &out[i]
		if slot, ok := procedureOf(*c, turns[c.Sources[0]]); ok {
			c.Kind, c.Slot = memory.KindProcedural, slot
		}
	}
	return out, nil
}

// Decide reconciles the candidates with the bank and keeps the core block. It puts repeated events into one entry with
// a range of time, and gives procedures versions.
func (f *Embedded) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	statements, steps, common := f.split(in.Related)
	all := in
	in.Related = statements
	verdict, err := f.Former.Decide(ctx, in)
	if err != nil {
		return formation.Verdict{}, err
	}
	s := newSorter(all, verdict.Operations)
	b := f.newBlock(in.Core)
	for i := range verdict.Operations {
		op := &verdict.Operations[i]
		if op.New == nil {
			b.apply(*op, s)
			continue
		}
		if r, ok := s.related[op.New.ID]; ok && op.Kind == memory.OpAdd && op.Until.IsZero() {
			s.extend(op, r)
		}
		b.apply(*op, s)
		op.New.Kind = kindOf(op.New.Kind)
		s.entries[op.New.ID] = *op.New
	}
	verdict.Core = b.done
	for _, r := range steps {
		verdict.Operations = append(verdict.Operations, s.version(r, in.Session, f.Version()))
	}
	for _, r := range common {
		verdict.Operations = append(verdict.Operations,
			memory.Operation{Kind: memory.OpNone, Sources: r.Candidate.Sources, Reason: reasonCommon})
	}
	return verdict, nil
}

// split separates procedures and common knowledge from the statements. Procedures get versions as a whole, while
// statements may join known entries. Semantic memory skips common knowledge.
func (f *Embedded) split(related []formation.Related) (statements, steps, common []formation.Related) {
	for _, r := range related {
		switch {
		case isProcedure(r.Candidate.Slot):
			steps = append(steps, r)
		case f.common(r, related):
			common = append(common, r)
		default:
			statements = append(statements, r)
		}
	}
	return statements, steps, common
}

// kindOf returns the kind of an entry in this strategy: event, procedure, or knowledge for all else.
func kindOf(k memory.Kind) memory.Kind {
	if k == memory.KindEpisodic || k == memory.KindProcedural {
		return k
	}
	return memory.KindSemantic
}

// sorter has the known entries while operations are sorted.
type sorter struct {
	turns map[string]memory.Turn
	// related are the candidates with their neighbours, by the id that an entry of theirs has.
	related map[string]formation.Related
	// entries are the neighbours and the entries written so far, by id.
	entries map[string]memory.Memory
	// steps are the procedures written so far, by slot.
	steps map[string]memory.Memory
	// taken are the entries that an operation acts on.
	taken map[string]bool
}

func newSorter(in formation.Bundle, ops []memory.Operation) *sorter {
	s := &sorter{
		turns: byID(in.Session.Turns), related: map[string]formation.Related{},
		entries: map[string]memory.Memory{}, steps: map[string]memory.Memory{}, taken: map[string]bool{},
	}
	for _, r := range in.Related {
		s.related[memory.DeriveID(in.Session.Scope, r.Candidate.Sources, r.Candidate.Ordinal)] = r
		for _, m := range r.Memories {
			s.entries[m.ID] = m
		}
	}
	for _, op := range ops {
		if op.Kind == memory.OpNone {
			continue
		}
		for _, id := range op.Targets {
			s.taken[id] = true
		}
	}
	return s
}

// replace makes an addition the next version of an entry. A range of time continues the entry. A procedure is written
// anew.
func (s *sorter) replace(op *memory.Operation, kind memory.OpKind, m memory.Memory, reason string) {
	op.Kind, op.Targets, op.Reason, op.Anew = kind, []string{m.ID}, reason, kind == memory.OpUpdate
	s.taken[m.ID] = true
}

// free are a candidate's neighbours of a kind that hold and that no operation acts on.
func (s *sorter) free(r formation.Related, kind memory.Kind) []memory.Memory {
	return slices.DeleteFunc(slices.Clone(r.Memories), func(m memory.Memory) bool {
		return m.Kind != kind || m.Status != memory.StatusActive || s.taken[m.ID]
	})
}

// extend puts an event that repeats a stored one into one entry with it, for the range of time.
func (s *sorter) extend(op *memory.Operation, r formation.Related) {
	if r.Candidate.Tier == memory.TierTalk || !mayRepeat(r.Candidate, op.New.ValidFrom) || s.byAssistant(*op) {
		return
	}
	done := activity(r.Candidate.Content, r.Candidate.EventTime.Time)
	for _, m := range s.free(r, memory.KindEpisodic) {
		if content, ok := joined(m, r.Candidate, done); ok {
			op.New.Content, op.New.Vector = content, nil
			op.New.EventTime = memory.EventTime{Time: m.EventTime.Time, End: r.Candidate.EventTime.Time,
				Precision: memory.PrecisionDay}
			op.New.Topic = m.Topic
			s.replace(op, memory.OpMerge, m, reasonRange)
			return
		}
	}
}

// byAssistant reports whether an assistant said it.
func (s *sorter) byAssistant(op memory.Operation) bool {
	sources := s.sourceTexts(op)
	return len(sources) == 0 || s.turns[sources[0]].Role == memory.RoleAssistant
}

// sourceTexts returns the session's turns behind an operation: first the turn with the statement, then the questions
// that it answers.
func (s *sorter) sourceTexts(op memory.Operation) []string {
	if op.New != nil {
		if r, ok := s.related[op.New.ID]; ok {
			return r.Candidate.Sources
		}
	}
	return op.Sources
}

func byID(turns []memory.Turn) map[string]memory.Turn {
	out := make(map[string]memory.Turn, len(turns))
	for _, t := range turns {
		out[t.ID] = t
	}
	return out
}
