package traceview

import (
	"bytes"
	"hash/fnv"
	"html/template"
	"net/http"
	"strconv"
	"time"
)

// hues is the number of service colours in the style sheet.
const hues = 12

type pages struct{ list, trace *template.Template }

func parsePages() pages {
	functions := template.FuncMap{
		"human": human, "short": shortID, "hue": hue, "count": count,
		"clock": func(t time.Time) string { return t.Local().Format("15:04:05.000") },
		"date":  func(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000 MST") },
	}
	parse := func(page string) *template.Template {
		return template.Must(template.New("layout.html").Funcs(functions).ParseFS(assets, "assets/layout.html",
			"assets/"+page))
	}
	return pages{list: parse("list.html"), trace: parse("trace.html")}
}

// hue is the colour of a service, always the same.
func hue(service string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(service))
	return int(h.Sum32() % hues)
}

// listPage is the data of list.html. Base leads from the page to the viewer's root, so that the viewer may be mounted
// below a path.
type listPage struct {
	Base, Title string
	Filter      Filter
	Traces      []listRow
	Held        string
}

type listRow struct {
	Summary
	Width string // width of the bar, in percent of the longest
}

func (h *handler) list(w http.ResponseWriter, r *http.Request) {
	filter := filterOf(r)
	found := h.store.Traces(filter)
	traces, spans := h.store.Size()
	page := listPage{Title: "Traces", Filter: filter, Held: count(traces, "trace") + ", " + count(spans, "span") + " held"}
	longest := time.Duration(1)
	for _, sum := range found {
		longest = max(longest, sum.Duration)
	}
	for _, sum := range found {
		page.Traces = append(page.Traces, listRow{Summary: sum, Width: percent(sum.Duration, longest)})
	}
	render(w, http.StatusOK, h.pages.list, page)
}

// tracePage is the data of trace.html. Without Summary the trace does not exist.
type tracePage struct {
	Base, Title string
	Summary     *Summary
	Dropped     int
	Ticks       []tick
	Rows        []row
}

// tick is a mark on the time axis.
type tick struct{ Left, Text string }

// row is one span of the waterfall; Left, Width and Right are percent of the trace's duration.
type row struct {
	Node
	Left, Width, Right string
	After              time.Duration // from the start of the trace
	Indent             int
	Incoming           []Incoming
}

func (h *handler) trace(w http.ResponseWriter, r *http.Request) {
	t, ok := h.store.Trace(r.PathValue("id"))
	if !ok {
		render(w, http.StatusNotFound, h.pages.trace, tracePage{Base: "../", Title: "No such trace"})
		return
	}
	sum := t.Summary()
	total := max(sum.Duration, 1)
	page := tracePage{Base: "../", Title: sum.Name, Summary: &sum, Dropped: t.Dropped, Ticks: ticks(sum.Duration)}
	incoming := t.incoming()
	for _, node := range t.Nodes() {
		after := node.Start.Sub(sum.Start)
		page.Rows = append(page.Rows, row{
			Node: node, Left: percent(after, total), Width: percent(node.Duration, total),
			Right: percent(after+node.Duration, total),
			After: after, Indent: min(node.Depth, maxIndent), Incoming: incoming[node.ID],
		})
	}
	render(w, http.StatusOK, h.pages.trace, page)
}

func ticks(total time.Duration) []tick {
	const parts = 4
	marks := make([]tick, 0, parts)
	for i := range parts {
		text := "0"
		if i > 0 {
			text = human(total * time.Duration(i) / parts)
		}
		marks = append(marks, tick{Left: strconv.Itoa(100 * i / parts), Text: text})
	}
	return marks
}

func percent(part, whole time.Duration) string {
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 3, 64)
}

// render writes a whole page. If the template fails, it writes an error instead of an incomplete page.
func render(w http.ResponseWriter, status int, page *template.Template, data any) {
	var out bytes.Buffer
	if err := page.Execute(&out, data); err != nil {
		http.Error(w, "cannot render the page", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = out.WriteTo(w) // the client has gone
}
