package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

// raw returns a message as JSON. Field names are those in proto/. Enumerations have the documentation's words
// ("fact", "active") instead of the contracts' constants.
func raw(m proto.Message) json.RawMessage {
	data, err := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(m)
	if err != nil {
		return json.RawMessage(fmt.Sprintf("%q", "cannot be encoded: "+err.Error()))
	}
	return constant.ReplaceAllFunc(data, func(match []byte) []byte {
		parts := constant.FindSubmatch(match)
		return fmt.Appendf(nil, "%s:%q", parts[1], strings.ToLower(string(parts[3])))
	})
}

// constant matches an enumeration's field with its value. Quotes in a text are escaped, so it matches no text.
var constant = regexp.MustCompile(
	`("(?:kind|status|role|precision|state|stage)"): ?"(KIND|STATUS|ROLE|PRECISION|FORMATION_STATE|STAGE)_([A-Z_]+)"`)

func raws[M proto.Message](ms []M) []json.RawMessage {
	out := make([]json.RawMessage, len(ms))
	for i, m := range ms {
		out[i] = raw(m)
	}
	return out
}

func (c *cli) table(header ...any) table.Writer {
	return command.NewTable(c.out, header...)
}

// printMemories prints entries as a table.
func (c *cli) printMemories(ms []*mnemev1.Memory) {
	t := c.table("kind", "memory", "speaker", "said", "when", "status", "v", "source turns", "id")
	t.SetColumnConfigs([]table.ColumnConfig{
		{Name: "memory", WidthMax: 64, WidthMaxEnforcer: text.WrapSoft}, {Name: "source turns", WidthMax: 20, WidthMaxEnforcer: text.WrapSoft},
	})
	for _, m := range ms {
		t.AppendRow(table.Row{
			kindName(m.GetKind()), command.Printable(m.GetContent()), command.Printable(m.GetSpeaker()), said(m), when(m), state(m), m.GetVersion(),
			command.Printable(strings.Join(m.GetSourceTurnIds(), " ")), m.GetId(),
		})
	}
	t.Render()
}

// printWindow prints working memory as a table.
func (c *cli) printWindow(turns []*mnemev1.Turn) {
	t := c.table("time", "speaker", "turn", "id")
	t.SetColumnConfigs([]table.ColumnConfig{{Name: "turn", WidthMax: 80, WidthMaxEnforcer: text.WrapSoft}})
	for _, turn := range turns {
		t.AppendRow(table.Row{
			turn.GetTime().AsTime().Format("2006-01-02 15:04"), command.Printable(turn.GetSpeaker()),
			command.Printable(turn.GetText()), command.Printable(turn.GetTurnId()),
		})
	}
	t.Render()
}

func kindName(k mnemev1.Kind) string { return strings.ToLower(strings.TrimPrefix(k.String(), "KIND_")) }

func statusName(s mnemev1.Status) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "STATUS_"))
}

// state is an entry's state, with the reason of a quarantine.
func state(m *mnemev1.Memory) string {
	if m.GetStatus() == mnemev1.Status_STATUS_QUARANTINED {
		return "quarantined: " + command.Printable(m.GetQuarantine())
	}
	return statusName(m.GetStatus())
}

// said is the day of the entry's turn.
func said(m *mnemev1.Memory) string {
	if m.GetValidFrom() == nil {
		return ""
	}
	return m.GetValidFrom().AsTime().Format(time.DateOnly)
}

// when is the entry's event time, with its known precision.
func when(m *mnemev1.Memory) string {
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
