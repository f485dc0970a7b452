package membuilder

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// maxLine is how long a line of the block may be, in characters; what takes longer is no trait.
const maxLine = 240

// passing matches a preference of the moment, or one that refers to earlier text. It has no meaning alone.
var passing = regexp.MustCompile(`(?i)\b(?:it|it's|its|they|they're|them|their|this|that|that's|these|those|there|here|would|'d|if|let|` +
	`you|your)\b`)

// asking matches the end of the clause before a question, if the sentence has one: "I'm allergic to peanuts, can you
// ...?"
var asking = regexp.MustCompile(`[,;:–—]|\s-\s`)

// lineDay is the day that ends a line.
var lineDay = regexp.MustCompile(` \(\d{4}-\d{2}-\d{2}\)$`)

// block keeps the core block while operations are sorted. A line is a person's statement about themself, with the day:
// `Ana: I work as a nurse. (2024-05-06)`
type block struct {
	text string
	done []memory.CoreOperation
	// split divides a text into sentences; alone reports whether a sentence is worth a separate memory.
	split func(string) []string
	alone func(formation.Candidate) bool
}

func (f *Embedded) newBlock(c memory.Core) *block {
	return &block{text: c.Content, split: f.splitter.Split, alone: f.WorthAlone}
}

// apply changes the block for an operation on the bank. An assistant's statement does not change it.
func (b *block) apply(op memory.Operation, s *sorter) {
	if op.Kind == memory.OpNone || s.byAssistant(op) {
		return
	}
	line := ""
	// Talk and an ended statement are no trait.
	if op.New != nil && op.New.Tier == memory.TierMemory && op.Until.IsZero() && op.Reason != embedded.ReasonEnd {
		line = b.trait(*op.New, s.turns[s.sourceTexts(op)[0]])
	}
	var old []string
	for _, id := range op.Targets {
		l := b.lineOf(s.entries[id])
		// The line of an entry stays where its next version says all of it, and is no line.
		if l != "" && !(op.New != nil && line == "" &&
			strings.Contains(text.OneLine(op.New.Content), text.OneLine(s.entries[id].Content))) {
			old = append(old, l)
		}
	}
	b.replace(old, line, s.sourceTexts(op))
}

// trait returns the line of an entry. It has the sentences in which the speaker states a lasting fact about themself,
// in the speaker's words. Each sentence is a preference or worth a separate memory. The line is empty without such
// sentences.
func (b *block) trait(m memory.Memory, turn memory.Turn) string {
	lasting := m.Kind == memory.KindFact || m.Kind == memory.KindSemantic || m.Kind == memory.KindPreference
	if !lasting || m.EventTime.Expression != "" || strings.Contains(m.Content, "[") {
		return ""
	}
	own, others := text.Voices(turn.Text, turn.Speaker)
	mine, theirs := text.StemSet(own), text.StemSet(others)
	passed := func(stem string) bool { return theirs[stem] && !mine[stem] }
	var kept []string
	for _, said := range b.sentences(m.Content) {
		first, _, _ := strings.Cut(text.Words(said)[0].Lower, "'")
		if _, quoted := text.Voices(said, turn.Speaker); quoted == "" && firstPerson[first] && !passing.MatchString(said) &&
			!slices.ContainsFunc(text.ContentStems(said), passed) &&
			(m.Kind == memory.KindPreference || b.alone(formation.Candidate{Content: said, Speaker: m.Speaker})) {
			kept = append(kept, said)
		}
	}
	line := lineText(m.Speaker, strings.Join(kept, " "))
	if len(kept) == 0 || utf8.RuneCountInString(line) > maxLine {
		return ""
	}
	return line + m.ValidFrom.UTC().Format(" (2006-01-02)")
}

// sentences returns the sentences of a content; of a question it returns the part before the question.
func (b *block) sentences(content string) []string {
	var out []string
	for _, s := range b.split(text.OneLine(content)) {
		if at := asking.FindStringIndex(s); strings.Contains(s, "?") && at != nil {
			s = s[:at[0]]
		}
		if !strings.Contains(s, "?") && len(text.Words(s)) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// lineText returns a speaker's statement as a line without its day.
func lineText(speaker, said string) string {
	if speaker == "" {
		return said
	}
	return speaker + ": " + said
}

// lineOf returns the block's line for an entry, or "". The line has only content of the entry.
func (b *block) lineOf(m memory.Memory) string {
	has := map[string]bool{}
	for _, s := range b.sentences(m.Content) {
		has[s] = true
	}
	for _, l := range b.lines() {
		said, mine := strings.CutPrefix(lineDay.ReplaceAllString(l, ""), lineText(m.Speaker, ""))
		if mine && said != "" && !slices.ContainsFunc(b.sentences(said), func(s string) bool { return !has[s] }) {
			return l
		}
	}
	return ""
}

// replace puts a line in the place of others. It appends the line where there are no others. It removes the others
// where there is no line.
func (b *block) replace(old []string, line string, sources []string) {
	said := lineDay.ReplaceAllString(line, "")
	if slices.ContainsFunc(b.lines(), func(l string) bool {
		return line != "" && lineDay.ReplaceAllString(l, "") == said
	}) {
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

// exchange replaces one line by another. REPLACE would change the wrong place where an earlier line contains the old
// text. exchange then rewrites the block.
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
	b.do(memory.CoreOperation{Kind: memory.OpRewrite, New: strings.Join(lines, "\n"), Sources: sources,
		Reason: reasonCompress})
}

func (b *block) lines() []string { return strings.Split(b.text, "\n") }

// do applies an operation and keeps it; one that the block cannot take is left out.
func (b *block) do(op memory.CoreOperation) {
	op.Sources = slices.Clone(op.Sources)
	if text, err := memory.EditCore(b.text, op); err == nil {
		b.text, b.done = text, append(b.done, op)
	}
}

// compress keeps the lines, in their order, that fit below a number of characters. First it drops those that another
// line says as well; if that is not enough, the oldest go.
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
		stems[i] = text.StemSet(lineDay.ReplaceAllString(l, ""))
	}
	var out []string
	for i, l := range lines {
		said := slices.ContainsFunc(stems, func(other map[string]bool) bool {
			return len(other) > len(stems[i]) && isSubset(stems[i], other)
		})
		if !said && !slices.Contains(lines[i+1:], l) {
			out = append(out, l)
		}
	}
	return out
}

func isSubset(a, b map[string]bool) bool {
	for s := range a {
		if !b[s] {
			return false
		}
	}
	return true
}

// length is how many characters the lines take as a block.
func length(lines []string) int { return utf8.RuneCountInString(strings.Join(lines, "\n")) }
