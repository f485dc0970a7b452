package text

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/neurosnap/sentences"
	"github.com/neurosnap/sentences/english"
	"github.com/rivo/uniseg"
)

// Splitter splits text into sentences. It uses a model of English. Where another script has its own marks for the
// end of a sentence, it uses Unicode's rules. It is safe for concurrent use.
type Splitter struct {
	tokenizer *sentences.DefaultSentenceTokenizer
}

// NewSplitter returns a splitter with the Punkt model of English that is compiled into the binary. All splitters share
// the model. It panics if the model cannot be read, because then the binary is broken.
func NewSplitter() *Splitter { return &Splitter{tokenizer: punkt()} }

// punkt loads the model once.
var punkt = sync.OnceValue(func() *sentences.DefaultSentenceTokenizer {
	t, err := english.NewSentenceTokenizer(nil)
	if err != nil {
		panic(fmt.Sprintf("load the compiled-in sentence model: %v", err))
	}
	return t
})

// Split returns the sentences of a text in order, trimmed, without empty ones. A line break ends a sentence. Trained
// models read such sentences.
func (s *Splitter) Split(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, s.splitLine(line)...)
	}
	return out
}

// Sentences returns the sentences of a text as Split does, and joins those that only an abbreviation of some language
// parts: "My doctor is Dr. Huber."
func (s *Splitter) Sentences(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, joinAbbreviated(line, s.splitLine(line))...)
	}
	return out
}

func (s *Splitter) splitLine(line string) []string {
	if strings.TrimSpace(line) == "" {
		return nil
	}
	var out []string
	for _, run := range foreignRuns(line) {
		for _, sentence := range s.tokenizer.Tokenize(run) {
			out = appendRuns(out, sentence.Text)
		}
	}
	return out
}

// joinAbbreviated joins the sentences of a line that only an abbreviation parts.
func joinAbbreviated(line string, sentences []string) []string {
	var out []string
	from, to := 0, 0 // of the last sentence
	for i, s := range sentences {
		at := strings.Index(line[to:], s)
		if at < 0 {
			return sentences
		}
		if at += to; i > 0 && IsAbbreviated(line[from:to], line[to:]) {
			to = at + len(s)
			out[len(out)-1] = line[from:to]
			continue
		}
		from, to = at, at+len(s)
		out = append(out, s)
	}
	return out
}

// foreignRuns cuts a line at the sentence ends of Unicode's rules (UAX 29), if the line has an end mark that
// English lacks. The model handles English alone, because it recognises abbreviations.
func foreignRuns(line string) []string {
	if !strings.ContainsFunc(line, func(r rune) bool {
		return r > unicode.MaxLatin1 && r != '…' && unicode.Is(unicode.Sentence_Terminal, r)
	}) {
		return []string{line}
	}
	var out []string
	for state := -1; line != ""; {
		var sentence string
		sentence, line, state = uniseg.FirstSentenceInString(line, state)
		out = append(out, sentence)
	}
	return out
}

// appendRuns appends a sentence, cut at ends that the model misses. These are "!" or "?" before white space, and a mark
// directly before the first word of a sentence ("Great.I went").
func appendRuns(out []string, text string) []string {
	start := 0
	for i, r := range text {
		if i > 0 && strings.ContainsRune(".!?", r) && endsAt(text[start:i], r, text[i+1:]) {
			out = appendTrimmed(out, text[start:i+1])
			start = i + 1
		}
	}
	return appendTrimmed(out, text[start:])
}

