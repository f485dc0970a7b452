package embedded

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mneme-memory/mneme/shared/formation/reader"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// planned is the kind of a plan until its days are read: a plan with a day is an event to come, another one a fact.
const planned memory.Kind = "planned"

// noteKinds are the kinds of memories for the kinds of notes. A constraint is a fact: the profile finds constraints by
// their words.
var noteKinds = map[reader.Kind]memory.Kind{
	reader.Fact: memory.KindFact, reader.Preference: memory.KindPreference, reader.Constraint: memory.KindFact,
	reader.Episode: memory.KindEpisodic, reader.Procedure: memory.KindProcedural, reader.Plan: planned,
}

// kindOfPlan is the kind of a plan with some days.
func kindOfPlan(days []text.DateMention) memory.Kind {
	if slices.ContainsFunc(days, func(m text.DateMention) bool { return m.Unit != text.Vague }) {
		return memory.KindEpisodic
	}
	return memory.KindFact
}

// marked is a text in a speaker's own words with its notes. Clauses are taken from it in order.
type marked struct {
	said string
	// own is the text with blanks in place of passed-on words, and unsure is the part that may be another speaker's.
	own, unsure string
	notes       []reader.Note
	// at is the first byte behind the last clause that was taken.
	at int
}

// mark reads a text in a speaker's own words. around is the text before it.
func (f *Former) mark(said, around, speaker string) *marked {
	return &marked{
		said: said, own: text.Unquoted(said), unsure: text.Unsure(said, speaker),
		notes: reader.Notes(said, f.read(around, said)),
	}
}

// leastBeside is the number of content words beside a note from which its clause is talk, too.
const leastBeside = 4

// take returns the memory in a clause and the talk in it. A clause without a note is talk as a whole.
func (m *marked) take(clause string) []quotation {
	talk := quotation{said: clause, tier: memory.TierTalk}
	i := strings.Index(m.said[m.at:], clause)
	if i < 0 {
		return []quotation{talk}
	}
	from := m.at + i
	to := from + len(clause)
	m.at = to
	n, ok := m.within(from, to)
	if !ok || opensQuestion(clause, !ending.MatchString(clause) && asksBehind(m.said[to:])) {
		return []quotation{talk}
	}
	piece := m.trim(n, from, to)
	if piece == "" || isRunOf(piece, m.unsure) {
		return []quotation{talk}
	}
	begin := from + max(0, strings.Index(clause, piece))
	out := []quotation{{
		said: piece, kind: noteKinds[n.Kind],
		cutBefore: contentOf(m.said[from:begin]) > 0, cutBehind: contentOf(m.said[min(to, begin+len(piece)):to]) > 0,
	}}
	if contentOf(clause)-contentOf(piece) >= leastBeside {
		out = append(out, talk)
	}
	return out
}

// within returns the note between two bytes: all notes there as one, with the kind of the worthiest. Passed-on words
// are no note, because they need the words that lead up to them.
func (m *marked) within(from, to int) (note reader.Note, ok bool) {
	worth := 0.0
	for _, n := range m.notes {
		if n.Last <= from || n.First >= to || m.own[n.First:n.Last] != m.said[n.First:n.Last] {
			continue
		}
		if !ok {
			note, ok = n, true
		}
		if n.Worth > worth {
			note.Kind, worth = n.Kind, n.Worth
		}
		note.To, note.Last = n.To, n.Last
	}
	return note, ok
}

// trim returns the words of a note between two bytes, without the opener before it and the question behind it.
func (m *marked) trim(n reader.Note, from, to int) string {
	start, end := max(from, n.From), min(to, n.To)
	if lead := m.said[from:start]; turnsRound(lead) || open(lead) || isStart(lead) {
		start = from
	} else if head := headOf(lead, m.said[start:end]); head >= 0 {
		start = from + head
	} else {
		start = from + withSubject(m.said[from:to], start-from)
	}
	start += leadIn(m.said[start:to])
	clause := m.said[start:to]
	if asks, at := isQuestion(clause), beforeQuestion(clause); asks || at > 0 && opensQuestion(clause[at:], false) {
		end = start + at
	} else if !endsInside(m.said[end:to]) {
		end = to // only a mark follows
	}
	piece := text.OneLine(strings.TrimSpace(strings.TrimRight(m.said[start:max(start, end)], noteEnds)))
	isShort := text.CountWords(piece) < leastNote && !strings.ContainsFunc(piece, unspaced)
	if isQuestion(piece) || greets(piece) || isTask(piece) || contentOf(piece) == 0 || isShort {
		return ""
	}
	return piece
}

