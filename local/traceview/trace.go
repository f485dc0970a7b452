package traceview

import (
	"slices"
	"time"
)

// Trace holds the stored spans of one trace.
type Trace struct {
	ID string `json:"trace_id"`
	// Spans are sorted by start, longer ones first, then by id.
	Spans []Span `json:"spans"`
	// Dropped is the number of spans that did not fit into the store.
	Dropped int `json:"dropped,omitempty"`
	// LinkedFrom holds the links from other traces to this one.
	LinkedFrom []Incoming `json:"linked_from,omitempty"`
}

// Summary is one line about a trace.
type Summary struct {
	ID string `json:"trace_id"`
	// Name and Service come from the first root.
	Name    string `json:"name"`
	Service string `json:"service"`
	// Services are all participating services, sorted.
	Services []string      `json:"services"`
	Start    time.Time     `json:"start"`
	Duration time.Duration `json:"duration_ns"`
	Spans    int           `json:"spans"`
	Errors   int           `json:"errors"`
}

// Node is a span at its place in the tree.
type Node struct {
	Span
	// Depth is 0 for a root.
	Depth int
	// Orphan says that the span's parent is not (yet) in the store. The span then counts as a root.
	Orphan bool
}

// Summary returns the trace's summary. The trace must have at least one span.
func (t Trace) Summary() Summary {
	root := t.Nodes()[0]
	start, end := t.extent()
	sum := Summary{ID: t.ID, Name: root.Name, Service: root.Service, Start: start, Duration: end.Sub(start),
		Spans: len(t.Spans)}
	for _, span := range t.Spans {
		sum.Services = append(sum.Services, span.Service)
		if span.Error {
			sum.Errors++
		}
	}
	slices.Sort(sum.Services)
	sum.Services = slices.Compact(sum.Services)
	return sum
}

func (t Trace) extent() (start, end time.Time) {
	for i, span := range t.Spans {
		if i == 0 || span.Start.Before(start) {
			start = span.Start
		}
		if i == 0 || span.end().After(end) {
			end = span.end()
		}
	}
	return start, end
}

// Nodes lists every span once, parents before their children, true roots before orphans. In a circle of parents, the
// earliest span comes first.
func (t Trace) Nodes() []Node {
	here := make(map[string]bool, len(t.Spans))
	for _, span := range t.Spans {
		here[span.ID] = true
	}
	children := make(map[string][]Span)
	var roots, orphans []Node
	for _, span := range t.Spans {
		switch {
		case span.ParentID == "":
			roots = append(roots, Node{Span: span})
		case !here[span.ParentID]:
			orphans = append(orphans, Node{Span: span, Orphan: true})
		default:
			children[span.ParentID] = append(children[span.ParentID], span)
		}
	}
	w := walker{children: children, seen: make(map[string]bool, len(t.Spans))}
	for _, node := range append(roots, orphans...) {
		w.descend(node)
	}
	for _, span := range t.Spans {
		w.descend(Node{Span: span, Orphan: true}) // only spans in circles remain
	}
	return w.nodes
}

type walker struct {
	children map[string][]Span
	seen     map[string]bool
	nodes    []Node
}

// descend lists a node with its descendants. It does not use recursion, because a chain of spans may be long.
func (w *walker) descend(from Node) {
	stack := []Node{from}
	for len(stack) > 0 {
		node := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if w.seen[node.ID] {
			continue
		}
		w.seen[node.ID] = true
		w.nodes = append(w.nodes, node)
		for _, child := range slices.Backward(w.children[node.ID]) {
			stack = append(stack, Node{Span: child, Depth: node.Depth + 1})
		}
	}
}

// shortID is a prefix of an id, long enough for a reader to distinguish traces.
func shortID(id string) string { return id[:min(len(id), 8)] }