// endsAt reports whether a mark ends a sentence. A mark inside a word ends none ("Yahoo!Mail", "t7!Qz"). Directly
// before a stop word with a capital and after a word of letters, the space was forgotten.
func endsAt(before string, mark rune, after string) bool {
	if next, _ := utf8.DecodeRuneInString(after); mark != '.' && unicode.IsSpace(next) {
		return true
	} else if !unicode.IsUpper(next) {
		return false
	}
	before, after = before[max(0, len(before)-longestForeign):], after[:min(len(after), longestForeign)]
	notLetter := func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '’' }
	last := before[strings.LastIndexFunc(before, unicode.IsSpace)+1:]
	first := after
	if end := strings.IndexFunc(after, unicode.IsSpace); end >= 0 {
		first = after[:end]
	}
	first = strings.TrimRight(first, ",.!?")
	end, _ := utf8.DecodeLastRuneInString(last)
	return unicode.IsLower(end) && !strings.ContainsFunc(last+first, notLetter) &&
		stopLanguages()[strings.ToLower(first)] != 0
}

func appendTrimmed(out []string, s string) []string {
	if s = strings.TrimSpace(s); s == "" {
		return out
	}
	return append(out, s)
}

var (
	// beforeNames are abbreviations before a name or another word, which end no sentence. None is a common word.
	beforeNames = wordLists.Set("beforeNames")
	// within are abbreviations that end no sentence, before any word.
	within = WordSet(`z.b d.h u.a i.d.r bzw sog vgl e.g i.e cf viz vs approx p.ej p.ex p.es т.е т.к напр bijv m.a.w
		tzn tj örn`)
	// lettered nouns stand before a letter that names one of them: "vitamin C".
	lettered = wordLists.Set("lettered")
)

// mostBesideDot is how many bytes beside a dot show whether it ends a sentence.
const mostBesideDot = 40

// IsAbbreviated reports whether the dot at the end of a text belongs to an abbreviation or an initial, so that the
// words behind it are of the same sentence: "Dr." before "Huber".
func IsAbbreviated(before, behind string) bool {
	before, behind = before[max(0, len(before)-mostBesideDot):], behind[:min(len(behind), mostBesideDot)]
	before = strings.TrimRight(before, " \t\u00a0\u202f\"'“”„«»*_()")
	said, dotted := strings.CutSuffix(before, ".")
	behind = strings.TrimLeft(behind, " \t\u00a0\u202f")
	next, size := utf8.DecodeRuneInString(behind)
	if !dotted || !unicode.IsLetter(next) && !unicode.IsDigit(next) && !strings.ContainsRune(`"“„«(`, next) {
		return false
	}
	from := strings.LastIndexAny(said, " \t\n\u00a0\u202f(\"“„«—–")
	last := said
	if from >= 0 {
		_, n := utf8.DecodeRuneInString(said[from:])
		last = said[from+n:]
	}
	lower := strings.ToLower(last)
	if within[lower] {
		return true
	}
	follows, _, _ := strings.Cut(strings.TrimRight(firstOf(behind), ".,;:!?"), "'")
	isName := unicode.IsUpper(next) && !isOpening(strings.ToLower(follows))
	if beforeNames[lower] || beforeNames[foldAccents(lower)] {
		return isName || unicode.IsLower(next) && lower != "st" || unicode.IsDigit(next)
	}
	letter, n := utf8.DecodeRuneInString(last)
	if n != len(last) || !unicode.IsLetter(letter) || last == "I" {
		return false
	}
	if initial := strings.HasPrefix(behind[size:], "."); initial && unicode.IsLetter(next) {
		return true // "z. B.", "J. R."
	}
	words := Words(said[:max(0, from)])
	if !unicode.IsUpper(letter) || !isName || len(words) == 0 {
		return unicode.IsUpper(letter) && isName
	}
	word := words[len(words)-1]
	return !lettered[word.Lower] && (word.Capital || letter == 'M') // "Ana M. Lopez", "avec M. Durand"
}

// firstOf returns the first word of a text.
func firstOf(s string) string {
	if end := strings.IndexFunc(s, unicode.IsSpace); end >= 0 {
		return s[:end]
	}
	return s
}

// isOpening reports whether a word in lower case often begins a sentence: a stop word of some language.
func isOpening(lower string) bool {
	return stopLanguages()[lower] != 0 && !nameParticles[lower] || selfSubjects[lower]
}
