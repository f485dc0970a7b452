package traceview

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Deeper levels have no further indentation, so that lines stay readable.
const maxIndent = 40

// Tree writes a trace as indented text: name, service, duration, failures, and links in both directions. It escapes
// unprintable characters.
func Tree(t Trace) string {
	if len(t.Spans) == 0 {
		return fmt.Sprintf("trace %s: no spans\n", plain(t.ID))
	}
	var b strings.Builder
	sum := t.Summary()
	fmt.Fprintf(&b, "trace %s  %s  %s  [%s]", plain(t.ID), human(sum.Duration), count(sum.Spans, "span"),
		plain(strings.Join(sum.Services, ", ")))
	if sum.Errors > 0 {
		fmt.Fprintf(&b, "  %s", count(sum.Errors, "error"))
	}
	if t.Dropped > 0 {
		fmt.Fprintf(&b, "  %s not kept", count(t.Dropped, "span"))
	}
	b.WriteByte('\n')
	incoming := t.incoming()
	for _, node := range t.Nodes() {
		writeNode(&b, node, incoming[node.ID])
	}
	return b.String()
}

func writeNode(b *strings.Builder, node Node, incoming []Incoming) {
	indent := strings.Repeat("  ", min(node.Depth, maxIndent)+1)
	fmt.Fprintf(b, "%s%s  (%s)  %s%s", indent, plain(node.Name), plain(node.Service), human(node.Duration),
		plain(call(node.Span)))
	if node.Orphan {
		fmt.Fprintf(b, "  parent %s missing", plain(node.ParentID))
	}
	if node.Error {
		b.WriteString("  ERROR")
		if node.Message != "" {
			b.WriteString(": " + plain(node.Message))
		}
	}
	b.WriteByte('\n')
	for _, link := range node.Links {
		fmt.Fprintf(b, "%s  -> trace %s span %s\n", indent, plain(link.TraceID), plain(link.SpanID))
	}
	for _, in := range incoming {
		fmt.Fprintf(b, "%s  <- trace %s span %s  %s  (%s)\n",
			indent, plain(in.From.TraceID), plain(in.From.SpanID), plain(in.Name), plain(in.Service))
	}
}

// call describes the role and the cost of a model's call. It is empty for other spans.
func call(s Span) string {
	said := map[string]string{}
	for _, a := range s.Attributes {
		said[a.Key] = a.Value
	}
	role := said["mneme.llm.role"]
	if role == "" {
		return ""
	}
	out := "  " + role
	if said["mneme.llm.repair"] == "true" {
		out += ", repair"
	}
	if in := said["gen_ai.usage.input_tokens"]; in != "" {
		out += fmt.Sprintf(", %s tokens in, %s out", in, cmp.Or(said["gen_ai.usage.output_tokens"], "0"))
	}
	if n := said["mneme.llm.attempts"]; n != "" && n != "1" {
		out += ", " + n + " attempts"
	}
	return out
}

// incoming groups the links from other traces by the linked span.
func (t Trace) incoming() map[string][]Incoming {
	groups := make(map[string][]Incoming)
	for _, in := range t.LinkedFrom {
		groups[in.To] = append(groups[in.To], in)
	}
	return groups
}

// plain escapes the unprintable characters of a foreign text, so that it cannot control the terminal.
func plain(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// human writes a duration with three significant digits.
func human(d time.Duration) string {
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	n, unit := d.Seconds(), "s"
	for _, smaller := range []string{"ms", "µs", "ns"} {
		if n < 1 {
			n, unit = n*1000, smaller
		}
	}
	decimals := 2
	if unit == "ns" || n >= 100 {
		decimals = 0
	} else if n >= 10 {
		decimals = 1
	}
	return strconv.FormatFloat(n, 'f', decimals, 64) + " " + unit
}
