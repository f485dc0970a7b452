package membuilder

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// stable are the attributes of who somebody is. What is not here - a phone number, an address, a routine - stays in the bank alone.
var stable = []string{
	"name", "age", "birthday", "residence", "job", "employer", "school", "major", "relationship", "diet", "favourite ",
	"preferred ", "name of ",
}

// maxLine is how long a line of the block may be, in characters; what takes longer is no trait.
const maxLine = 240

// passing is a liking of the moment, or one that leans on what was said before: it says nothing where it stands alone.
var passing = regexp.MustCompile(`(?i)\b(?:it|it's|its|they|they're|them|their|this|that|that's|these|those|there|here|would|'d|if|let)\b`)

// block keeps the core block while operations are sorted. A line is a statement, behind its slot where it has one: "ana/job: Ana works as
// a nurse." The slot is how a later value finds the line it takes the place of.
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
	if op.New != nil && op.Until.IsZero() {
		line = trait(*op.New)
	}
	if len(old) == 0 && line != "" && !strings.HasPrefix(attributeOf(op.New.Slot), many) {
		if l := b.lineWith(op.New.Slot); l != "" && !s.holds(l, b) {
			old = append(old, l)
		}
	}
	b.replace(old, line, s.said(op))
}

// retold reports whether the next version of an entry says all of it, and is no line: then the line of the entry may stay.
func retold(op memory.Operation, m memory.Memory) bool {
	return op.New != nil && trait(*op.New) == "" && strings.Contains(text.OneLine(op.New.Content), text.OneLine(m.Content))
}

// holds reports whether a line is that of an entry that is known and stays: then another value stands beside it.
func (s *sorter) holds(line string, b *block) bool {
	for _, m := range s.entries {
		if m.Status == memory.StatusActive && !s.taken[m.ID] && b.lineOf(m) == line {
			return true
		}
	}
	return false
}

// trait is the line of an entry; empty where it says nothing about who somebody is.
func trait(m memory.Memory) string {
	content := text.OneLine(m.Content)
	if utf8.RuneCountInString(content) > maxLine || reported.MatchString(content) {
		return ""
	}
	attribute := attributeOf(m.Slot)
	switch {
	case slices.ContainsFunc(stable, func(a string) bool {
		return attribute == a || strings.HasSuffix(a, " ") && strings.HasPrefix(attribute, a)
	}):
		return m.Slot + ": " + content
	case m.Kind == memory.KindPreference && !passing.MatchString(content):
		return content
	}
	return ""
}

// many begins the attributes that one may have several of.
const many = "name of "

// attributeOf is what a slot is of its subject; empty where there is no slot.
func attributeOf(slot string) string {
	_, attribute, _ := strings.Cut(slot, "/")
	return attribute
}

// lineOf is the line that an entry has in the block, or "". An entry that tells more by now has the line of what it told before.
func (b *block) lineOf(m memory.Memory) string {
	content := text.OneLine(m.Content)
	if content == "" {
		return ""
	}
	within := ""
	for _, l := range b.lines() {
		statement := l
		if m.Slot != "" {
			statement = strings.TrimPrefix(l, m.Slot+": ")
		}
		if statement == content {
			return l
		}
		if within == "" && statement != "" && strings.Contains(content, statement) {
			within = l
		}
	}
	return within
}

// lineWith is the line of a slot, or "" where there is none, or more than one, so that it is not sure which one is meant.
func (b *block) lineWith(slot string) string {
	found := ""
	for _, l := range b.lines() {
		if slot == "" || !strings.HasPrefix(l, slot+": ") {
			continue
		}
		if found != "" {
			return ""
		}
		found = l
	}
	return found
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
// if that is not enough, the oldest go: those without a slot first, since a like matters less than who somebody is.
func compress(lines []string, below int) []string {
	lines = distinct(lines)
	for _, slotted := range []bool{false, true} {
		for i := 0; i < len(lines) && length(lines) >= below; {
			if isSlotted(lines[i]) != slotted {
				i++
				continue
			}
			lines = slices.Delete(lines, i, i+1)
		}
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

func isSlotted(line string) bool {
	slot, _, ok := strings.Cut(line, ": ")
	return ok && strings.Contains(slot, "/") && !strings.Contains(slot, ". ")
}

// length is how many characters the lines take as a block.
func length(lines []string) int { return utf8.RuneCountInString(strings.Join(lines, "\n")) }
