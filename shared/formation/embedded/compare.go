package embedded

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Bounds of what counts as the same statement in other words.
const (
	sameCosine   = 0.985
	sameMinStems = 8
	// newsDelay is how much later than it happened a change may be told and still be news.
	newsDelay = 45 * 24 * time.Hour
)

var (
	addition   = regexp.MustCompile(`(?i)\b(?:also|too|as well|another|second|both|besides|additionally|as much as)\b`)
	correction = regexp.MustCompile(`(?i)\b(?:actually|now|renamed|instead|correction|i meant|not)\b`)
)

// reading is what comparing needs to know of a content.
type reading struct {
	marked string
	// subject is who it is about: "self", "self's sister", or "" when it does not begin with the speaker.
	subject string
	stems   map[string]bool
	// order are the stems in order, as one string.
	order  string
	slots  map[string]foundSlot
	denies bool
	// owner is whose life it is about, anchors what it names, and cues how it stands to what was said before.
	owner   string
	anchors map[string]bool
	cues    cue
	tokens  []token
	// kin are the relatives it names, weekday and number the first of each.
	kin             []string
	weekday, number string
	// classes are those of the attributes that it is about, as bits.
	classes uint32
	// named are the anchors in order.
	named []string
}

// read analyses a content as a statement of or about the one called self.
func read(content, self string) *reading {
	r := &reading{marked: mark(content, self), stems: map[string]bool{}, slots: map[string]foundSlot{}}
	r.denies = denies(r.marked)
	r.owner, r.anchors, r.cues = ownerOf(r.marked), anchorsOf(r.marked), cuesOf(r.marked)
	r.named = slices.Sorted(maps.Keys(r.anchors))
	r.tokens = tokensOf(r.marked)
	r.classes = classesOf(r.tokens)
	for _, w := range text.Words(r.marked) {
		lower := strings.TrimSuffix(w.Lower, "'s")
		switch {
		case relations[lower] && !animals[lower]:
			r.kin = append(r.kin, lower)
		case r.weekday == "" && weekdayStem(text.Stem(lower)):
			r.weekday = text.Stem(lower)
		case r.number == "" && (w.Number || timesOfDay[lower]):
			r.number = lower
		}
	}
	stems := text.ContentStems(r.marked)
	r.order = strings.Join(stems, " ")
	for _, s := range stems {
		r.stems[s] = true
	}
	r.subject = leadingSubject(notTrueOf.ReplaceAllString(r.marked, ""))
	if key, found := findSlot(r.marked); key != "" {
		r.slots[slotOf(key, self)] = found
	}
	return r
}

// timesOfDay are numbers in words.
var timesOfDay = text.WordSet("one two three four five six seven eight nine ten eleven twelve noon midnight")

// slotOf puts the speaker's name into the key of a slot.
func slotOf(key, self string) string {
	return strings.ToLower(strings.ReplaceAll(key, selfMark, self))
}

// sets reports whether the content gives the slot a value.
func (r *reading) sets(slot string) bool {
	_, ok := r.slots[slot]
	return ok
}

func (d *decider) reading(m memory.Memory, self string) *reading {
	key := self + "\x00" + m.ID
	if r, ok := d.cache[key]; ok {
		return r
	}
	r := read(m.Content, self)
	d.cache[key] = r
	return r
}

// mark puts the placeholder in the place of a name, where it is a word of its own.
func mark(content, self string) string {
	content = unmark(content)
	if self == "" {
		return content
	}
	var b strings.Builder
	lower, name := strings.ToLower(content), strings.ToLower(self)
	if len(lower) != len(content) {
		lower, name = content, self
	}
	pos := 0
	for {
		i := strings.Index(lower[pos:], name)
		if i < 0 {
			break
		}
		start, end := pos+i, pos+i+len(name)
		b.WriteString(content[pos:start])
		if standsAlone(content, start, end) {
			b.WriteString(selfMark)
		} else {
			b.WriteString(content[start:end])
		}
		pos = end
	}
	b.WriteString(content[pos:])
	return b.String()
}

// standsAlone reports whether content[start:end] is not part of a longer word or name.
func standsAlone(content string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(content[:start])
	after, size := utf8.DecodeRuneInString(content[end:])
	if isNameRune(before) || isNameRune(after) {
		return false
	}
	if after != ' ' {
		return true
	}
	rest := content[end+size:]
	next, _ := utf8.DecodeRuneInString(rest)
	return !unicode.IsUpper(next) || calendarName.MatchString(rest)
}

