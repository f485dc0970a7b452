package laptop

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/mneme-memory/mneme/local/command"
)

// pageColumns is the width of a page. pageLines is its height, for a terminal window.
const (
	pageColumns = 100
	pageLines   = 60
)

// page prints titled sections of lines that fit the page.
type page struct {
	out   io.Writer
	begun bool
}

// title begins a section.
func (p *page) title(format string, args ...any) {
	if p.begun {
		fmt.Fprintln(p.out)
	}
	p.begun = true
	p.print("", fmt.Sprintf(format, args...))
}

// line prints one line of a section. It cuts a long text.
func (p *page) line(format string, args ...any) { p.print("  ", fmt.Sprintf(format, args...)) }

// rows prints at most limit rows, and the number of the others.
func (p *page) rows(limit int, rows []string) {
	for i, row := range rows {
		if i == limit {
			p.line("... and %d more", len(rows)-limit)
			return
		}
		p.line("%s", row)
	}
}

// paragraph prints a text over at most limit lines.
func (p *page) paragraph(limit int, content string) {
	wrapped := strings.Split(text.WrapSoft(strings.TrimSpace(command.Printable(content)), pageColumns-2), "\n")
	for i, l := range wrapped[:min(limit, len(wrapped))] {
		if l = strings.TrimSpace(l); i == limit-1 && len(wrapped) > limit {
			l = text.Snip(l, pageColumns-6, "") + " ..."
		}
		p.line("%s", l)
	}
}

func (p *page) print(indent, content string) {
	line := indent + strings.TrimRight(command.Printable(content), " ")
	if text.StringWidthWithoutEscSequences(line) > pageColumns {
		line = text.Snip(line, pageColumns, "...")
	}
	fmt.Fprintln(p.out, line)
}
