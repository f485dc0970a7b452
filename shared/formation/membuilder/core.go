package membuilder

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/text"
)

// Bounds and reasons of the core role.
const (
	// maxBlockBytes is the most bytes of a block that a model may write before compression.
	maxBlockBytes  = 8 * memory.CoreCapacity
	reasonCompress = "compressed"
)

// coreAnswer is the core role's answer. That there is nothing to do has to be said in so many words.
type coreAnswer struct {
	Operation string   `json:"operation" enum:"APPEND|REPLACE|REWRITE|NONE"`
	Content   string   `json:"content" desc:"for APPEND the lines to add, for REWRITE the whole new block, else empty"`
	OldText   string   `json:"old_text" desc:"for REPLACE the text of the block that goes, copied exactly, else empty"`
	NewText   string   `json:"new_text" desc:"for REPLACE the text that takes its place, else empty"`
	Sources   []string `json:"sources" desc:"ids of the turns it comes from; empty for NONE"`
}

// shownBlock is a core block as its role sees it.
type shownBlock struct {
	Text     string `json:"text"`
	Length   int    `json:"length"`
	Capacity int    `json:"capacity"`
	Percent  int    `json:"percent_full"`
}

func showBlock(text string) shownBlock {
	n := utf8.RuneCountInString(text)
	return shownBlock{Text: text, Length: n, Capacity: memory.CoreCapacity, Percent: n * 100 / memory.CoreCapacity}
}

// block asks the core role once, and has the block compressed when it has grown beyond its capacity.
func (f *LLM) block(ctx context.Context, d *roleInput) ([]memory.CoreOperation, error) {
	data := struct {
		Core    shownBlock         `json:"core"`
		Context []llm.ShownContext `json:"context,omitempty"`
		Turns   []llm.ShownTurn    `json:"turns"`
	}{showBlock(d.core.Content), llm.ShowContext(d.session.Context, d.turns), llm.ShowTurns(d.turns)}
	done, err := llm.Ask(ctx, f.core, d.session.Scope, data, len(d.turns),
		func(a coreAnswer) ([]memory.CoreOperation, error) { return a.operations(d) })
	if err != nil || len(done) == 0 {
		return nil, err
	}
	text, err := memory.EditCore(d.core.Content, done[0])
	if err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(text) <= memory.CoreCapacity {
		return done, nil
	}
	short, err := f.shorten(ctx, d.session.Scope, text)
	if err != nil {
		return nil, err
	}
	sources := slices.Clone(done[0].Sources)
	return append(done, memory.CoreOperation{Kind: memory.OpRewrite, New: short, Sources: sources,
		Reason: reasonCompress}), nil
}

// operations checks the answer: the action must have its fields and be possible on the block as it is.
func (a coreAnswer) operations(d *roleInput) ([]memory.CoreOperation, error) {
	if err := a.fields(); err != nil {
		return nil, err
	}
	if a.Operation == "NONE" {
		return nil, nil
	}
	sources, _, err := d.sources(a.Sources)
	if err != nil {
		return nil, err
	}
	if !d.userSaid(sources) {
		return nil, structured.Faultf("sources are turns of an assistant only; the block tells of the user, by what " +
			"the user said")
	}
	op := memory.CoreOperation{Kind: memory.OpKind(a.Operation), Old: a.OldText, New: a.Content, Sources: sources,
		Reason: strings.ToLower(a.Operation)}
	if op.Kind == memory.OpReplace {
		op.New = a.NewText
	}
	if _, err := memory.EditCore(d.core.Content, op); err != nil {
		return nil, structured.Faultf("%v", err)
	}
	return []memory.CoreOperation{op}, nil
}

// fields reports fields that the action lacks, or has no use for.
func (a coreAnswer) fields() error {
	for _, text := range []string{a.Content, a.OldText, a.NewText} {
		if err := checkBlock(text); err != nil {
			return err
		}
	}
	filled := func(s string) bool { return strings.TrimSpace(s) != "" }
	switch writes, replaces := filled(a.Content), filled(a.OldText) || filled(a.NewText); {
	case a.Operation == "NONE" && (writes || replaces || len(a.Sources) > 0):
		return structured.Faultf("operation is NONE, yet there is text or a source")
	case a.Operation == "REPLACE" && (writes || !filled(a.OldText)):
		return structured.Faultf("REPLACE takes old_text and new_text, and no content")
	case (a.Operation == "APPEND" || a.Operation == "REWRITE") && (replaces || !writes):
		return structured.Faultf("%s takes content, and neither old_text nor new_text", a.Operation)
	}
	return nil
}

func checkBlock(text string) error {
	if len(text) > maxBlockBytes || strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
		return structured.Faultf("text of a block: want at most %d characters of text", memory.CoreCapacity)
	}
	return nil
}

