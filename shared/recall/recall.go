// Package recall is the port to the policies that use memory at query time: the profile for a query, and the answer
// from it.
package recall

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/text"
)

// Evidence is the found memories and data for a query.
type Evidence struct {
	// Query is the understood query. Its messages rest on no memory.
	Query query.Query
	// Filter is the filter of the query's memories. Every memory here matches it, or stands behind a match.
	Filter memory.Filter
	// Memories are the reranked memories, best first, linked ones InOrder. Newer memories without a rank come last.
	// Those made from the same turns as a better one come directly after it. Each may carry the dialogue that it was
	// made from in Value, as lines "speaker: text". Memories that no longer hold are among them only where the question
	// is about the past.
	Memories []memory.Memory
	// Current has the valid versions of memories in Memories that no longer hold.
	Current []memory.Memory
	// Replaced has the earlier versions of a shown current memory by its id, the newest first. A memory answers what
	// its earlier versions answered.
	Replaced map[string][]memory.Memory
	// Explored is the id of a memory that is shown to learn from its citation. It is empty without exploration.
	Explored string
	// Support is the log odds that the found memories answer this query, and not the same query about another
	// person. It is less than 0 if that is less likely than not. It is 0 if it is not known.
	Support float64
	// Best is the best score of a found memory by the shared prior, from any speaker. It is 0 if it is not known.
	Best float64
	// Request means that a user asks an assistant for something. The query asks for no fact, and names no person.
	Request bool
	// Owner separates the user from other speakers. It is empty if the user is not known.
	Owner memory.Owner
	// Window is working memory, oldest first.
	Window []memory.Turn
	// Core is the user's core block. It is zero if there is none, or if it has nothing for the requested time.
	// CoreMemories are the current memories behind its lines.
	Core         memory.Core
	CoreMemories []memory.Memory
	// WordBudget is how many words the profile may have.
	WordBudget int
}

// Standing returns the lines of the core block with current memories, in their order, each with the first of its
// memories.
func (e Evidence) Standing() []Standing {
	var out []Standing
	for _, l := range e.Core.Lines {
		at := slices.IndexFunc(e.CoreMemories, func(m memory.Memory) bool { return slices.Contains(l.Memories, m.ID) })
		if at >= 0 && e.CoreMemories[at].Status == memory.StatusActive {
			out = append(out, Standing{Text: l.Text, Memory: e.CoreMemories[at]})
		}
	}
	return out
}

// Standing is a line of the core block with a memory that it rests on.
type Standing struct {
	Text   string
	Memory memory.Memory
}

// Section is a part of a profile.
type Section struct {
	// Name is core, constraints, preferences, facts, recent, timeline or talk.
	Name string
	// Lines end with their citations: [1] is the first memory of Profile.Cited. Lines of recent turns have no
	// citation if they rest on no memory. Lines of a core block from a strategy have none either. Nothing else in a
	// line looks like a citation.
	Lines []string
}

// Profile is the query-adapted summary of the relevant memories.
type Profile struct {
	Sections []Section
	// Cited are the memories cited, in order of their numbers: [i] is Cited[i-1], and the turns behind it are its
	// Sources (Turns).
	Cited []memory.Memory
	// Unrelated means that no evidence bears on the query. The sections have only the standing lines of the core block.
	Unrelated bool
}

// Answer is a generator's reply.
type Answer struct {
	// Text is the reply, with citations [i] unless it cites nothing.
	Text string
	// Abstained means that no memory answers. The text may still answer from lines without a memory, such as recent
	// turns.
	Abstained bool
	// Cited are the ids of the memories the text cites; all were in the profile.
	Cited []string
}

// Touched returns the memories that the answer cites.
func (a Answer) Touched(memory.Scope) memory.Touch { return memory.Touch{Memories: a.Cited} }

// Profiler writes profiles (the utilizer's policy).
type Profiler interface {
	// Profile never cites a memory outside the evidence, and keeps the word budget. A standing line of the core
	// block appears once, with its citation, within a third of the budget.
	Profile(ctx context.Context, scope memory.Scope, e Evidence) (Profile, error)
}

// Generator answers from a profile in one step.
type Generator interface {
	// Answer cites only memories of the profile. It abstains if the profile has no answer, and never because of a
	// failure. An unavailable dependency and a timeout are errors.
	Answer(ctx context.Context, scope memory.Scope, e Evidence, p Profile) (Answer, error)
}

// Text in a rendered line. A backslash stands before every backslash and quotation mark in it. So no text ends its
// quotation or imitates another. Angle brackets are in JSON's escaped form. So no text forms a tag or ends the
// fence around the profile early.
var (
	escaper   = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `“`, `\“`, `”`, `\”`, `<`, `\u003c`, `>`, `\u003e`)
	untagger  = strings.NewReplacer(`<`, `\u003c`, `>`, `\u003e`)
	unescaper = strings.NewReplacer(`\\`, `\\`, `\u003c`, `<`, `\u003e`, `>`)
)

// Escaped is remembered text as it stands in a line, quoted or not.
func Escaped(text string) string { return escaper.Replace(Plain(text)) }

// Untagged is a line that a model wrote, without a tag; its quotation marks are its own.
func Untagged(line string) string { return untagger.Replace(line) }

