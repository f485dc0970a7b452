package membuilder

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
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
