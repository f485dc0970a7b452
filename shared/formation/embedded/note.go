package embedded

import (
	"strings"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/reader"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// noteKinds are the kinds of memories for the kinds of notes. A plan is an event to come. A constraint is a fact: the
// profile finds what binds.
var noteKinds = map[reader.Kind]memory.Kind{
	reader.Fact: memory.KindFact, reader.Preference: memory.KindPreference, reader.Constraint: memory.KindFact,
	reader.Episode: memory.KindEpisodic, reader.Procedure: memory.KindProcedural, reader.Plan: memory.KindEpisodic,
}

// noted is a quotation that is a memory, with its kind.
type noted struct {
	quotation
	kind memory.Kind
}

// notesOf returns the parts of a turn that a person would write down.
func (f *Former) notesOf(turn memory.Turn, behind *before) []noted {
	if f.read == nil {
		return nil
	}
	said, around := text.Printable(turn.Text), ""
	if behind != nil {
		around = text.Printable(behind.Text)
	}
	var out []noted
	own, unsure := text.Unquoted(said), text.Unsure(said, turn.Speaker)
	for _, n := range reader.Notes(said, f.read(around, said)) {
		if own[n.First:n.Last] != said[n.First:n.Last] {
			continue // another person's words keep what leads up to them
		}
		for _, clause := range clausesWithin(said, n) {
			if isRunOf(clause, unsure) {
				continue
			}
			q := quotation{said: clause, sources: []string{turn.ID}}
			out = append(out, noted{f.answering(q, behind, turn), noteKinds[n.Kind]})
		}
	}
	return out
}

// clausesWithin returns the clauses of a note, one fact each. Clauses beside the likely words are left out.
func clausesWithin(said string, n reader.Note) []string {
	from := withSubject(said, n.From)
	if start := sentenceStart(said, from); open(said[start:from]) {
		from = start // what announces the words, or begins a quotation, stays with them
	}
	at, rest := from, said[from:n.To]
	var out []string
	for _, clause := range clauses(rest) {
		i := strings.Index(said[at:n.To], clause)
		if i < 0 {
			continue
		}
		first, last := at+i, at+i+len(clause)
		at = last
		clause = text.OneLine(strings.TrimSpace(strings.TrimRight(clause, ",;:–— \n")))
		if clause = withoutQuestion(clause); last > n.First && first < n.Last && clause != "" {
			out = append(out, clause)
		}
	}
	return out
}

// withoutQuestion returns a clause up to the mark before a question that ends it. It returns no text for a question alone.
func withoutQuestion(clause string) string {
	if !isQuestion(clause) {
		return clause
	}
	at := max(strings.LastIndexAny(clause, ",;"), strings.LastIndex(clause, " - "), strings.LastIndex(clause, " – "))
	if at < 0 || text.CountWords(clause[:at]) < leastWords {
		return ""
	}
	return strings.TrimSpace(clause[:at])
}

// sentenceStart returns the first byte of the sentence around a byte.
func sentenceStart(said string, at int) int {
	start := strings.LastIndexAny(said[:at], ".!?\n。！？") + 1
	for start < at && !utf8.RuneStart(said[start]) {
		start++
	}
	return start + len(said[start:at]) - len(strings.TrimLeft(said[start:at], " \t"))
}

// answering puts the answered question before a note that another speaker asked for.
func (f *Former) answering(q quotation, behind *before, turn memory.Turn) quotation {
	if behind == nil || behind.Speaker == turn.Speaker && behind.Role == turn.Role {
		return q
	}
	return f.complete(q, *behind)
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
		if strings.ContainsAny(said[words[i].End:words[i+1].Start], ".!?;:\n") {
			break
		}
		if subjects[words[i].Lower] {
			return words[i].Start
		}
	}
	return from
}

// covers reports whether a note has the words of a quotation, or the other way round.
func covers(notes []noted, q quotation) bool {
	for _, n := range notes {
		if isRunOf(n.said, q.said) || isRunOf(q.said, n.said) {
			return true
		}
	}
	return false
}

// fewestBeside is the number of content words of talk beside a note of the same turn. Recall reads the raw turn behind
// a note, too, so less talk finds nothing more.
const fewestBeside = 8

// tiered makes candidates of a turn: its notes as memories, and the other quotations as talk.
func (f *Former) tiered(turn memory.Turn, notes []noted, quotes []quotation) []formation.Candidate {
	out := make([]formation.Candidate, 0, len(notes)+len(quotes))
	for _, n := range notes {
		c := f.candidate(n.quotation, turn)
		c.Kind = n.kind
		out = append(out, c)
	}
	for _, q := range quotes {
		if covers(notes, q) || len(notes) > 0 && (q.asks || contentOf(q.said) < fewestBeside) {
			continue
		}
		c := f.candidate(q, turn)
		if f.read != nil {
			c.Tier = memory.TierTalk
		}
		out = append(out, c)
	}
	return out
}
