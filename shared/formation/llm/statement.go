package llm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

// Bounds of a model's output, in bytes or items.
const (
	maxContentBytes = 4 << 10
	maxNameBytes    = 128
	maxKeywords     = 12
)

// Statement is one thing that an extractor found said. Strategies embed it in their answers.
type Statement struct {
	structured.Item
	Sources        []string `json:"sources" desc:"ids of the turns it comes from"`
	Kind           string   `json:"kind" enum:"fact|preference|episodic|semantic|procedural"`
	Content        string   `json:"content" desc:"self-contained statement in the third person"`
	Topic          string   `json:"topic,omitempty" desc:"one or two words"`
	Slot           string   `json:"slot,omitempty" desc:"who/attribute for what has one value at a time, else empty"`
	Keywords       []string `json:"keywords,omitempty"`
	EventDate      string   `json:"event_date,omitempty" desc:"YYYY-MM-DD, YYYY-MM, YYYY or empty"`
	EventPrecision string   `json:"event_precision,omitempty" enum:"day|week|month|year|none"`
	EventWords     string   `json:"event_words,omitempty" desc:"the speaker's words for the time, or empty"`
	Negates        bool     `json:"negates,omitempty"`
}

// Extract asks for the statements of turns. A is the role's answer. of returns its list, and whether the model states
// that there is nothing. Only this statement makes an empty result; every other answer without a list is a fault. read
// is as in candidates. Without turns, Extract makes no call, whatever the context.
func Extract[A, S any](ctx context.Context, r Role, in formation.Session, of func(A) (nothing bool, said []S),
	read func(S) (formation.Candidate, int, error),
) ([]formation.Candidate, error) {
	if len(in.Turns) == 0 {
		return nil, nil
	}
	data := struct {
		Known   []ShownKnown   `json:"known,omitempty"`
		Context []ShownContext `json:"context,omitempty"`
		Turns   []ShownTurn    `json:"turns"`
	}{ShowKnown(in.Known), ShowContext(in.Context, in.Turns), ShowTurns(in.Turns)}
	return Ask(ctx, r, in.Scope, data, len(in.Turns), func(a A) ([]formation.Candidate, error) {
		nothing, said := of(a)
		if err := CheckNothing(nothing, len(said)); err != nil {
			return nil, err
		}
		return candidates(said, read)
	})
}

// candidates reads a list of statements in the strategy's form, and returns them in order of their first source. read
// returns the candidate and the position of its first source, as Statement.Candidate does. A fault of one statement
// affects only that statement, if the statement names at least its turns. The error is then one of structured.Partly,
// and the candidate has a Fault.
func candidates[S any](statements []S, read func(S) (formation.Candidate, int, error)) ([]formation.Candidate, error) {
	type placed struct {
		first int
		formation.Candidate
	}
	var found []placed
	var refusals Refusals
	for i, s := range statements {
		c, first, err := read(s)
		if err != nil {
			refusals.Refuse("memory "+strconv.Itoa(i+1), c.Sources, err)
			c = formation.Candidate{Sources: c.Sources, Fault: err.Error()}
		} else {
			refusals.Take()
		}
		found = append(found, placed{first, c})
	}
	slices.SortStableFunc(found, func(a, b placed) int { return cmp.Compare(a.first, b.first) })
	out := make([]formation.Candidate, len(found))
	for i, p := range found {
		out[i] = p.Candidate
	}
	err := refusals.Err()
	if err != nil && !structured.IsPartly(err) {
		return nil, err
	}
	return out, err
}

// CheckNothing holds an extractor's claim that there is nothing worth keeping against the number of things it found.
func CheckNothing(nothing bool, found int) error {
	switch {
	case nothing && found > 0:
		return structured.Faultf("\"nothing\" is true, yet there are memories")
	case !nothing && found == 0:
		return structured.Faultf("there are no memories; if nothing is worth keeping, set \"nothing\" to true")
	}
	return nil
}

// Candidate checks the statement and returns it with the ids of its turns; first is the position of the earliest. If
// the turns are correct and another field is wrong, the returned candidate has the turns together with the error.
func (s Statement) Candidate(turns []memory.Turn) (c formation.Candidate, first int, err error) {
	said, err := Positions(s.Sources, len(turns))
	if err != nil {
		return c, 0, err
	}
	for _, i := range said {
		c.Sources = append(c.Sources, turns[i].ID)
	}
	if err := s.Misfit(); err != nil {
		return c, said[0], err
	}
	content, err := CheckContent(s.Content)
	if err != nil {
		return c, said[0], err
	}
	if err := checkNames(s.Topic, s.Slot, s.EventWords); err != nil {
		return c, said[0], err
	}
	event, err := ParseEventTime(s.EventDate, s.EventPrecision)
	if err != nil {
		return c, said[0], err
	}
	c = formation.Candidate{
		Sources: c.Sources, Kind: memory.Kind(s.Kind), Content: content, Topic: strings.TrimSpace(s.Topic),
		Slot: strings.ToLower(strings.TrimSpace(s.Slot)), Keywords: Keywords(s.Keywords), EventTime: event,
		Negates: s.Negates,
	}
	if words := strings.TrimSpace(s.EventWords); !event.Time.IsZero() && WereSaid(words, turns, said) {
		c.EventTime.Expression = words
	}
	return c, said[0], nil
}