// calendarName is a word with a capital that is no part of a name: "sees Ana Monday".
var calendarName = regexp.MustCompile(`^(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|January|February|March|April|May|June|July|August|September|October|November|December)\b`)

func isNameRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-')
}

// leadingSubject returns whom a marked statement begins with.
func leadingSubject(marked string) string {
	rest, ok := strings.CutPrefix(marked, selfMark)
	if !ok {
		return ""
	}
	if owned, ok := strings.CutPrefix(rest, "'s "); ok {
		for _, w := range text.Words(owned) {
			return "self's " + w.Lower
		}
	}
	return "self"
}

// repeats reports whether an entry already says all that the candidate says.
func (d *decider) repeats(p proposal, m memory.Memory) bool {
	old := d.reading(m, p.self)
	if old.subject != p.subject || old.denies != p.denies || old.subject == "" && old.order != p.order {
		return false
	}
	if p.Kind == memory.KindEpisodic && !p.EventTime.Time.Equal(m.EventTime.Time) {
		return false
	}
	if old.order == p.order {
		return len(p.stems) > 0
	}
	if !fixedOrder(p.order, old.order) {
		return false
	}
	if p.cues.has(cueEnd | cueReplace | cueLimit) {
		return false // "it's over with Ana" has no word that "Ana and I are over the moon" lacks
	}
	missing := difference(p.stems, old.stems)
	switch {
	case len(missing) == 0:
		return len(p.stems) > 1
	case len(missing) == 1 && len(p.stems) >= sameMinStems:
		return !isName(missing[0], p.Content) && cosine(p.Vector, m.Vector) >= sameCosine
	}
	return false
}

// dated returns the content of a new entry. What happened again in the same words gets its day, so that no two entries read alike.
func (d *decider) dated(p proposal, known []memory.Memory) string {
	for _, m := range known {
		if d.reading(m, p.self).order == p.order && strings.EqualFold(strings.TrimRight(m.Content, ".!?"), strings.TrimRight(p.Content, ".!?")) {
			return strings.TrimRight(p.Content, ".!?") + " (" + p.at.UTC().Format(time.DateOnly) + ")."
		}
	}
	return p.Content
}

// fixedOrder reports whether the words of one statement come in the same order in the other:
// who did what to whom is a matter of order.
func fixedOrder(part, whole string) bool {
	wanted := strings.Fields(part)
	i, missed := 0, 0
	rest := strings.Fields(whole)
	for _, w := range wanted {
		k := i
		for k < len(rest) && rest[k] != w {
			k++
		}
		if k == len(rest) {
			missed++
			continue
		}
		i = k + 1
	}
	return missed <= 1
}

// isName reports whether a stem is a number, or a word that is written with a capital.
func isName(stem, content string) bool {
	for _, w := range text.Words(content) {
		if (w.Number || w.Capital) && text.Stem(w.Lower) == stem {
			return true
		}
	}
	return false
}

// aheadOfTime reports whether the statement is about a time that is still to come.
func (p proposal) aheadOfTime() bool {
	return !p.EventTime.Time.IsZero() && p.EventTime.Time.After(p.at)
}

// endedBefore reports whether the statement is about a time that was long over at the given one.
func (p proposal) endedBefore(at time.Time) bool {
	t := p.EventTime.Time
	if t.IsZero() {
		return false
	}
	switch p.EventTime.Precision {
	case memory.PrecisionYear:
		t = t.AddDate(1, 0, 0)
	case memory.PrecisionMonth:
		t = t.AddDate(0, 1, 0)
	default:
		t = t.AddDate(0, 0, 7)
	}
	return !t.Add(newsDelay).After(at)
}

func subset(a, b map[string]bool) bool { return len(difference(a, b)) == 0 }

// difference returns what is in a and not in b, at most two of them: callers only ask for
// none, one or more.
func difference(a, b map[string]bool) []string {
	var out []string
	for s := range a {
		if !b[s] {
			if out = append(out, s); len(out) == 2 {
				break
			}
		}
	}
	return out
}

// cosine of two unit vectors; 0 when they cannot be compared.
func cosine(a, b []float32) float64 {
	if len(a) == 0 || len(a) != len(b) {
		return 0
	}
	var dot float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
	}
	return dot
}
