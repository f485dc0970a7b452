package embedded

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/formation/reader"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// complete puts the answered question before a turn's first quotation, if the quotation needs it to be clear. With a
// question about the speaker, the answer is a memory.
func (f *Former) complete(q quotation, behind before) quotation {
	question := text.Question(f.splitter.Sentences(text.Printable(behind.Text)))
	if question == "" || alone(q.said) || strings.HasPrefix(q.said, "[") || !text.NeedsQuestion(question, q.said) {
		return q
	}
	if q.tier == memory.TierTalk && f.read != nil && behind.Role == memory.RoleAssistant && !text.Evades(q.said) {
		if kind, ok := f.kindOfAnswer(question, q.said); ok {
			q.tier, q.kind = memory.TierMemory, kind
		}
	}
	q.said = "[asked: " + question + "] " + q.said
	q.sources = behind.addTo(q.sources)
	return q
}

// kindOfAnswer returns the kind of the memory that a question makes with its answer. The reader decides on the
// statement of both.
func (f *Former) kindOfAnswer(question, answer string) (memory.Kind, bool) {
	said := statement(question, answer)
	if said == "" {
		return "", false
	}
	var best reader.Note
	for _, n := range reader.Notes(said, f.read("", said)) {
		if n.Worth > best.Worth {
			best = n
		}
	}
	return noteKinds[best.Kind], best.Worth >= leastAnswer
}

// leastAnswer is the least worth of a statement that a question makes with its answer. Its words are not the speaker's,
// so the reader has to be sure.
const leastAnswer = 0.87

var (
	// auxiliaries begin a question for yes or no, and follow the words of any other question.
	auxiliaries = text.WordSet(`are is was were do does did have has had can could will would should might must am isn't
		aren't don't doesn't didn't haven't hasn't can't won't`)
	// offering words make a question about an action of the speaker's partner.
	offering = text.WordSet("i me my i'll we us our let's shall")
	// pronounsTurned are the words of a speaker in place of the words for the addressed.
	pronounsTurned = map[string]string{
		"you": "I", "your": "my", "yours": "mine", "yourself": "myself", "you're": "I'm", "you've": "I've", "you'd": "I'd",
		"you'll": "I'll",
	}
	// verbsTurned are the verbs behind an "I".
	verbsTurned = map[string]string{"are": "am", "were": "was", "aren't": "am not", "do": "", "don't": "", "does": "",
		"doesn't": ""}
)

// statement returns a question with its answer as a statement of the speaker: "I live in Gdansk" of "Which city do you
// live in?". It returns "" for a question about an action of the other speaker.
func statement(question, answer string) string {
	words := askedWords(question)
	for _, w := range words {
		if offering[strings.ToLower(w)] {
			return ""
		}
	}
	at := 0
	for at < len(words) && !auxiliaries[words[at]] && !strings.HasSuffix(words[at], "'s") {
		at++
	}
	answer = strings.TrimRight(text.OneLine(answer), ".!")
	if len(words) > 0 && (words[0] == "you" || words[0] == "you're") {
		return capital(turned(words))
	}
	if at == len(words) {
		return fragment(words, answer)
	}
	asked, verb, rest := words[:at], words[at], words[at+1:]
	if noun, ok := strings.CutSuffix(verb, "'s"); ok { // "What's your budget?"
		asked, verb = append(asked, noun), "is"
	}
	subject := askedSubject(rest)
	rest = rest[len(subject):]
	if v, ok := verbsTurned[verb]; ok && (len(subject) == 1 && subject[0] == "you" || v == "") {
		verb = v
	}
	said := []string{turned(subject), verb, turned(rest)}
	if len(asked) > 0 {
		said = append(said, answer)
		if asked[0] == "how" && len(asked) > 2 {
			said = append(said, asked[2:]...) // "how many children"
		}
	}
	return capital(text.OneLine(strings.Join(said, " ")))
}

// fragment returns the statement of a question without a verb: "Any allergies?", "Which street?", "Floor?".
func fragment(words []string, answer string) string {
	const most = 2
	if len(words) > 1 && (asking[words[0]] || words[0] == "any") {
		words = words[1:]
	}
	if len(words) == 0 || len(words) > most || slices.Contains(words, "else") {
		return ""
	}
	return capital("my " + turned(words) + " is " + answer)
}

// capital returns a statement as a sentence.
func capital(said string) string {
	first, size := utf8.DecodeRuneInString(said)
	return string(unicode.ToUpper(first)) + said[size:] + "."
}

// askedWords are the words of a question in lower case, from the last clause that asks. A tag is left out: "aren't
// you".
func askedWords(question string) []string {
	clauses := strings.FieldsFunc(question, func(r rune) bool { return strings.ContainsRune(",;:—–", r) })
	const tag = 3
	for i := len(clauses) - 1; i >= 0; i-- {
		words := strings.Fields(strings.ToLower(strings.Trim(clauses[i], ` ?!."'`)))
		for len(words) > 1 && leadingUp[words[0]] {
			words = words[1:]
		}
		if i > 0 && len(words) < tag {
			continue // "aren't you", "right"
		}
		if i == 0 || len(words) > 0 && (auxiliaries[words[0]] || asking[words[0]]) {
			return words
		}
	}
	return nil
}

// askedSubject returns the subject at the beginning of the words: a word, or a possessive with its noun.
func askedSubject(words []string) []string {
	if len(words) > 1 && possessives[words[0]] || len(words) > 1 && words[0] == "your" {
		return words[:2]
	}
	return words[:min(1, len(words))]
}

// turned returns words of one speaker as the words of the other speaker, who answers.
func turned(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = w; pronounsTurned[w] != "" {
			out[i] = pronounsTurned[w]
		}
		switch {
		case i > 0 && words[i-1] == "you" && w == "are":
			out[i] = "am"
		case i > 0 && i == len(words)-1 && w == "you":
			out[i] = "me" // "treating you"
		}
	}
	return strings.Join(out, " ")
}
