package memories

import (
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
)

// PrintMemories prints entries as a table.
func PrintMemories(c *console.Console, ms []*mnemev1.Memory) {
	t := c.Table("memories", "memory and id", "kind", "status", "speaker and day", "event time", "source turns")
	for _, m := range ms {
		t.AppendRow(table.Row{
			WithID(m.GetContent(), m.GetId()), KindName(m.GetKind()), fmt.Sprintf("%s, version %d", state(m), m.GetVersion()),
			strings.TrimSpace(command.Printable(m.GetSpeaker()) + "\n" + saidOn(m)), EventTime(m),
			command.Printable(strings.Join(m.GetSourceTurnIds(), " ")),
		})
	}
	t.Render()
}

// WithID is a table's cell with a text and an id below it, which stays in one line.
func WithID(content, id string) string {
	return strings.TrimPrefix(command.Printable(content)+"\n"+id, "\n")
}

// PrintTurns prints turns as a table.
func PrintTurns(c *console.Console, turns []*mnemev1.Turn) {
	t := c.Table("turns", "time (UTC)", "speaker", "turn", "turn id")
	for _, turn := range turns {
		t.AppendRow(table.Row{
			turn.GetTime().AsTime().Format("2006-01-02 15:04"), command.Printable(turn.GetSpeaker()),
			command.Printable(turn.GetText()), command.Printable(turn.GetTurnId()),
		})
	}
	t.Render()
}

// KindName is the documentation's word for a kind.
func KindName(k mnemev1.Kind) string { return strings.ToLower(strings.TrimPrefix(k.String(), "KIND_")) }

// StatusName is the documentation's word for a status.
func StatusName(s mnemev1.Status) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "STATUS_"))
}

// state is an entry's state, with the reason of a quarantine and the tier of talk.
func state(m *mnemev1.Memory) string {
	if tier := contract.TierName(m); tier != "" {
		return tier + ", " + StatusName(m.GetStatus())
	}
	if m.GetStatus() == mnemev1.Status_STATUS_QUARANTINED {
		return "quarantined: " + command.Printable(m.GetQuarantine())
	}
	return StatusName(m.GetStatus())
}

// saidOn is the day of the entry's turn.
func saidOn(m *mnemev1.Memory) string {
	if m.GetValidFrom() == nil {
		return ""
	}
	return m.GetValidFrom().AsTime().Format(time.DateOnly)
}

// EventTime is the entry's event time, with its known precision.
func EventTime(m *mnemev1.Memory) string {
	e := m.GetEventTime()
	if e == nil {
		return ""
	}
	t := e.GetTime().AsTime()
	switch e.GetPrecision() {
	case mnemev1.Precision_PRECISION_YEAR:
		return t.Format("2006")
	case mnemev1.Precision_PRECISION_MONTH:
		return t.Format("2006-01")
	default:
		return t.Format("2006-01-02")
	}
}

// PrintCore prints a core block, each line with its source memories.
func PrintCore(c *console.Console, block *mnemev1.CoreBlock) {
	if block.GetVersion() == 0 {
		return
	}
	fmt.Fprintf(c.Out, "core block, v%d:\n", block.GetVersion())
	for _, l := range block.GetLines() {
		fmt.Fprintf(c.Out, "  %s (%s)\n", command.Printable(l.GetText()), strings.Join(l.GetMemoryIds(), ", "))
	}
	if len(block.GetLines()) > 0 {
		return
	}
	for line := range strings.Lines(block.GetContent()) {
		fmt.Fprintf(c.Out, "  %s\n", strings.TrimSpace(command.Printable(line)))
	}
}
