package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

// bar is a progress bar on the error output; where that is no terminal it says nothing.
func (c *cli) bar(total int, what string) *progressbar.ProgressBar {
	return progressbar.NewOptions(total, progressbar.OptionSetWriter(c.err), progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(), progressbar.OptionSetWidth(30), progressbar.OptionThrottle(50*time.Millisecond),
		progressbar.OptionSetVisibility(isTerminal(c.err)), progressbar.OptionOnCompletion(func() { fmt.Fprintln(c.err) }))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) // not any character device: /dev/null is one
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// raw is a message as JSON, field names as in proto/ and enumerations in the words of the documentation
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

// constant matches an enumeration's field with its value; in text, quotes are escaped, so it matches no content.
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
	t := table.NewWriter()
	t.SetOutputMirror(c.out)
	t.SetStyle(table.StyleLight)
	t.AppendHeader(header)
	return t
}

// printMemories prints entries as a table.
func (c *cli) printMemories(ms []*mnemev1.Memory) {
	t := c.table("kind", "memory", "speaker", "said", "when", "status", "v", "source turns", "id")
	t.SetColumnConfigs([]table.ColumnConfig{
		{Name: "memory", WidthMax: 64, WidthMaxEnforcer: text.WrapSoft}, {Name: "source turns", WidthMax: 20, WidthMaxEnforcer: text.WrapSoft},
	})
	for _, m := range ms {
		t.AppendRow(table.Row{
			kindName(m.GetKind()), printable(m.GetContent()), printable(m.GetSpeaker()), said(m), when(m), state(m), m.GetVersion(),
			printable(strings.Join(m.GetSourceTurnIds(), " ")), m.GetId(),
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
			turn.GetTime().AsTime().Format("2006-01-02 15:04"), printable(turn.GetSpeaker()), printable(turn.GetText()), printable(turn.GetTurnId()),
		})
	}
	t.Render()
}

func mapped(lines []string, f func(string) string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = f(l)
	}
	return out
}

// printable keeps control characters of users' text away from the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) { // Cf: what reorders or hides text
			return ' '
		}
		return r
	}, s)
}

func kindName(k mnemev1.Kind) string { return strings.ToLower(strings.TrimPrefix(k.String(), "KIND_")) }

func statusName(s mnemev1.Status) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "STATUS_"))
}

// state is an entry's state, with the reason of what is in quarantine.
func state(m *mnemev1.Memory) string {
	if m.GetStatus() == mnemev1.Status_STATUS_QUARANTINED {
		return "quarantined: " + printable(m.GetQuarantine())
	}
	return statusName(m.GetStatus())
}

// said is the day of the turn that the entry was said in.
func said(m *mnemev1.Memory) string {
	if m.GetValidFrom() == nil {
		return ""
	}
	return m.GetValidFrom().AsTime().Format(time.DateOnly)
}

// when is the entry's event time, as exactly as it is known.
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
