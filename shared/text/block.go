package text

import "strings"

// BlockKind is the kind of a message's part, by its markup.
type BlockKind int

// The kinds of blocks.
const (
	// Prose is text in the speaker's own words.
	Prose BlockKind = iota
	// Code stands between fences.
	Code
	// Quotation is text of another person, in lines that begin with ">".
	Quotation
	// Pasted is a log, or a text that is too long to be typed.
	Pasted
)

// Block is a run of lines of one kind.
type Block struct {
	Kind BlockKind
	// Text is the content of the block, without the marks of its kind.
	Text string
}

// Blocks takes a message apart into prose, fenced code, quoted lines and pasted texts, in order and without empty ones.
// A fence that is not closed goes to the end.
func Blocks(message string) []Block {
	var out []Block
	parts, _ := pastes(message)
	at := 0
	for _, p := range parts {
		out = append(out, typedBlocks(message[at:p.from])...)
		out = append(out, Block{Pasted, strings.TrimSpace(message[p.from:p.to])})
		at = p.to
	}
	return append(out, typedBlocks(message[at:])...)
}

// typedBlocks is Blocks for a text without pasted parts.
func typedBlocks(message string) []Block {
	var out []Block
	var lines []string
	kind := Prose
	flush := func(next BlockKind) {
		if said := strings.TrimSpace(strings.Join(lines, "\n")); said != "" {
			out = append(out, Block{kind, said})
		}
		lines, kind = nil, next
	}
	fence := ""
	for line := range strings.Lines(message) {
		line = strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "" {
				fence = ""
				flush(Prose)
				continue
			}
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			flush(Code)
			fence = trimmed[:3]
			continue
		case strings.HasPrefix(trimmed, ">"):
			if kind != Quotation {
				flush(Quotation)
			}
			line = strings.TrimSpace(strings.TrimLeft(trimmed, "> "))
		case kind == Quotation:
			flush(Prose)
		}
		lines = append(lines, line)
	}
	flush(Prose)
	return out
}
