package traceview

import (
	"cmp"
	"container/list"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits bound a store. Both hold at once.
type Limits struct {
	// Spans is how many spans are kept.
	Spans int
	// Bytes is about how much memory they may take.
	Bytes int
}

// DefaultLimits suit a laptop.
func DefaultLimits() Limits { return Limits{Spans: 50_000, Bytes: 64 << 20} }

// Store keeps recent traces in memory. When it is full, the trace that has been quiet for longest
// goes. It is safe for concurrent use.
type Store struct {
	limits Limits

	mu     sync.Mutex
	traces map[string]*list.Element // of *kept
	order  *list.List               // quiet for longest first
	spans  int
	bytes  int
}

// kept is a trace in the store.
type kept struct {
	id      string
	spans   map[string]Span
	bytes   int
	dropped int
}

// NewStore makes an empty store.
func NewStore(limits Limits) *Store {
	return &Store{limits: limits, traces: make(map[string]*list.Element), order: list.New()}
}

// Add takes spans in any order. A span that is there already is replaced.
func (s *Store) Add(spans []Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, span := range spans {
		s.add(span)
	}
}

func (s *Store) add(span Span) {
	entry, ok := s.traces[span.TraceID]
	if !ok {
		entry = s.order.PushBack(&kept{id: span.TraceID, spans: make(map[string]Span)})
		s.traces[span.TraceID] = entry
	}
	s.order.MoveToBack(entry)
	t := entry.Value.(*kept)
	s.remove(t, span.ID)
	weight := span.weight()
	for s.spans+1 > s.limits.Spans || s.bytes+weight > s.limits.Bytes {
		oldest := s.order.Front()
		if oldest == entry { // this trace alone fills the store
			t.dropped++
			return
		}
		s.evict(oldest)
	}
	t.spans[span.ID] = span
	t.bytes += weight
	s.spans++
	s.bytes += weight
}

func (s *Store) remove(t *kept, spanID string) {
	before, ok := t.spans[spanID]
	if !ok {
		return
	}
	delete(t.spans, spanID)
	t.bytes -= before.weight()
	s.spans--
	s.bytes -= before.weight()
}

func (s *Store) evict(entry *list.Element) {
	t := entry.Value.(*kept)
	s.order.Remove(entry)
	delete(s.traces, t.id)
	s.spans -= len(t.spans)
	s.bytes -= t.bytes
}

// Size is how many traces and spans are held.
func (s *Store) Size() (traces, spans int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.traces), s.spans
}

// Trace returns a trace by its id in hexadecimal, and whether it is there.
func (s *Store) Trace(id string) (Trace, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry, ok := s.traces[strings.ToLower(id)]
	if !ok {
		return Trace{}, false
	}
	t := entry.Value.(*kept).snapshot()
	if len(t.Spans) == 0 {
		return Trace{}, false
	}
	t.LinkedFrom = s.linkedFrom(t.ID)
	return t, true
}

// linkedFrom looks through everything: links point backwards in time, so the trace that is linked
// to cannot know.
func (s *Store) linkedFrom(id string) []Incoming {
	var found []Incoming
	for entry := s.order.Front(); entry != nil; entry = entry.Next() {
		for _, span := range entry.Value.(*kept).spans {
			for _, link := range span.Links {
				if link.TraceID == id && span.TraceID != id {
					found = append(found, Incoming{To: link.SpanID, From: Link{span.TraceID, span.ID}, Service: span.Service, Name: span.Name, Start: span.Start})
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b Incoming) int {
		return cmp.Or(a.Start.Compare(b.Start), strings.Compare(a.From.SpanID, b.From.SpanID), strings.Compare(a.To, b.To))
	})
	return found
}

// Filter says which traces are wanted; the zero Filter takes the latest 100.
type Filter struct {
	// Text, in any case, must occur in a span's name, a service or the trace id; empty means any.
	Text string
	// Errors keeps only traces with a failed span.
	Errors bool
	// Limit is how many are returned; zero or less means 100.
	Limit int
}

const defaultListed = 100

// Traces lists traces, the latest start first.
func (s *Store) Traces(f Filter) []Summary {
	if f.Limit <= 0 {
		f.Limit = defaultListed
	}
	var found []Summary
	for _, t := range s.matching(f) {
		found = append(found, t.Summary())
	}
	slices.SortFunc(found, func(a, b Summary) int {
		return cmp.Or(b.Start.Compare(a.Start), strings.Compare(a.ID, b.ID))
	})
	return found[:min(len(found), f.Limit)]
}

func (s *Store) matching(f Filter) []Trace {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Trace
	for entry := s.order.Front(); entry != nil; entry = entry.Next() {
		if t := entry.Value.(*kept); t.matches(f) {
			found = append(found, t.snapshot())
		}
	}
	return found
}

func (t *kept) matches(f Filter) bool {
	text := strings.ToLower(f.Text)
	named, failed := strings.Contains(t.id, text), false
	for _, span := range t.spans {
		named = named || strings.Contains(strings.ToLower(span.Name), text) || strings.Contains(strings.ToLower(span.Service), text)
		failed = failed || span.Error
	}
	return len(t.spans) > 0 && named && (failed || !f.Errors)
}

func (t *kept) snapshot() Trace {
	out := Trace{ID: t.id, Dropped: t.dropped, Spans: make([]Span, 0, len(t.spans))}
	for _, span := range t.spans {
		out.Spans = append(out.Spans, span)
	}
	slices.SortFunc(out.Spans, bySpanStart)
	return out
}

func bySpanStart(a, b Span) int {
	return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(b.Duration, a.Duration), strings.Compare(a.ID, b.ID))
}

// Incoming is a link that points to a span of the trace.
type Incoming struct {
	// To is the span of this trace, From the one that links.
	To   string `json:"to"`
	From Link   `json:"from"`
	// Service, Name and Start are those of the linking span.
	Service string    `json:"service"`
	Name    string    `json:"name"`
	Start   time.Time `json:"start"`
}
