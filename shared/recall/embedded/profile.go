package embedded

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/text"
)

// Profiler writes profiles. It is safe for concurrent use.
type Profiler struct {
	splitter *text.Splitter
	choose   decision.Chooser
}

var _ recall.Profiler = (*Profiler)(nil)

// NewProfiler returns the profiler.
func NewProfiler() *Profiler { return &Profiler{text.NewSplitter(), decision.Rules{}} }

// Deciding returns the profiler with a chooser for the lines. A line of the core block always stays.
func (p *Profiler) Deciding(choose decision.Chooser) *Profiler { return &Profiler{p.splitter, choose} }

// Profile spends the budget on the most valuable text per word. The core block is first, with at most a third of
// the budget. Recent turns that no memory covers are next. Then comes each turn's best memory by rank. A long
// memory is cut to the sentences that the question asks for. Then come older helpful turns of the window. With the
// rest, by rank again, the memories are shown whole. The other memories of the same turn, and the rest of its
// words, come with them. The budget counts the words of the lines, including citations. An empty budget gives an
// empty profile. A line is left out as a whole, unless it is the only one and too long.
func (p *Profiler) Profile(ctx context.Context, _ memory.Scope, e recall.Evidence) (recall.Profile, error) {
	if err := ctx.Err(); err != nil {
		return recall.Profile{}, fmt.Errorf("write profile: %w", err)
	}
	w := writer{question: questionOf(e.Query), evidence: e, left: e.WordBudget, units: unitsOf(e.Memories),
		adding: map[string]bool{}}
	w.split = func(s string) []string { return sentences(p.splitter, s) }
	for _, s := range e.Standing() {
		w.standing = append(w.standing, s.Memory)
	}
	w.findNewer()
	w.addCore()
	w.addRecent(justSaid)
	w.addHeads(func(u *unit) bool { return p.shows(u, e) })
	if current := slices.IndexFunc(w.units, w.isCurrent); len(w.cited) == 0 && current >= 0 {
		w.cut(&w.units[current])
	}
	w.addRecent(helpful)
	for i := range w.units {
		w.addDetail(&w.units[i])
	}
	w.number()
	return recall.Profile{Sections: w.sections(), Cited: w.cited}, nil
}

// exploredRank is the rank at which the explored memory has its words of the budget.
const exploredRank = 4

// addHeads adds each turn's best memory, by rank, after the newer memories of the core block. The explored memory has
// the words of the fifth, so that its citation can be learned from.
func (w *writer) addHeads(shows func(*unit) bool) {
	add := func(u *unit) {
		if u.head == nil && shows(u) { // nor is it in the core block
			w.addHead(u)
		}
	}
	for _, m := range w.standing {
		if w.isCited(m.ID) {
			w.addNewer(m)
		}
	}
	for i := range w.units {
		if i == exploredRank {
			switch u, place := w.find(w.evidence.Explored); {
			case u == nil:
			case place == 0:
				add(u)
			case !w.isCited(w.evidence.Explored) && shows(u):
				w.addMember(w.evidence.Explored)
			}
		}
		add(&w.units[i])
	}
}

// showOdds are the log-odds of a line without a policy: everything that fits has one.
const showOdds = 3

// shows reports whether a turn's memories have lines.
func (p *Profiler) shows(u *unit, e recall.Evidence) bool {
	m, has := u.members[0], map[bool]float64{true: 1}
	return decision.Either(p.choose, decision.Profile, showOdds, func() []float64 {
		return []float64{
			1, float64(u.rank) / 10, e.Support / 5, float64(countWords(m.Content)) / 20, has[m.Kind == memory.KindEpisodic],
			has[m.Kind == memory.KindPreference],
		}
	})
}

// number numbers the best memories of all turns first, by rank, and then the others. So the first numbers are one
// per turn.
func (w *writer) number() {
	var numbered []*line
	for _, l := range w.lines {
		if l.number > 0 {
			numbered = append(numbered, l)
		}
	}
	slices.SortStableFunc(numbered, func(a, b *line) int {
		return cmp.Or(
			cmp.Compare(min(a.place, 1), min(b.place, 1)), cmp.Compare(a.rank, b.rank), cmp.Compare(a.place, b.place),
		)
	})
	cited := make([]memory.Memory, len(numbered))
	for i, l := range numbered {
		cited[i] = w.cited[l.number-1]
		l.number = i + 1
	}
	w.cited = cited
}

// writer fills the budget of one profile.
type writer struct {
	question question
	evidence recall.Evidence
	split    func(string) []string
	left     int
	units    []unit
	cited    []memory.Memory
	lines    []*line
	// indexes are the indexes of the evidence's memories, built at first use.
	indexes []map[string]bool
	// standing are the memories behind the core block.
	standing []memory.Memory
	// newer finds the memories that link to a memory. adding has the memories that wait for the lines of newer ones.
	newer  memory.Newer[memory.Memory]
	adding map[string]bool
	// recent are the places in the window that have a line.
	recent []int
}

