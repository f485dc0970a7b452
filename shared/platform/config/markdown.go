package config

import (
	"fmt"
	"strings"
)

// Section is the settings of one service, for the reference documentation.
type Section struct {
	// Title is the heading. Text is the paragraph below it and may be empty.
	Title, Text string
	// Rows are the settings.
	Rows []Row
}

// Markdown writes a reference: a heading and a table for each section.
func Markdown(sections []Section) string {
	var b strings.Builder
	for i, s := range sections {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "## %s\n\n", s.Title)
		if s.Text != "" {
			fmt.Fprintf(&b, "%s\n\n", s.Text)
		}
		b.WriteString("| variable | type | default | meaning |\n|---|---|---|---|\n")
		for _, r := range s.Rows {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Name, cell(r.Type), r.markdownDefault(), cell(r.Description))
		}
	}
	return b.String()
}

func (r Row) markdownDefault() string {
	switch {
	case r.Default != "":
		return "`" + cell(r.Default) + "`"
	case r.Required:
		return "**required**"
	default:
		return ""
	}
}

// cell keeps a text from ending its table cell.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(s)
}

// Table writes rows for a terminal: name and default on one line, and the meaning indented below.
func Table(rows []Row) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "  %s  (%s", r.Name, r.Type)
		switch {
		case r.Required:
			b.WriteString("; required")
		case r.Default != "":
			b.WriteString("; default " + r.Default)
		}
		fmt.Fprintf(&b, ")\n        %s\n", r.Description)
	}
	return b.String()
}