// Tagged is a rendered line with its angle brackets, for a prompt that escapes them itself.
func Tagged(line string) string { return unescaper.Replace(line) }

// Quotation returns a speaker's words with their date: `Ines (2025-08): "I moved to Lisbon"`.
func Quotation(speaker, when, said string) string {
	return Name(speaker) + " (" + when + `): "` + Escaped(said) + `"`
}

// Said returns the words of a speaker on a day: `Ines said on 2025-08-01: "the bus was late"`.
func Said(speaker, day, words string) string {
	return Name(speaker) + " said on " + day + `: "` + Escaped(words) + `"`
}

// Raw is raw words, as they stand behind a statement or for a turn: “I moved to Lisbon”.
func Raw(said string) string { return "“" + Escaped(said) + "”" }

// Name returns a speaker's name without the signs that separate it from the words: control characters, quotation
// marks, colons and brackets. A text that cannot be a name gives "Somebody".
func Name(speaker string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		case r == '’': // as in D’Angelo
			return r
		case strings.ContainsRune("\"`\\<>:＂：＜＞", r),
			unicode.In(r, unicode.Ps, unicode.Pe, unicode.Pi, unicode.Pf, unicode.Bidi_Control):
			return -1
		}
		return r
	}, speaker)
	words := strings.Fields(name)
	if len(words) > maxNameWords || len(words) > 1 && roles[strings.ToLower(words[0])] {
		return somebody
	}
	return cmp.Or(strings.Join(words, " "), somebody)
}

const (
	// maxNameWords is the number of words of the longest name. A longer text is no name.
	maxNameWords = 6
	somebody     = "Somebody"
)

// roles are the roles of messages with instructions. "SYSTEM ignore this" is no name.
var roles = map[string]bool{"assistant": true, "developer": true, "function": true, "system": true, "tool": true}

// NoCite is the model's marker for a statement without support in memory. Users do not see it: see Marked.
const NoCite = "[NO_CITE]"

// Abstention is the complete answer when there is nothing else to say.
const Abstention = "Memory does not tell."

var (
	// cites are citations as people and models write them: [1], [1, 2].
	cites = regexp.MustCompile(`\[\s*(\d+(?:[\s,;]+\d+)*)\s*\]`)
	// looksCited is whatever a reader might take for a citation.
	looksCited = regexp.MustCompile(`(?i)\[\s*(\d[\d\s,;]*?|no_cite)\s*\]`)
	// noCites are NoCite as models write it, with the space before it.
	noCites = regexp.MustCompile(`(?i)\s*\[\s*no_cite\s*\]`)
)

// Mark is the citation of a memory by its number in a profile, from 1.
func Mark(number int) string { return "[" + strconv.Itoa(number) + "]" }

// Plain returns remembered text on one line, without invisible marks and marks of direction. It writes the text's
// own bracketed numbers in round brackets. So the text forges neither a line nor a citation, and reads in its own
// order. The escaped text may stand in a line.
func Plain(said string) string {
	return looksCited.ReplaceAllString(strings.Join(strings.Fields(text.Printable(said)), " "), "($1)")
}

// Marked reads a model's text. It returns the text without NoCite, or Abstention if nothing else remains. marked
// reports whether NoCite was there.
func Marked(text string) (plain string, marked bool) {
	if !noCites.MatchString(text) {
		return text, false
	}
	if plain = strings.TrimSpace(noCites.ReplaceAllString(text, "")); plain == "" {
		plain = Abstention
	}
	return plain, true
}

// Turns are the ids of the turns behind a citation: the sources of memory [number]. It is nil where the profile has
// no such citation.
func (p Profile) Turns(number int) []string {
	if number < 1 || number > len(p.Cited) {
		return nil
	}
	return slices.Clone(p.Cited[number-1].Sources)
}

// Grounded checks a text's citations against a profile. It returns the text without citations that the profile
// lacks, and with lists of numbers split. It also returns the ids of the cited memories, in order of their first
// citation. invented reports citations that the profile lacks.
func (p Profile) Grounded(text string) (grounded string, cited []string, invented bool) {
	grounded = strings.TrimSpace(text)
	for {
		next, ids, dropped := p.ground(grounded)
		if !dropped {
			return next, ids, invented
		}
		// A removed part may leave brackets that look like a citation themselves, as in "[[9]1]".
		grounded, invented = strings.TrimSpace(tidy.Replace(next)), true
	}
}

// ground does it once.
func (p Profile) ground(text string) (grounded string, cited []string, dropped bool) {
	grounded = cites.ReplaceAllStringFunc(text, func(mark string) string {
		var out strings.Builder
		for _, field := range strings.FieldsFunc(mark, func(r rune) bool { return r < '0' || r > '9' }) {
			n, err := strconv.Atoi(field)
			if err != nil || n < 1 || n > len(p.Cited) {
				dropped = true
				continue
			}
			out.WriteString(Mark(n))
			if id := p.Cited[n-1].ID; !slices.Contains(cited, id) {
				cited = append(cited, id)
			}
		}
		return out.String()
	})
	return grounded, cited, dropped
}

// tidy closes the gaps that a citation leaves when it goes.
var tidy = strings.NewReplacer("  ", " ", " .", ".", " ,", ",")
