package embedded

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/recall"
)

// Names of the sections.
const (
	SectionCore        = "core"
	SectionConstraints = "constraints"
	SectionPreferences = "preferences"
	SectionRecent      = "recent"
	SectionTimeline    = "timeline"
)

// Profiler writes profiles. It is safe for concurrent use.
type Profiler struct{}

var _ recall.Profiler = (*Profiler)(nil)

// NewProfiler returns the profiler.
func NewProfiler() *Profiler { return &Profiler{} }

// Profile gives the budget to the memories in the order of their rank, and what is left to the
// window. The budget counts the words of the lines, citations included; a budget of nothing
// gives an empty profile. A line is left out as a whole, unless it is the only one and too long. The core block comes first, with at most
// a third of the budget.
func (p *Profiler) Profile(ctx context.Context, _ memory.Scope, e recall.Evidence) (recall.Profile, error) {
	if err := ctx.Err(); err != nil {
		return recall.Profile{}, fmt.Errorf("write profile: %w", err)
	}
	w := writer{question: readQuestion(e.Query), evidence: e, left: e.WordBudget, lines: map[string][]line{}}
	w.addCore()
	for _, m := range e.Memories {
		w.add(m)
	}
	if len(w.cited) == 0 && len(e.Memories) > 0 {
		w.cut(e.Memories[0])
	}
	w.addRecent()
	return recall.Profile{Sections: w.sections(), Cited: w.cited}, nil
}

// writer fills the budget of one profile.
type writer struct {
	question question
	evidence recall.Evidence
	left     int
	cited    []memory.Memory
	lines    map[string][]line
}

// line is one line with what it is sorted by.
type line struct {
	text  string
	event memory.EventTime
}

func sectionOf(kind memory.Kind) string {
	switch kind {
	case memory.KindPreference:
		return SectionPreferences
	case memory.KindEpisodic:
		return SectionTimeline
	}
	return SectionConstraints
}

// body returns a memory as a line without its citation.
func body(m memory.Memory) string {
	text := strings.Join(strings.Fields(m.Content), " ") + validity(m)
	if date := dateOf(m.EventTime); date != "" && m.Kind == memory.KindEpisodic && !strings.HasPrefix(text, date) {
		return date + ": " + text
	}
	return text
}

func citation(number int) string { return " [" + strconv.Itoa(number) + "]" }

// add adds a memory if it fits, and not when it is there already.
func (w *writer) add(m memory.Memory) {
	if slices.ContainsFunc(w.cited, func(c memory.Memory) bool { return c.ID == m.ID }) {
		return
	}
	w.put(m, body(m))
}

func (w *writer) put(m memory.Memory, text string) {
	text += citation(len(w.cited) + 1)
	n := countWords(text)
	if n > w.left {
		return
	}
	w.left -= n
	w.cited = append(w.cited, m)
	section := sectionOf(m.Kind)
	w.lines[section] = append(w.lines[section], line{text: text, event: m.EventTime})
}

// cut adds the beginning of a memory that alone is longer than the whole budget.
func (w *writer) cut(m memory.Memory) {
	words := strings.Fields(body(m))
	room := w.left - 2 // the ellipsis and the citation
	if room < 1 || len(words) <= room {
		return
	}
	w.put(m, strings.Join(words[:room], " ")+" …")
}

func countWords(s string) int { return len(strings.Fields(s)) }

// sections returns the sections that have lines, the timeline first where time is asked for.
func (w *writer) sections() []recall.Section {
	order := []string{SectionCore, SectionConstraints, SectionPreferences, SectionRecent, SectionTimeline}
	if w.question.when {
		order = []string{SectionTimeline, SectionCore, SectionConstraints, SectionPreferences, SectionRecent}
	}
	timeline := w.lines[SectionTimeline]
	slices.SortStableFunc(timeline, func(a, b line) int { return a.event.Time.Compare(b.event.Time) })
	var out []recall.Section
	for _, name := range order {
		if len(w.lines[name]) == 0 {
			continue
		}
		s := recall.Section{Name: name}
		for _, l := range w.lines[name] {
			s.Lines = append(s.Lines, l.text)
		}
		out = append(out, s)
	}
	return out
}
