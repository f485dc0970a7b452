package command

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

const (
	// defaultWidth is the width of tables, in characters, if the output is no terminal.
	defaultWidth = 100
	// borderWidth is the width of a column's border and padding. The table has one more border.
	borderWidth = 3
	// minColumn is the smallest width to which Render cuts a column whose words are longer.
	minColumn = 4
)

// Table is a table that fits the width of its output. It hides columns without values.
type Table struct {
	// Rows names the rows in the line of a table without any, such as "memories".
	Rows string

	out    io.Writer
	header table.Row
	rows   []table.Row
}

// NewTable makes a table. The header names every column.
func NewTable(out io.Writer, header ...any) *Table {
	return &Table{Rows: "rows", out: out, header: header}
}

// AppendRow adds a row.
func (t *Table) AppendRow(row table.Row) { t.rows = append(t.rows, row) }

// Render prints the table, or one line if it has no rows. It breaks lines between words first, and inside words if the
// table is still too wide.
func (t *Table) Render() {
	if len(t.rows) == 0 {
		fmt.Fprintln(t.out, "no "+t.Rows)
		return
	}
	w := table.NewWriter()
	w.SetOutputMirror(t.out)
	w.SetStyle(table.StyleLight)
	var columns []column
	for i := range t.header {
		if c := t.measure(i); !c.empty {
			columns = append(columns, c)
		}
	}
	shrink(columns, outputWidth(t.out)-borderWidth*len(columns)-1)
	configs := make([]table.ColumnConfig, len(columns))
	for i, c := range columns {
		configs[i] = table.ColumnConfig{Number: i + 1, WidthMax: c.width, WidthMaxEnforcer: text.WrapSoft}
	}
	w.SetColumnConfigs(configs)
	w.AppendHeader(cells(t.header, columns))
	for _, row := range t.rows {
		w.AppendRow(cells(row, columns))
	}
	w.Render()
}

// cells returns the cells of a row in some columns.
func cells(row table.Row, columns []column) table.Row {
	out := make(table.Row, len(columns))
	for i, c := range columns {
		out[i] = row[c.index]
	}
	return out
}

// column is a column with its widths in characters.
type column struct {
	index int
	width int // of the longest line
	word  int // of the longest word
	empty bool
}

func (t *Table) measure(i int) column {
	c := column{index: i, empty: true}
	for _, row := range slices.Concat([]table.Row{t.header}, t.rows) {
		for line := range strings.Lines(fmt.Sprint(row[i])) {
			c.width = max(c.width, text.StringWidth(strings.TrimSuffix(line, "\n")))
			for _, word := range strings.Fields(line) {
				c.word = max(c.word, text.StringWidth(word))
			}
		}
	}
	for _, row := range t.rows {
		c.empty = c.empty && fmt.Sprint(row[i]) == ""
	}
	return c
}

// idWidth is the length of a UUID. Render cuts ids last, because users copy them.
const idWidth = 36

// shrink makes columns narrower until they fit the width. It shrinks the widest column first, and cuts words only if
// every column is as narrow as its longest word. It cuts columns of ids last.
func shrink(columns []column, width int) {
	for _, least := range []func(column) int{
		func(c column) int { return c.word },
		func(c column) int {
			if c.word == idWidth {
				return idWidth
			}
			return min(c.word, minColumn)
		},
		func(c column) int { return min(c.word, minColumn) },
	} {
		for {
			total, widest := 0, -1
			for i, c := range columns {
				total += c.width
				if c.width > least(c) && (widest < 0 || c.width > columns[widest].width) {
					widest = i
				}
			}
			if total <= width || widest < 0 {
				break
			}
			columns[widest].width--
		}
	}
}

// outputWidth returns the width of a terminal, or the default.
func outputWidth(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return defaultWidth
}
