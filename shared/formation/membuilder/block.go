package membuilder

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// maxLine is how long a line of the block may be, in characters; what takes longer is no trait.
const maxLine = 240

// passing is a liking of the moment, or one that leans on what was said before: it says nothing where it stands alone.
var passing = regexp.MustCompile(`(?i)\b(?:it|it's|its|they|they're|them|their|this|that|that's|these|those|there|here|would|'d|if|let|` +
	`you|your)\b`)

// block keeps the core block while operations are sorted. A line is a statement with who said it: `Ana: I work as a nurse.`
type block struct {
	text string
	done []memory.CoreOperation
}

func newBlock(c memory.Core) *block { return &block{text: c.Content} }

// apply does to the block what an operation on the bank means for it. What an assistant said means nothing.
func (b *block) apply(op memory.Operation, s *sorter) {
	if op.Kind == memory.OpNone || s.byAssistant(op) {
		return
	}
	var old []string
	for _, id := range op.Targets {
		if l := b.lineOf(s.entries[id]); l != "" && !retold(op, s.entries[id]) {
			old = append(old, l)
		}
	}
	line := ""
	if op.New != nil && op.Until.IsZero() && op.Reason != embedded.ReasonEnd { // what is over is no trait
		line = trait(*op.New)
	}
	b.replace(old, line, s.said(op))
}

// retold reports whether the next version of an entry says all of it, and is no line: then the line of the entry may stay.
func retold(op memory.Operation, m memory.Memory) bool {
	return op.New != nil && trait(*op.New) == "" && strings.Contains(text.OneLine(op.New.Content), text.OneLine(m.Content))
}

// trait is the line of an entry; empty where it says nothing lasting about who somebody is.
func trait(m memory.Memory) string {
	content := lineText(m)
	lasting := m.Kind == memory.KindFact || m.Kind == memory.KindSemantic || m.Kind == memory.KindPreference
	if !lasting || m.EventTime.Expression != "" || utf8.RuneCountInString(content) > maxLine || passing.MatchString(m.Content) ||
		strings.ContainsAny(m.Content, "?[") {
		return ""
	}
	return content
}

// lineText is an entry as a line.
func lineText(m memory.Memory) string {
	if m.Speaker == "" {
		return text.OneLine(m.Content)
	}
	return m.Speaker + ": " + text.OneLine(m.Content)
}

// lineOf is the line that an entry has in the block, or "".
func (b *block) lineOf(m memory.Memory) string {
	if line := lineText(m); m.Content != "" && slices.Contains(b.lines(), line) {
		return line
	}
	return ""
}

// replace puts a line in the place of others; without others it is appended, and without a line they are taken out.
func (b *block) replace(old []string, line string, sources []string) {
	if line != "" && slices.Contains(b.lines(), line) {
		line = ""
	}
	for _, l := range old {
		b.exchange(l, line, sources)
		line = ""
	}
	switch {
	case line == "":
	case utf8.RuneCountInString(b.text) >= memory.CoreAppendLimit:
		b.rewrite(append(compress(b.lines(), compressTo-utf8.RuneCountInString(line)-1), line), sources)
	default:
		b.do(memory.CoreOperation{Kind: memory.OpAppend, New: line, Sources: sources, Reason: "new"})
	}
}

// exchange puts one line in the place of another. Where the text of the old one occurs earlier inside another line, REPLACE would hit
// that, and the block is written anew.
func (b *block) exchange(old, line string, sources []string) {
	lines := b.lines()
	at := slices.Index(lines, old)
	if at < 0 {
		return
	}
	if first := strings.Index(b.text, old); first != len(strings.Join(lines[:at], "\n"))+min(at, 1) {
		lines[at] = line
		b.rewrite(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), sources)
		return
	}
	b.do(memory.CoreOperation{Kind: memory.OpReplace, Old: old, New: line, Sources: sources, Reason: "replaced"})
	if utf8.RuneCountInString(b.text) > memory.CoreCapacity {
		b.rewrite(compress(b.lines(), compressTo), sources)
	}
}

func (b *block) rewrite(lines []string, sources []string) {
	b.do(memory.CoreOperation{Kind: memory.OpRewrite, New: strings.Join(lines, "\n"), Sources: sources, Reason: reasonCompress})
}

func (b *block) lines() []string { return strings.Split(b.text, "\n") }

// do applies an operation and keeps it; one that the block cannot take is left out.
func (b *block) do(op memory.CoreOperation) {
	op.Sources = slices.Clone(op.Sources)
	if text, err := memory.EditCore(b.text, op); err == nil {
		b.text, b.done = text, append(b.done, op)
	}
}

// compress keeps the lines, in their order, that fit below a number of characters. First it drops those that another line says as well;
// if that is not enough, the oldest go.
func compress(lines []string, below int) []string {
	lines = distinct(lines)
	for len(lines) > 0 && length(lines) >= below {
		lines = lines[1:]
	}
	return lines
}

// distinct drops lines all of whose words another, later or longer line has.
func distinct(lines []string) []string {
	stems := make([]map[string]bool, len(lines))
	for i, l := range lines {
		stems[i] = text.StemSet(l)
	}
	var out []string
	for i, l := range lines {
		said := slices.ContainsFunc(stems, func(other map[string]bool) bool { return len(other) > len(stems[i]) && within(stems[i], other) })
		if !said && !slices.Contains(lines[i+1:], l) {
			out = append(out, l)
		}
	}
	return out
}

func within(a, b map[string]bool) bool {
	for s := range a {
		if !b[s] {
			return false
		}
	}
	return true
}

// length is how many characters the lines take as a block.
func length(lines []string) int { return utf8.RuneCountInString(strings.Join(lines, "\n")) }
