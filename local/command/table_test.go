package command_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/mneme-memory/mneme/local/command"
)

const id = "6f9619ff-8b86-5d01-b42d-00cf4fc964ff"

// printed returns the lines of a table, and fails if one is wider than 100 characters.
func printed(t *testing.T, header []any, rows ...[]any) string {
	t.Helper()
	var out bytes.Buffer
	made := command.NewTable(&out, header...)
	for _, row := range rows {
		made.AppendRow(row)
	}
	made.Render()
	for line := range strings.Lines(out.String()) {
		if n := text.StringWidth(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("a line has %d characters:\n%s", n, out.String())
			break
		}
	}
	return out.String()
}

func TestTablesFitTheWidth(t *testing.T) {
	long := strings.Repeat("Ana lives in Porto. ", 20)
	out := printed(t, []any{"memory", "status", "id"}, []any{long, "active", id}, []any{"short", "quarantined: order", id})
	if !strings.Contains(out, id) {
		t.Errorf("the id is cut although words could be wrapped:\n%s", out)
	}
	word := strings.Repeat("x", 40)
	if out := printed(t, []any{"id", "a", "b"}, []any{id, word, word}); !strings.Contains(out, id) {
		t.Errorf("the id is cut before other words:\n%s", out)
	}
	out = printed(t, []any{"a", "b", "c", "d"}, []any{id, id, id, id})
	if got := strings.Count(out, "6f9619ff"); got != 4 {
		t.Errorf("%d of 4 ids:\n%s", got, out)
	}
	many := slices.Repeat([]any{"generator"}, 12)
	printed(t, many, many)
	printed(t, []any{"wide"}, []any{strings.Repeat("記憶", 200)})
}

func TestTablesHideColumnsWithoutValues(t *testing.T) {
	out := printed(t, []any{"name", "event time", "count"}, []any{"x", "", 0}, []any{"y", "", 1})
	if strings.Contains(out, "EVENT TIME") || !strings.Contains(out, "COUNT") || !strings.Contains(out, "NAME") {
		t.Errorf("printed\n%s", out)
	}
	if out := printed(t, []any{"name", "count"}); out != "no rows\n" {
		t.Errorf("an empty table is printed as\n%s", out)
	}
}
