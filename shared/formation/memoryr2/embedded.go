package memoryr2

import (
	"context"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

const (
	// before joins a new value to the value that it replaces.
	before = " Before that: "
	// maxContent is the most bytes by which a statement may grow through kept content. A larger addition counts as a
	// contradiction: the old entry is retracted, and the history keeps it.
	maxContent = 1000
	// surely is the least probability of a replacement for two statements without a shared word. On the held-out
	// banks, with an earlier model, one in four of these was no succession. Among statements with a shared word it was
	// one in five.
	surely = 0.8
	// reasonBeside marks a statement that changes no entry, because the change would lose other claims of the entry.
	reasonBeside = "may change an entry, which stays"
)

// Embedded is the strategy without a model server. Facts are quotations. A contradiction ends a state: the entry is
// deleted first, and the quotation is inserted for its other content. Any other replacement is a refinement, and the
// old value is kept as the past of the new fact. It is safe for concurrent use.
type Embedded struct{ *embedded.Former }

var _ formation.Divisible = (*Embedded)(nil)

// NewEmbedded makes the former; it takes some milliseconds to load the models.
func NewEmbedded() *Embedded { return &Embedded{embedded.NewFormer(embedded.IdentityOf(Name))} }

// Division allows extraction of a session in parts. Decisions need the whole session: a refinement is judged against
// all other statements. Three groups together may do more than any two of them.
func (f *Embedded) Division() formation.Division { return formation.Division{Extract: true} }

// Decide compares the facts with the memories of the same speaker. It sees the current part of each memory, not the
// past.
func (f *Embedded) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	k := monotonic{contents: map[string]string{}, turns: in.Session.Turns}
	// The overall bound is for a prompt, and here is no prompt. The relation models detect unrelated memories. For the
	// built-in embedder, "I moved to Lisbon" is less similar to "I live in Porto" than the least similarity.
	view := relate(in, math.Inf(-1), math.MaxInt)
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

// Split divides an entry of this strategy into the current state and the past, which begins with the joining words.
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

// rewrite returns the operation with an update that keeps all content of its target, or the equivalent deletion and
// insertion.
func (k *monotonic) rewrite(op memory.Operation) []memory.Operation {
	switch {
	case op.New == nil:
		return []memory.Operation{op}
	case op.Kind == memory.OpAdd:
		k.contents[op.New.ID] = op.New.Content
		return []memory.Operation{op}
	}
	entry := *op.New
	now, past := Split(k.contents[op.Targets[0]])
	kept, apart := "", false
	switch {
	case op.Reason == embedded.ReasonRest: // the entry's own words, which nothing replaces
		kept = entry.Content
		if len(kept+past) <= maxContent {
			kept += past
		}
	case op.Reason == embedded.ReasonEnd:
	case succeeds(entry, now):
		kept = keeping(entry.Content, now, past)
	default:
		apart = true
	}
	write := memory.Operation{Kind: memory.OpAdd, New: &entry, Sources: op.Sources, Reason: op.Reason}
	others := op.Targets
	if kept != "" && len(kept) <= maxContent {
		write.Kind, write.Targets, others = memory.OpUpdate, op.Targets[:1], op.Targets[1:]
		write.Rest, write.At = op.Rest, op.At
		if kept != entry.Content {
			entry.Content, entry.Vector = kept, nil
		}
	}
	k.contents[entry.ID] = entry.Content
	entry.Links = slices.Clone(entry.Links)
	var gone []string
	for _, id := range others {
		if said, _ := Split(k.contents[id]); apart || silent(op.New.Content, said) {
			entry.Links, write.Reason = append(entry.Links, id), reasonBeside
			continue
		}
		gone = append(gone, id)
	}
	if len(gone) == 0 {
		return []memory.Operation{write}
	}
	return []memory.Operation{k.deletion(op, gone), write}
}

// succeeds reports whether a statement states a successor of another. They share a word of content, or the relation
// model is sure. Among many entries, a statement about another subject may also seem to change the likeliest one.
func succeeds(entry memory.Memory, old string) bool {
	if shares(old, entry.Content) {
		return true
	}
	say := func(said string) relation.Statement {
		return relation.Statement{Text: said, Role: memory.RoleUser, Speaker: entry.Speaker}
	}
	return relation.Shipped().Judge(say(entry.Content), []relation.Statement{say(old)})[0][relation.Replaces] >= surely
}

// shares reports whether two texts have a word in common that tells something.
func shares(a, b string) bool {
	have := text.StemSet(b)
	return slices.ContainsFunc(text.ContentStems(a), func(stem string) bool { return have[stem] })
}

// pieces matches the separators of a list in one text: dashes, commas or points before its entries.
var pieces = regexp.MustCompile(`[,;.!?\n•]+(?:\s|$)|\s[-–—*]\s`)

// silent reports whether a statement does not mention a piece of another. A deletion of such an entry would lose
// claims that no statement denies. An entry with a single statement ends as a whole.
func silent(said, old string) bool {
	n, unspoken := 0, false
	for _, piece := range pieces.Split(old, -1) {
		if len(text.ContentStems(piece)) > 0 && !strings.HasSuffix(strings.TrimSpace(piece), ":") { // not the list's heading
			n++
			unspoken = unspoken || !shares(piece, said)
		}
	}
	return n > 1 && unspoken
}

func (k *monotonic) deletion(op memory.Operation, targets []string) memory.Operation {
	return memory.Operation{Kind: memory.OpDelete, Targets: targets, Sources: op.Sources, Reason: reasonContradiction,
		At: llm.Newest(k.turns, op.Sources)}
}

// keeping returns the new statement with the further content of the old one as the past.
func keeping(content, now, past string) string {
	stems := text.StemSet(content)
	for s := range text.StemSet(now) {
		if !stems[s] {
			return content + before + now + past
		}
	}
	if len(Dropped(now, content)) > 0 {
		return content + before + now + past
	}
	return content + past
}
