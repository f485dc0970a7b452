// Package traceview is a small trace viewer for a laptop. It has an OTLP/HTTP receiver, a bounded store in memory,
// pages that work without scripts, and traces as text. It does not replace a tracing system, because its traces end
// with the process.
//
// Names and attributes come from the senders. Pages escape them, and texts quote unprintable characters.
package traceview

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// DefaultSpans is the number of spans for a laptop.
const DefaultSpans = 20_000

// Store keeps recent traces in memory, and saves them if Open made it. A full store removes the trace with the oldest
// last span. It is safe for concurrent use.
type Store struct {
	limit int       // in spans
	saved *spanFile // nil keeps spans in memory only

	mu     sync.Mutex
	traces map[string]*kept
	spans  int
	added  int // counts all spans ever added
}

// kept is a trace in the store.
type kept struct {
	spans   map[string]Span
	dropped int
	touched int // Store.added at the trace's last span
}

// NewStore returns an empty store for at most the given number of spans.
func NewStore(spans int) *Store { return &Store{limit: spans, traces: make(map[string]*kept)} }

// Close closes the files of a store from Open.
func (s *Store) Close() error {
	if s.saved == nil {
		return nil
	}
	return s.saved.close()
}

// Add adds spans in any order. It replaces an existing span. Its error says that a store from Open could not save
// them.
func (s *Store) Add(spans []Span) error {
	s.keep(spans)
	if s.saved == nil {
		return nil
	}
	return s.saved.add(spans)
}

func (s *Store) keep(spans []Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, span := range spans {
		t := s.traces[span.TraceID]
		if t == nil {
			t = &kept{spans: make(map[string]Span)}
			s.traces[span.TraceID] = t
		}
		s.added++
		t.touched = s.added
		if _, resent := t.spans[span.ID]; !resent {
			if !s.makeRoom(t) {
				t.dropped++
				continue
			}
			s.spans++
		}
		t.spans[span.ID] = span
	}
}

// makeRoom removes the quietest traces until another span fits. False means that one trace alone fills the store.
func (s *Store) makeRoom(keep *kept) bool {
	for s.spans >= s.limit {
		var quietest string
		for id, t := range s.traces {
			if t != keep && (quietest == "" || t.touched < s.traces[quietest].touched) {
				quietest = id
			}
		}
		if quietest == "" {
			return false
		}
		s.spans -= len(s.traces[quietest].spans)
		delete(s.traces, quietest)
	}
	return true
}

// all returns all spans, trace by trace, in the order of the traces' last spans.
func (s *Store) all() []Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Span
	for _, t := range slices.SortedFunc(maps.Values(s.traces), func(a, b *kept) int {
		return cmp.Compare(a.touched, b.touched)
	}) {
		out = append(out, slices.Collect(maps.Values(t.spans))...)
	}
	return out
}

// Size returns the numbers of stored traces and spans.
func (s *Store) Size() (traces, spans int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.traces), s.spans
}

// Trace returns a trace by its id in hexadecimal, and whether it exists.
func (s *Store) Trace(id string) (Trace, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id = strings.ToLower(id)
	t := s.traces[id]
	if t == nil || len(t.spans) == 0 {
		return Trace{}, false
	}
	out := t.snapshot(id)
	out.LinkedFrom = s.linkedFrom(id)
	return out, true
}

// linkedFrom searches all traces. Links point backwards in time, so a linked trace cannot contain them.
func (s *Store) linkedFrom(id string) []Incoming {
	var found []Incoming
	for from, t := range s.traces {
		for _, span := range t.spans {
			for _, link := range span.Links {
				if link.TraceID == id && from != id {
					found = append(found, Incoming{
						To: link.SpanID, From: Link{from, span.ID}, Service: span.Service, Name: span.Name, Start: span.Start,
					})
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b Incoming) int {
		return cmp.Or(a.Start.Compare(b.Start), strings.Compare(a.From.SpanID, b.From.SpanID), strings.Compare(a.To, b.To))
	})
	return found
}

// Filter selects traces. The zero Filter selects the latest 100.
type Filter struct {
	// Text, in any case, must occur in a span's name, a service or the trace id; empty means any.
	Text string
	// Errors keeps only traces with a failed span.
	Errors bool
	// Limit is the highest number of traces. Zero or less means 100.
	Limit int
}

const defaultListed = 100

// Traces lists traces, the latest start first.
func (s *Store) Traces(f Filter) []Summary {
	if f.Limit <= 0 {
		f.Limit = defaultListed
	}
	found := []Summary{}
	s.mu.Lock()
	for id, t := range s.traces {
		if t.matches(id, f) {
			found = append(found, t.snapshot(id).Summary())
		}
	}
	s.mu.Unlock()
	slices.SortFunc(found, func(a, b Summary) int {
		return cmp.Or(b.Start.Compare(a.Start), strings.Compare(a.ID, b.ID))
	})
	return found[:min(len(found), f.Limit)]
}

func (t *kept) matches(id string, f Filter) bool {
	text := strings.ToLower(f.Text)
	named, failed := strings.Contains(id, text), false
	for _, span := range t.spans {
		named = named || strings.Contains(strings.ToLower(span.Name), text) ||
			strings.Contains(strings.ToLower(span.Service), text)
		failed = failed || span.Error
	}
	return len(t.spans) > 0 && named && (failed || !f.Errors)
}

func (t *kept) snapshot(id string) Trace {
	return Trace{ID: id, Dropped: t.dropped, Spans: slices.SortedFunc(maps.Values(t.spans), func(a, b Span) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(b.Duration, a.Duration), strings.Compare(a.ID, b.ID))
	})}
}

// Incoming is a link that points to a span of the trace.
type Incoming struct {
	// To is the linked span of this trace. From is the linking span.
	To   string `json:"to"`
	From Link   `json:"from"`
	// Service, Name and Start describe the linking span.
	Service string    `json:"service"`
	Name    string    `json:"name"`
	Start   time.Time `json:"start"`
}
