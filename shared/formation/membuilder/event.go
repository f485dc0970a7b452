package membuilder

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/text"
)

// Bounds of an entry for a range of time.
const (
	// leastStems is how many words an event must have for an equal one to be its repetition.
	leastStems = 3
	// maxRangeBytes bounds the text; a further occasion becomes a separate entry.
	maxRangeBytes = 1 << 10
)

var (
	// datedNote is a date, bare or with a remark in brackets, as statements have it.
	datedNote = regexp.MustCompile(`\([^()]*\b\d{4}\b[^()]*\)|\b\d{4}(?:-\d{2}){0,2}\b(?: to \d{4}(?:-\d{2}){0,2})?:?`)
	// reported matches an event that was only said, asked or shown.
	reported = regexp.MustCompile(`\b(?:said|asked:|shares a photo)`)
)

// timeStems say when, or that it is not the first time; they make no other activity.
var timeStems = stems(append(text.CalendarWords(), "again", "another", "also", "noon"))

func stems(words []string) map[string]bool {
	out := map[string]bool{}
	for _, w := range words {
		out[text.Stem(w)] = true
	}
	return out
}

// mayRepeat reports whether a statement tells of one day that has come.
func mayRepeat(c formation.Candidate, said time.Time) bool {
	return c.Kind == memory.KindEpisodic && !c.Negates && c.EventTime.Precision == memory.PrecisionDay &&
		c.EventTime.End.IsZero() &&
		!c.EventTime.Time.After(said) && !reported.MatchString(c.Content)
}

// joined returns the text of an entry for a stored event and a repetition on a later day. Each occasion has its date
// and its original words. done is the candidate's activity. ok is false if it is uncertain that both are the same
// activity.
func joined(m memory.Memory, c formation.Candidate, done []string) (text string, ok bool) {
	last := m.EventTime.Time
	if !m.EventTime.End.IsZero() {
		last = m.EventTime.End
	}
	if m.EventTime.Precision != memory.PrecisionDay || !last.Before(c.EventTime.Time) || last.After(m.ValidFrom) ||
		reported.MatchString(m.Content) {
		return "", false
	}
	if len(done) < leastStems || !slices.Equal(activity(m.Content, m.ValidFrom), done) {
		return "", false
	}
	text = dated(m.Content, m.EventTime) + " " + dated(c.Content, c.EventTime)
	return text, len(text) <= maxRangeBytes
}

// dated puts the date in front of a text, if it is not there.
func dated(content string, when memory.EventTime) string {
	day := when.Time.Format(time.DateOnly)
	if strings.HasPrefix(content, day) {
		return content
	}
	return model.ShowEvent(memory.EventTime{Time: when.Time, Precision: when.Precision}) + ": " + content
}

// activity returns the activity without its time: the stems of a text without its dates, sorted.
func activity(said string, at time.Time) []string {
	said = datedNote.ReplaceAllString(said, " ")
	mentions := text.Dates(said, at)
	for _, m := range slices.Backward(mentions) {
		said = said[:m.Start] + " " + said[m.End:]
	}
	var out []string
	for s := range text.StemSet(said) {
		if !timeStems[s] {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}
