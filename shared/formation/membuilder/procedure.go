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

// Patterns of a procedure. The first is an occasion with the speaker's action ("When I can't sleep, I read", "I warm up
// before I run"). The others are steps with or without a purpose, a numbered list, and a means ("I make tea by ...").
var (
	// opening words begin an occasion before the action; inner words begin one after the action.
	opening = text.WordSet("when whenever if before after once every each")
	inner   = text.WordSet("when whenever before after")
	// doers are who does it.
	doers = text.WordSet("i we")
	// being words after a subject describe a state, not an action.
	being = text.WordSet("am are be feel")
	// heading matches the subject of a list of steps, as in "My recipe for pancakes: ..."; purpose matches the purpose
	// in a sentence.
	heading = regexp.MustCompile(`^([^:.!]{3,80}): `)
	purpose = regexp.MustCompile(`^(?:To|In order to) ([^,]{3,80}?)(?:,| I\b| we\b)`)
	means   = regexp.MustCompile(`^(?:I|We) ([^,]{3,80}?) by \p{L}+ing\b`)
	// step is the mark of one step among others.
	step = regexp.MustCompile(`(?i)\b(?:first|second|then|next(?:,| I\b| we\b)|after that|afterwards|finally|lastly|` +
		`(?:start|begin)s? (?:by|with)|\d[.)] )`)
	// ending is where the first sentence ends.
	ending = regexp.MustCompile(`[.!;] `)
	// shown matches shown content instead of speech: a photo, code.
	shown = regexp.MustCompile(`\[[^\]]*\]`)
	// notDone matches wishes and single occasions, which are not habits.
	notDone = regexp.MustCompile(`(?i)\?|\b(?:will|i'll|we'll|would|wants?|hopes?|wish(?:es)?|plans?|might|should|could|used to|` +
		`yesterday|tomorrow|was|were|had|did|said|asked|told|tell|know)\b`)
)

const (
	// procedureMark stands in the slots of procedures.
	procedureMark = "/procedure:"
	// maxKeyStems bounds the name of a procedure.
	maxKeyStems = 6
	// leastSteps is how many marked steps are a procedure.
	leastSteps = 2
)

func isProcedure(slot string) bool { return strings.Contains(slot, procedureMark) }

// procedureOf reports whether a statement describes how its speaker does a task. It returns the slot of a task in
// steps, which names the purpose of the steps. An action on an occasion has no slot: a person may do many things when
// they travel. The judge decides which of these replace each other.
func procedureOf(c formation.Candidate, t memory.Turn) (slot string, ok bool) {
	lasting := c.Kind == memory.KindFact || c.Kind == memory.KindProcedural
	if t.Role == memory.RoleAssistant || !lasting || notDone.MatchString(c.Content) {
		return "", false
	}
	said := shown.ReplaceAllString(c.Content, "")
	matter, ok := stepsOf(said)
	if !ok {
		return "", onOccasion(ending.Split(said, 2)[0])
	}
	speaker := strings.ToLower(text.OneLine(t.Speaker))
	stems := text.ContentStems(matter)
	stems = slices.DeleteFunc(stems, func(s string) bool { return s == text.Stem(speaker) })
	if len(stems) == 0 {
		return "", true
	}
	return speaker + procedureMark + strings.Join(stems[:min(len(stems), maxKeyStems)], " "), true
}

// onOccasion reports whether a text states an action that a person repeats on an occasion.
func onOccasion(said string) bool {
	words := text.Words(said)
	if len(words) == 0 {
		return false
	}
	if !opening[words[0].Lower] {
		i := slices.IndexFunc(words, func(w text.Word) bool { return inner[w.Lower] })
		return i > 0 && i < len(words)-1 && doers[words[0].Lower] && does(words[:i])
	}
	for i := 2; i < len(words); i++ {
		if doers[words[i].Lower] || strings.Contains(said[words[i-1].End:words[i].Start], ",") {
			return does(words[i:])
		}
	}
	return false
}

// does reports whether words have a person with an action.
func does(words []text.Word) bool {
	i := slices.IndexFunc(words, func(w text.Word) bool { return doers[w.Lower] })
	return i >= 0 && i+1 < len(words) && !being[words[i+1].Lower]
}

// stepsOf returns the stated purpose of the steps of a statement. Several things with a purpose need no marks of steps.
func stepsOf(said string) (matter string, ok bool) {
	steps := len(step.FindAllString(said, -1))
	if m := heading.FindStringSubmatch(said); m != nil && steps > 0 {
		return m[1], true
	}
	if m := purpose.FindStringSubmatch(said); m != nil &&
		(steps > 0 || does(text.Words(said)) && strings.Contains(said, " and ")) {
		return m[1], true
	}
	if m := means.FindStringSubmatch(said); m != nil {
		return m[1], true
	}
	return "", steps >= leastSteps
}

// version decides on a procedure. A repeated one is known, and a changed one is the next version of the stored one.
// The new version is complete in its own words, and the old one stays as the past.
func (s *sorter) version(r formation.Related, session formation.Session, policy string) memory.Operation {
	c := r.Candidate
	at := s.turns[c.Sources[0]].Time
	sources := slices.Clone(c.Sources)
	slices.Sort(sources)
	op := memory.Operation{Kind: memory.OpAdd, Sources: slices.Compact(sources), Reason: "new"}
	if m, ok := s.stored(r); ok {
		switch {
		case slices.Equal(text.ContentStems(m.Content), text.ContentStems(c.Content)):
			op.Kind, op.Targets, op.Reason = memory.OpNone, []string{m.ID}, reasonKnown
			return op
		case at.Before(m.ValidFrom):
			op.Until, op.Reason = m.ValidFrom, "older than what is known"
		default:
			s.replace(&op, memory.OpUpdate, m, reasonSteps)
		}
	}
	op.New = &memory.Memory{
		ID: memory.DeriveID(session.Scope, c.Sources, c.Ordinal), Tier: c.Tier, Kind: memory.KindProcedural,
		Content: c.Content, Speaker: c.Speaker, Topic: c.Topic, Slot: c.Slot, Keywords: slices.Clone(c.Keywords),
		EventTime: c.EventTime, ValidFrom: at, Status: memory.StatusActive, Sources: op.Sources,
		SessionID: session.ID, Strategy: Name, PolicyVersion: policy, Vector: c.Vector,
	}
	if op.Until.IsZero() {
		s.steps[c.Slot] = *op.New
	}
	return op
}

// stored is the procedure of a candidate's slot: the one this session told last, else the one in the bank.
func (s *sorter) stored(r formation.Related) (memory.Memory, bool) {
	if m, ok := s.steps[r.Candidate.Slot]; ok {
		return m, true
	}
	for _, m := range s.free(r, memory.KindProcedural) {
		if m.Slot == r.Candidate.Slot {
			return m, true
		}
	}
	return memory.Memory{}, false
}

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