// userSaid reports whether one of the turns is the user's.
func (d *roleInput) userSaid(ids []string) bool {
	return slices.ContainsFunc(d.turns, func(t memory.Turn) bool {
		return t.Role != memory.RoleAssistant && slices.Contains(ids, t.ID)
	})
}

// compressed is the answer to a request for a shorter block.
type compressed struct {
	Content string `json:"content" desc:"the whole block, shorter"`
}

// shorten has a block compressed, the second time harder (MemBuilder, Appendix C). A block that is still too long is a
// malformed answer: nothing is cut off behind the model's back.
func (f *LLM) shorten(ctx context.Context, scope memory.Scope, text string) (string, error) {
	for _, again := range []bool{false, true} {
		data := struct {
			Core   shownBlock `json:"core"`
			Below  int        `json:"below"`
			Harder bool       `json:"harder"`
		}{showBlock(text), compressTo, again}
		short, err := llm.Ask(ctx, f.compress, scope, data, 1, func(a compressed) (string, error) {
			short := strings.TrimSpace(a.Content)
			if short == "" {
				return "", structured.Faultf("content is empty; want the block, shorter")
			}
			return short, checkBlock(short)
		})
		if err != nil {
			return "", err
		}
		if utf8.RuneCountInString(short) < compressTo {
			return short, nil
		}
		if len(short) < len(text) {
			text = short
		}
	}
	return "", fmt.Errorf("%s: %w: %w", model.RoleCore, model.ErrMalformed,
		structured.Faultf("the block has %d characters after two compressions, want fewer than %d",
			utf8.RuneCountInString(text), compressTo))
}

const (
	reasonCommon = "common knowledge"
	// judges is the least cosine of a word with the judging words for a word of opinion.
	judges = 0.45
	// leastMark is the least length of a stop word that shows a readable language. Other languages share the short
	// ones.
	leastMark = 3
)

// firstPerson are the words by which people speak of themselves. referring are all words that point to people and
// things of a conversation.
var (
	firstPerson = text.WordSet("i im ive me my mine we us our ours")
	referring   = text.Union(firstPerson, text.WordSet(`you your yours he him his she her hers they them their theirs it
		its this that these those here there`))
)

// judging is the direction of the words that state an opinion.
var judging = sync.OnceValue(func() memory.Vector {
	sum := memory.Vector{}
	for _, w := range []string{"good", "better", "best", "great", "nice", "bad", "worse", "worst", "awful", "terrible"} {
		sum = add(sum, w)
	}
	return sum
})

// add adds the vector of a word.
func add(sum memory.Vector, word string) memory.Vector {
	table := wordvector.Shipped()
	if len(sum) == 0 {
		sum = make(memory.Vector, table.Dimension())
	}
	if i, ok := table.Find(word); ok {
		table.Add(sum, i, 1)
	}
	return sum
}

// common reports whether a statement has only common knowledge, and no fact about the user's world. In doubt it
// returns false, since a skipped statement is lost. The statement must be readable word by word, and the filter must
// rate it low. It must point to no person, name no person and state no opinion. It must share no word with known
// entries or with the other statements.
func (f *Embedded) common(r formation.Related, told []formation.Related) bool {
	c := r.Candidate
	if c.Kind != memory.KindFact && c.Kind != memory.KindSemantic || len(c.Sources) > 1 ||
		strings.ContainsAny(c.Content, "?[") ||
		!c.EventTime.Time.IsZero() || f.WorthAlone(c) || !general(text.Words(c.Content)) {
		return false
	}
	matter := text.StemSet(c.Content)
	touches := func(content string) bool {
		return slices.ContainsFunc(text.ContentStems(content), func(stem string) bool { return matter[stem] })
	}
	return !slices.ContainsFunc(r.Memories, func(m memory.Memory) bool { return touches(m.Content) }) &&
		!slices.ContainsFunc(told, func(o formation.Related) bool {
			return o.Candidate.Content != c.Content && touches(o.Candidate.Content)
		})
}

// general reports whether words refer to no person and to no particular thing.
func general(words []text.Word) bool {
	read := false
	for i, w := range words {
		_, known := wordvector.Shipped().Find(w.Lower)
		stop := text.IsStopWord(w.Lower)
		switch {
		case !known, i > 0 && w.Capital, referring[w.Lower], text.IsTimeWord(w), text.IsTimeWord(singular(w)):
			return false
		case !stop && memory.Cosine(add(nil, w.Lower), judging()) >= judges:
			return false
		}
		read = read || stop && len(w.Lower) >= leastMark
	}
	return read && words[0].Lower != "the"
}

func singular(w text.Word) text.Word {
	w.Lower = strings.TrimSuffix(w.Lower, "s")
	return w
}
