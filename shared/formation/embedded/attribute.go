package embedded

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// voiceOf returns who speaks in a turn and to whom, as far as the session tells.
func voiceOf(turns []memory.Turn, index int) voice {
	turn := turns[index]
	v := voice{self: displayName(turn), other: "the assistant"}
	if turn.Role == memory.RoleAssistant {
		v.other = "the user"
	}
	var others []string
	for _, t := range turns {
		name := displayName(t)
		if name != v.self && (len(others) == 0 || others[0] != name) {
			others = append(others, name)
		}
	}
	switch len(others) {
	case 0:
	case 1:
		v.other = others[0]
	default:
		v.other = "the others"
	}
	return v
}

// displayName returns how a speaker is called in statements.
func displayName(t memory.Turn) string {
	name := strings.Join(strings.Fields(unmark(t.Speaker)), " ")
	switch strings.ToLower(name) {
	case "", "user", "human", "assistant", "ai", "bot", "agent":
		if t.Role == memory.RoleAssistant {
			return "the assistant"
		}
		return "the user"
	}
	return capitalise(name)
}

// attribute gives a statement its speaker: a sentence that left "I" out gets it back, and one
// that does not speak of the speaker is reported as said.
func attribute(original, marked string, self bool) string {
	words := text.Words(original)
	lead := ""
	if len(words) > 1 {
		lead = droppedSubject(words)
	}
	switch {
	case lead != "":
		return selfMark + lead + decapitalise(marked)
	case self:
		return marked
	}
	return selfMark + " said: " + capitalise(marked)
}

// droppedSubject returns what connects the speaker to a sentence that left "I" out, or "" when
// it did not.
func droppedSubject(words []text.Word) string {
	first := words[0].Lower
	if leadingAdverbs[first] {
		first = words[1].Lower
	}
	switch {
	case first == "been":
		return " has "
	case droppedGerunds[first] && !isGerundSubject(words), first == "gonna":
		return " is "
	case first == "can't", first == "cannot", first == "won't", droppedPasts[first]:
		return " "
	}
	return ""
}

// isGerundSubject reports whether a sentence has its verb later ("Taking a break helps").
func isGerundSubject(words []text.Word) bool {
	for _, w := range words[1:min(len(words), 8)] {
		switch {
		case subjects[w.Lower], w.Lower == "i", firstPerson[w.Lower] && w.Lower != "my" && w.Lower != "our":
			return false
		case copulas[w.Lower]:
			return true
		}
	}
	return false
}

func decapitalise(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[size:]
}

func endWithStop(s string) string {
	s = strings.TrimRightFunc(s, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;:-–—", r) })
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "…") {
		return s
	}
	return s + "."
}

// leansBack reports whether a sentence only makes sense after the one before it.
func leansBack(said string) bool {
	words := text.Words(said)
	return len(words) > 0 && leaning[words[0].Lower]
}

type askedQuestion struct{ text, turnID string }

// question returns the question that the turn answers: the last sentence of the turn before,
// when another speaker asked it.
func (e *turnExtractor) question() (askedQuestion, bool) {
	if e.index == 0 {
		return askedQuestion{}, false
	}
	before := e.turns[e.index-1]
	if displayName(before) == e.voice.self || !strings.Contains(before.Text, "?") {
		return askedQuestion{}, false
	}
	sentences := e.splitter.Split(unmark(before.Text))
	for i := len(sentences) - 1; i >= 0 && i >= len(sentences)-2; i-- {
		if strings.HasSuffix(sentences[i], "?") && len(sentences[i]) <= 200 {
			return askedQuestion{text: trimSentence(sentences[i], e.names), turnID: before.ID}, true
		}
	}
	return askedQuestion{}, false
}

// isShortAnswer reports whether a sentence is too short to be understood without its question.
func isShortAnswer(said string) bool {
	words := text.Words(said)
	if len(words) == 0 || len(words) > 5 {
		return false
	}
	for _, w := range words {
		if subjects[w.Lower] || firstPerson[w.Lower] || copulas[w.Lower] || isPast(w.Lower) {
			return false
		}
	}
	return true
}

// maxEllipticWords bounds what counts as an answer without a verb.
const maxEllipticWords = 12

// isElliptic reports whether a sentence has no verb of its own ("the Corner Bakery now, as a waiter"), or only says that something
// is over ("I left, actually."): it takes the rest from the question.
func isElliptic(said string) bool {
	words := text.Words(said)
	if len(words) == 0 || len(words) > maxEllipticWords {
		return false
	}
	if len(words) <= 4 && speaksOfSelf(said) {
		marked, _ := rewrite(said)
		return cuesOf(marked).has(cueEnd | cueReplace)
	}
	now := false
	for _, w := range words {
		if subjects[w.Lower] || firstPerson[w.Lower] || copulas[w.Lower] || isPast(w.Lower) || auxiliaries[w.Lower] {
			return false
		}
		now = now || w.Lower == "now" || w.Lower == "since" || w.Lower == "ago"
	}
	return now
}

var whatIsYour = regexp.MustCompile(`(?i)^(?:and |so )?(?:what|who)(?:'s|’s| is| are|'re) (your [\p{L}' ’-]{2,60})\?$`)

// joinAnswer makes a sentence of a question for an attribute and its answer ("What's your
// dog's name?" "Rex!"), still in the first person.
func joinAnswer(question, answer string) (string, bool) {
	m := whatIsYour.FindStringSubmatch(question)
	if m == nil {
		return "", false
	}
	return fmt.Sprintf("My%s is %s", m[1][len("your"):], answer), true
}

// annotate puts the absolute form behind each relative date of a sentence.
func annotate(said string, at time.Time) (string, []text.DateMention, []string) {
	mentions := dates(said, at)
	if len(mentions) == 0 {
		return said, nil, nil
	}
	var b strings.Builder
	expressions := make([]string, 0, len(mentions))
	pos := 0
	for _, m := range mentions {
		b.WriteString(said[pos:m.End])
		if m.Note != "" {
			b.WriteString(" (" + m.Note + ")")
		}
		expressions = append(expressions, said[m.Start:m.End])
		pos = m.End
	}
	b.WriteString(said[pos:])
	return b.String(), mentions, expressions
}

// eventTime returns when a statement's event was: the first date that can be placed, else the
// turn's own day for what happened without one. When something ended, or how long it lasted, does not say when it was.
func eventTime(s statement, kind memory.Kind, at time.Time) memory.EventTime {
	for i, m := range s.dates {
		if m.Unit != text.Vague && !s.ends[i] {
			return memory.EventTime{Time: m.Time, Precision: precisions[m.Unit], Expression: s.expressions[i]}
		}
	}
	if kind != memory.KindEpisodic || len(s.dates) > 0 || at.IsZero() || lasting.MatchString(s.marked) {
		return memory.EventTime{}
	}
	y, mo, d := at.UTC().Date()
	return memory.EventTime{Time: time.Date(y, mo, d, 0, 0, 0, 0, time.UTC), Precision: memory.PrecisionDay}
}

var precisions = map[text.Unit]memory.Precision{
	text.Day: memory.PrecisionDay, text.Weekend: memory.PrecisionDay, text.Week: memory.PrecisionDay,
	text.Month: memory.PrecisionMonth, text.Season: memory.PrecisionYear, text.Year: memory.PrecisionYear,
}
