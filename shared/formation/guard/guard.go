// Package guard stands before every former, whatever its strategy and policy: directives in what was said never reach it,
// and what an assistant said changes nothing that a user's memory holds, nor is it kept when it only repeats that. Nor does
// it let an entry be added that is there already, word for word.
package guard

import (
	"context"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/directive"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// reasonAssistant marks an operation that was not carried out because an assistant alone said so.
const reasonAssistant = "an assistant's word changes nothing"

// reasonKnown marks an entry that was not written because there is one of the same words.
const reasonKnown = "already known, word for word"

// New returns a former that sees no directives. A turn that looks like the frame of a prompt is left out; of other turns,
// the sentences that are directives are. What is left out is still kept as a turn: it is evidence, and no memory.
func New(f formation.Former) formation.Former {
	return former{Former: f, splitter: text.NewSplitter()}
}

type former struct {
	formation.Former
	splitter *text.Splitter
}

var _ formation.Divisible = former{}

// Division implements formation.Divisible: that of the former behind.
func (f former) Division() formation.Division {
	if d, ok := f.Former.(formation.Divisible); ok {
		return d.Division()
	}
	return formation.Division{}
}

// Extract implements formation.Former.
func (f former) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	in.Turns = f.clean(in.Turns)
	return f.Former.Extract(ctx, in)
}

// Decide implements formation.Former.
func (f former) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	in.Session.Turns, in.Window = f.clean(in.Session.Turns), f.clean(in.Window)
	v, err := f.Former.Decide(ctx, in)
	if err != nil {
		return v, err
	}
	assistant := assistantTurns(in.Session.Turns)
	known := shown(in)
	if len(assistant) > 0 {
		v.Operations = harmless(v.Operations, assistant)
		v.Operations = fresh(v.Operations, assistant, in.Session, known)
	}
	v.Operations = once(v.Operations, known)
	v.Core = slices.DeleteFunc(slices.Clone(v.Core), func(op memory.CoreOperation) bool {
		return len(op.Sources) > 0 && all(op.Sources, assistant)
	})
	return v, nil
}

// clean returns the turns without directives.
func (f former) clean(turns []memory.Turn) []memory.Turn {
	out := make([]memory.Turn, 0, len(turns))
	for _, t := range turns {
		if directive.Framed(t.Text) {
			continue
		}
		t.Text = f.plain(t.Text)
		if directive.Framed(t.Caption) || directive.Is(t.Caption) {
			t.Caption = ""
		}
		if t.Text != "" || t.Caption != "" {
			out = append(out, t)
		}
	}
	return out
}

// plain returns a text without the sentences that are directives, the very same text where there are none.
func (f former) plain(text string) string {
	sentences := f.splitter.Split(text)
	kept := slices.DeleteFunc(slices.Clone(sentences), directive.Is)
	switch {
	case directive.Is(text) && len(kept) == len(sentences): // spread over sentences
		return ""
	case len(kept) == len(sentences):
		return text
	}
	return strings.Join(kept, " ")
}

func assistantTurns(turns []memory.Turn) map[string]bool {
	out := map[string]bool{}
	for _, t := range turns {
		if t.Role == memory.RoleAssistant {
			out[t.ID] = true
		}
	}
	return out
}

// harmless turns what would close an entry on an assistant's word alone into NONE, and so everything that builds on it.
func harmless(ops []memory.Operation, assistant map[string]bool) []memory.Operation {
	out := slices.Clone(ops)
	gone := map[string]bool{} // entries that are no longer written
	for i, op := range out {
		closes := op.Kind == memory.OpUpdate || op.Kind == memory.OpMerge || op.Kind == memory.OpDelete
		onGone := slices.ContainsFunc(op.Targets, func(id string) bool { return gone[id] })
		if !closes || !(onGone || all(op.Sources, assistant)) {
			continue
		}
		if op.New != nil {
			gone[op.New.ID] = true
		}
		out[i] = memory.Operation{Kind: memory.OpNone, Sources: op.Sources, Reason: reasonAssistant}
	}
	return out
}

// fresh turns the entries that an assistant's echo would make into NONE, unless something builds on them.
func fresh(ops []memory.Operation, assistant map[string]bool, in formation.Session, known []memory.Memory) []memory.Operation {
	speakers, built := formation.SpeakerStems(in.Turns), targets(ops)
	for i, op := range ops {
		if op.Kind == memory.OpAdd && !built[op.New.ID] && all(op.Sources, assistant) && echoes(op, speakers, known) {
			ops[i] = memory.Operation{Kind: memory.OpNone, Sources: op.Sources, Reason: reasonEcho}
		}
	}
	return ops
}

// once turns into NONE what adds an entry that is there already, word for word, unless something builds on it.
func once(ops []memory.Operation, known []memory.Memory) []memory.Operation {
	out, built, there := slices.Clone(ops), targets(ops), map[string]string{}
	for _, m := range known {
		if !built[m.ID] {
			there[text.Canonical(m.Content)] = m.ID
		}
	}
	for i, op := range out {
		if op.New == nil {
			continue
		}
		words := text.Canonical(op.New.Content)
		id, repeated := there[words]
		if repeated && op.Kind == memory.OpAdd && op.Until.IsZero() && !built[op.New.ID] {
			out[i] = memory.Operation{Kind: memory.OpNone, Targets: []string{id}, Sources: op.Sources, Reason: reasonKnown}
			continue
		}
		if !built[op.New.ID] && op.Until.IsZero() {
			there[words] = op.New.ID
		}
	}
	return out
}

// targets are the entries that operations act on.
func targets(ops []memory.Operation) map[string]bool {
	out := map[string]bool{}
	for _, op := range ops {
		for _, id := range op.Targets {
			out[id] = op.Kind != memory.OpNone || out[id]
		}
	}
	return out
}

func all(ids []string, of map[string]bool) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !of[id] })
}