// line is one line with its sort keys.
type line struct {
	section string
	text    string
	// rank is the place of a memory's turn, or of a turn of the window.
	rank int
	// place is the memory's rank within its turn: 0 for the best.
	place int
	// number is the citation; 0 for none.
	number int
	event  memory.EventTime
}

// whole is the line as it is shown.
func (l *line) whole() string {
	if l.number == 0 {
		return l.text
	}
	return l.text + " " + recall.Mark(l.number)
}

// when is the sort key of the timeline. The other sections are not sorted by it.
func (l *line) when() time.Time {
	if l.section != SectionTimeline {
		return time.Time{}
	}
	return l.event.Time
}

// addLine adds a memory of a turn with this text if it fits, and returns its line. The newer memories that may correct
// it have their lines first. Without room for them, it adds no line.
func (w *writer) addLine(u *unit, place int, text string) *line {
	if !w.addNewer(u.members[place]) {
		return nil
	}
	return w.place(u, place, text)
}

// place adds a memory of a turn with this text if it fits, and returns its line. A fact or event stands
// beside one that it is linked to.
func (w *writer) place(u *unit, place int, text string) *line {
	m := u.members[place]
	l := &line{
		section: SectionOf(m, w.evidence.Owner), text: text, rank: u.rank, place: place, number: len(w.cited) + 1,
		event: m.EventTime,
	}
	n := countWords(l.whole())
	if n > w.left {
		return nil
	}
	if lead := w.lineBefore(m); lead != nil && isPlain(lead.section) && isPlain(l.section) {
		l.section, l.event = lead.section, lead.event
	}
	w.left -= n
	w.cited = append(w.cited, m)
	w.lines = append(w.lines, l)
	return l
}

// lineBefore returns the first line of a linked memory, or nil without one.
func (w *writer) lineBefore(m memory.Memory) *line {
	i := slices.IndexFunc(w.lines, func(l *line) bool {
		if l.number == 0 {
			return false
		}
		other := w.cited[l.number-1]
		return slices.Contains(m.Links, other.ID) || slices.Contains(other.Links, m.ID)
	})
	if i < 0 {
		return nil
	}
	return w.lines[i]
}

// addHead adds a turn's best memory.
func (w *writer) addHead(u *unit) {
	m := u.members[0]
	if u.rank >= wholeRanks {
		u.shown = w.abridge(recall.Plain(m.Content))
		u.head = w.addLine(u, 0, w.dressed(m, u.shown))
		return
	}
	u.shown = recall.Plain(m.Content)
	if u.head = w.addLine(u, 0, w.dressed(m, u.shown)); u.head != nil {
		w.addSiblings(u)
	}
}

// cut adds the beginning of a memory that alone is longer than the whole budget.
func (w *writer) cut(u *unit) {
	m := u.members[0]
	words := text.Pieces(recall.Plain(m.Content))
	room := w.left - 1 - countWords(w.dressed(m, "…")) // less the citation, and the text around the memory
	if room < 1 || len(words) <= room {
		return
	}
	w.addLine(u, 0, w.dressed(m, strings.Join(words[:room], "")+" …"))
}

// addDetail shows the rest of a turn after its best memory.
func (w *writer) addDetail(u *unit) {
	if u.head == nil {
		return
	}
	m := u.members[0]
	if full := recall.Plain(m.Content); full != u.shown && w.rewrite(u.head, w.dressed(m, full)) {
		u.shown = full
	}
	w.addSiblings(u)
	if quote := u.quote(w); quote != "" {
		w.rewrite(u.head, u.head.text+" "+quote)
	}
}

// addSiblings adds the other memories of a turn.
func (w *writer) addSiblings(u *unit) {
	for i, m := range u.members[1:] {
		text := recall.Plain(m.Content)
		if !u.stated[m.ID] && w.addLine(u, i+1, w.dressed(m, text)) != nil {
			u.stated[m.ID] = true
		}
	}
}

// rewrite gives a line another text if it fits.
func (w *writer) rewrite(l *line, text string) bool {
	more := countWords(text) - countWords(l.text)
	if more > w.left {
		return false
	}
	w.left -= more
	l.text = text
	return true
}

func countWords(s string) int { return text.CountWords(s) }

// sections returns the sections with lines. For a question about time, the timeline is first.
func (w *writer) sections() []recall.Section {
	order := sectionOrder
	if w.question.when {
		order = append([]string{SectionTimeline}, slices.DeleteFunc(slices.Clone(order), isTimeline)...)
	}
	slices.SortStableFunc(w.lines, func(a, b *line) int {
		return cmp.Or(
			cmp.Compare(a.section, b.section),
			a.when().Compare(b.when()),
			cmp.Compare(a.rank, b.rank),
			cmp.Compare(a.place, b.place),
		)
	})
	w.putNewerFirst()
	var out []recall.Section
	for _, name := range order {
		s := recall.Section{Name: name}
		for _, l := range w.lines {
			if l.section == name {
				s.Lines = append(s.Lines, l.whole())
			}
		}
		if len(s.Lines) > 0 {
			out = append(out, s)
		}
	}
	return out
}
