package memoryr2

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

const (
	// before joins a new value to what it replaces.
	before = " Before that: "
	// maxContent is how long a statement may grow by what it keeps, in bytes. What would grow beyond it is a contradiction instead: the old
	// entry is retracted, and the history keeps it.
	maxContent = 1000
)

// Embedded is the strategy without a model server. Facts are quotations. A contradiction is one that ends what was so: the entry is
// deleted first, and the quotation is inserted for what it tells beside that. Whatever is replaced by something else is a refinement, and
// is kept as the past of the new fact. It is safe for concurrent use.
type Embedded struct{ *embedded.Former }

var _ formation.Divisible = (*Embedded)(nil)

// NewEmbedded makes the former; it takes some milliseconds to load the models.
func NewEmbedded() *Embedded { return &Embedded{embedded.NewFormer(embedded.IdentityOf(Name))} }

// Division says that sessions can be extracted in parts. They are decided as a whole: what a statement refines is judged beside
// everything else that was said, so that three groups may do together what no two of them do.
func (f *Embedded) Division() formation.Division { return formation.Division{Extract: true} }

// Decide holds the facts against the memories of the same speaker, of each of which it sees what holds now, not what was before.
func (f *Embedded) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	k := monotonic{contents: map[string]string{}, turns: in.Session.Turns}
	view := relate(in, math.MaxInt) // the bound is of a prompt, and there is none
	for i, r := range view.Related {
		view.Related[i].Memories = slices.Clone(r.Memories)
		for j, m := range r.Memories {
			k.contents[m.ID] = m.Content
			view.Related[i].Memories[j].Content, _ = Split(m.Content)
		}
	}
	verdict, err := f.Former.Decide(ctx, view)
	if err != nil {
		return formation.Verdict{}, err
	}
	var out []memory.Operation
	for _, op := range verdict.Operations {
		out = append(out, k.rewrite(op)...)
	}
	verdict.Operations = out
	return verdict, nil
}

// Split tells what an entry of this strategy says holds now from what was before, which begins with the joining words.
func Split(content string) (now, past string) {
	if i := strings.Index(content, before); i >= 0 {
		return content[:i], content[i:]
	}
	return content, ""
}

// monotonic makes operations monotonic.
type monotonic struct {
	contents map[string]string
	turns    []memory.Turn
}

// rewrite returns the operation with an update that keeps all that its target says, or the deletion and insertion that it amounts to.
func (k *monotonic) rewrite(op memory.Operation) []memory.Operation {
	switch {
	case op.New == nil:
		return []memory.Operation{op}
	case op.Kind == memory.OpAdd:
		k.contents[op.New.ID] = op.New.Content
		return []memory.Operation{op}
	}
	entry := *op.New
	kept := keeping(entry.Content, k.contents[op.Targets[0]])
	if op.Reason == embedded.ReasonEnd || len(kept) > maxContent {
		k.contents[entry.ID] = entry.Content
		return []memory.Operation{k.deletion(op, op.Targets), {Kind: memory.OpAdd, New: &entry, Sources: op.Sources, Reason: op.Reason}}
	}
	if kept != entry.Content {
		entry.Content, entry.Vector = kept, nil
	}
	k.contents[entry.ID] = kept
	update := memory.Operation{Kind: memory.OpUpdate, Targets: op.Targets[:1], New: &entry, Sources: op.Sources, Reason: op.Reason}
	if len(op.Targets) == 1 {
		return []memory.Operation{update}
	}
	return []memory.Operation{k.deletion(op, op.Targets[1:]), update}
}

func (k *monotonic) deletion(op memory.Operation, targets []string) memory.Operation {
	return memory.Operation{Kind: memory.OpDelete, Targets: targets, Sources: op.Sources, Reason: reasonContradiction,
		At: llm.Newest(k.turns, op.Sources)}
}

// keeping is the new statement with what the old one says beyond it as the past.
func keeping(content, old string) string {
	now, past := Split(old)
	stems := text.StemSet(content)
	for s := range text.StemSet(now) {
		if !stems[s] {
			return content + before + old
		}
	}
	if len(Dropped(now, content)) > 0 {
		return content + before + old
	}
	return content + past
}