// CheckContent trims a statement and holds it against the bounds.
func CheckContent(s string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxContentBytes || strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
		return "", structured.Faultf("content: want a statement of 1 to %d bytes", maxContentBytes)
	}
	return s, nil
}

// checkNames holds the short fields against their bounds.
func checkNames(topic, slot, words string) error {
	for _, f := range []struct{ name, value string }{{"topic", topic}, {"slot", slot}, {"event_words", words}} {
		if len(f.value) > maxNameBytes || strings.ContainsRune(f.value, 0) {
			return structured.Faultf("%s: want at most %d bytes of text", f.name, maxNameBytes)
		}
	}
	return nil
}

// Keywords drops blanks, repetitions and excess words; this loses no statement.
func Keywords(in []string) []string {
	var out []string
	for _, k := range in {
		k = strings.TrimSpace(k)
		if k != "" && len(k) <= maxNameBytes && !strings.ContainsRune(k, 0) && !slices.Contains(out, k) &&
			len(out) < maxKeywords {
			out = append(out, k)
		}
	}
	return out
}

// ParseEventTime reads a date with its precision. It cuts a date that is more exact than its precision; a less exact
// date is a fault. Any day of a week names the week, which begins on Monday.
func ParseEventTime(date, precision string) (memory.EventTime, error) {
	date = strings.TrimSpace(date)
	if date == "" {
		if precision != "" && precision != "none" {
			return memory.EventTime{}, structured.Faultf("event_precision is %s without an event_date", precision)
		}
		return memory.EventTime{}, nil
	}
	layout := map[string]string{"day": time.DateOnly, "week": time.DateOnly, "month": "2006-01", "year": "2006"}[precision]
	if layout == "" {
		return memory.EventTime{}, structured.Faultf("event_date has no event_precision; want day, week, month or year")
	}
	if len(date) > len(time.DateOnly) || len(date) < len(layout) {
		return memory.EventTime{}, structured.Faultf("event_date does not fit event_precision %s; want %s", precision,
			layoutHint(precision))
	}
	t, err := time.Parse(layout, date[:len(layout)])
	if err != nil || t.Year() < 1 {
		return memory.EventTime{}, structured.Faultf("event_date is no date; want %s", layoutHint(precision))
	}
	if precision == "week" {
		monday := t.AddDate(0, 0, -(int(t.Weekday())+6)%7)
		return memory.EventTime{Time: monday, End: monday.AddDate(0, 0, 6), Precision: memory.PrecisionDay}, nil
	}
	return memory.EventTime{Time: t, Precision: memory.Precision(precision)}, nil
}

func layoutHint(precision string) string {
	return map[string]string{"day": "YYYY-MM-DD", "week": "YYYY-MM-DD", "month": "YYYY-MM", "year": "YYYY"}[precision]
}

// Refusals are what of an answer is wrong, part by part. The zero value is ready.
type Refusals struct {
	// Failed are the wrong parts with known turns.
	Failed []formation.Failure

	faults []string
	taken  int  // parts that are right
	lost   bool // something is wrong whose turns are not known
}

// Take notes a part that is right.
func (r *Refusals) Take() { r.taken++ }

// Refuse records a wrong part: its name ("operation 2"), its source turns (empty if unknown), and the fault.
func (r *Refusals) Refuse(which string, sources []string, why error) {
	r.faults = append(r.faults, fmt.Sprintf("%s: %v", which, why))
	if len(sources) == 0 {
		r.lost = true
		return
	}
	r.Failed = append(r.Failed, formation.Failure{Sources: sorted(sources), Reason: why.Error()})
}

// Err returns all faults, or nil without faults. It is an error of structured.Partly where other parts are correct and
// the turns of the wrong parts are known. The correct parts then count if the model's repair does no better.
func (r *Refusals) Err() error {
	if len(r.faults) == 0 {
		return nil
	}
	err := structured.Faultf("%s", strings.Join(r.faults, "; "))
	if r.taken > 0 && !r.lost {
		return structured.Partly(err, r.taken)
	}
	return err
}