// longestStart is the number of words that a clause may have before its note and still begin the same phrase.
const longestStart = 2

// isStart reports whether a lead is the first words of the note's phrase: "With" before "the rising prices".
func isStart(lead string) bool {
	words := text.Words(lead)
	return len(words) > 0 && len(words) <= longestStart && strings.IndexFunc(lead, unicode.IsPunct) < 0 &&
		!slices.ContainsFunc(words, func(w text.Word) bool {
			return leadingUp[w.Lower] || joining[w.Lower] || asking[w.Lower]
		})
}

// headOf returns where the name begins that a note points back to: "Bruno" in "Oh, and Bruno, that's my brother". It is
// -1 where the note does not point back, or no name stands right before it.
func headOf(lead, note string) int {
	if first := text.Words(note); len(first) == 0 || !leaning[first[0].Lower] {
		return -1
	}
	at := strings.LastIndexAny(strings.TrimRight(lead, " ,–—-"), ",;:.!?–—") + 1
	at += leadIn(lead[at:])
	words := text.Words(lead[at:])
	if len(words) == 0 || len(words) > widestSubject {
		return -1
	}
	if first := at+words[0].Start == 0; (first || !words[len(words)-1].Capital) && !isPossessive(words[0]) {
		return -1 // the first word of a sentence has a capital, too
	}
	return at + words[0].Start
}

// leadIn returns where a note begins behind the words that join it to the text before: "and", "also,".
func leadIn(clause string) int {
	words := text.Words(clause)
	for i := 0; i+1 < len(words); i++ {
		if w := words[i].Lower; !leadingUp[w] && !joining[w] {
			return words[i].Start
		}
	}
	return 0
}

// noteEnds are marks that do not end a note.
const noteEnds = ",;:–— \n，、；"

// leastNote is the number of words of a note.
const leastNote = 2

// endsInside reports whether words follow.
func endsInside(rest string) bool {
	return strings.ContainsFunc(rest, unicode.IsLetter) || strings.ContainsFunc(rest, unicode.IsDigit)
}

// turnsRound reports whether a lead changes the sense of the words behind it: "it's not true that", "my sister thinks".
func turnsRound(lead string) bool {
	return slices.ContainsFunc(text.Words(lead), func(w text.Word) bool {
		return saying[w.Lower] || opening[w.Lower] || denying[w.Lower] || strings.HasSuffix(w.Lower, "n't")
	})
}

// denying words turn a statement into its opposite.
var denying = text.WordSet("not never no nobody none neither without hardly doubt false wrong joking kidding")

// asking words begin a question, behind words that may lead up to it.
var (
	asking = text.WordSet(`can could would should will shall may might do does did is are was were am have has any what
		which who whose where when why how isn't aren't don't doesn't didn't can't couldn't wouldn't`)
	leadingUp = text.WordSet("so and but or then also now please well")
)

// beforeQuestion returns where a clause with a question ends before it: at the first mark before words that ask, else
// at the last mark. It returns 0 for a question alone.
func beforeQuestion(clause string) int {
	last := 0
	for i, c := range clause {
		behind := clause[i:]
		if !strings.ContainsRune("，、；;—–", c) && !strings.HasPrefix(behind, " - ") &&
			(c != ',' || strings.ContainsFunc(behind[1:min(2, len(behind))], unicode.IsDigit)) {
			continue
		}
		words := text.Words(behind)
		for len(words) > 1 && leadingUp[words[0].Lower] {
			words = words[1:]
		}
		if len(words) > 0 && asking[words[0].Lower] {
			return i
		}
		last = i
	}
	return last
}

// farthestSubject is the number of words between the subject of a clause and the first word of a note.
const farthestSubject = 4

// withSubject returns the beginning of a note with the subject of its clause, where that stands just before.
func withSubject(said string, from int) int {
	words := text.Words(said)
	at := 0
	for at < len(words) && words[at].End <= from {
		at++
	}
	if at < len(words) && subjects[words[at].Lower] {
		return from
	}
	for i := at - 1; i >= max(0, at-farthestSubject); i-- {
		if i+1 < len(words) && strings.ContainsAny(said[words[i].End:words[i+1].Start], ".!?;:\n") {
			break
		}
		if subjects[words[i].Lower] {
			return words[i].Start
		}
	}
	return from
}
