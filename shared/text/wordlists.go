package text

import (
	_ "embed"
	"strings"
	"sync"
)

// IsStopWord reports whether a lower-case word is a stop word: a pronoun, article, auxiliary, preposition,
// conjunction or contraction of these.
func IsStopWord(lower string) bool { return stopWords[lower] }

var stopWords = wordLists.Set("stopWords")

// words.txt has the long lists of words of this package.
//
//go:embed words.txt
var wordFile string

var wordLists = ReadWordLists(wordFile)

// WordLists are lists of words by their names. Blanks separate the words of a list.
type WordLists map[string]string

// ReadWordLists reads a file of lists. A line has a list's name in brackets, and the next lines have its words. A line
// that begins with "#" is a comment.
func ReadWordLists(file string) WordLists {
	out, name := WordLists{}, ""
	for line := range strings.Lines(file) {
		line = strings.TrimSpace(line)
		if inside, ok := strings.CutPrefix(line, "["); ok {
			name = strings.TrimSuffix(inside, "]")
		} else if !strings.HasPrefix(line, "#") {
			out[name] = strings.TrimSpace(out[name] + " " + line)
		}
	}
	return out
}

// Set returns the words of a list. It panics for a name without a list, which is a mistake of the program.
func (l WordLists) Set(name string) map[string]bool {
	words, ok := l[name]
	if !ok {
		panic("there is no list of words " + name)
	}
	return WordSet(words)
}

// WordSet makes a set of the words of a list, which blanks separate.
func WordSet(list string) map[string]bool {
	words := strings.Fields(list)
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}

// Union is the words of all sets.
func Union(sets ...map[string]bool) map[string]bool {
	out := map[string]bool{}
	for _, s := range sets {
		for k := range s {
			out[k] = true
		}
	}
	return out
}

// questionWords are the English question words other than "when".
var questionWords = WordSet("what what's which who who's whom whose where where's why how how's")

// IsQuestionWord reports whether a lower-case English word asks for something other than a time.
func IsQuestionWord(lower string) bool { return questionWords[lower] }

// unspacedWhen are the words that ask for a time in languages without spaces.
var unspacedWhen = map[string][]string{
	"ja": {"いつ", "何月", "何日", "何年", "何曜日"}, "zh": {"什么时候", "何时", "哪天", "哪一天", "哪年", "哪一年", "几月", "几号"},
	"ko": {"언제", "며칠", "몇 월"}, "th": {"เมื่อไ", "วันไหน", "วันที่เท่าไ"},
}

// WhenWords returns the words that ask for a time in this language, without accents. English has none here, because
// its "when" has other uses.
func (l Language) WhenWords() []string {
	if when := wordLists["when "+l.String()]; when != "" && l.stems() {
		return []string{foldAccents(when)}
	}
	return unspacedWhen[l.String()]
}

// IsQuestionWord reports whether a word is a question word of this language. The word is in lower case without
// accents. English has no such list.
func (l Language) IsQuestionWord(folded string) bool { return askingSet()[l][folded] }

// askingSet has the question words of each language, without accents. The words "when" ask for a time, and "asking"
// for something else. The lists of stop words were made for documents, and lack most of these words.
var askingSet = sync.OnceValue(func() (out [len(languages)]map[string]bool) {
	for l, language := range languages {
		out[l] = WordSet(foldAccents(wordLists["when "+language.code] + " " + wordLists["asking "+language.code]))
	}
	return out
})

// irregularForms has the base form and then its irregular forms, a line each. It leaves out forms that are mostly
// another word, such as "rose", "ground" and "bit".
//
//go:embed irregular.txt
var irregularForms string

// baseForms maps the stem of an irregular form to the stem of its base form.
var baseForms = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(irregularForms) {
		forms := strings.Fields(line)
		if len(forms) == 0 {
			continue
		}
		for _, form := range forms[1:] {
			out[Stem(form)] = Stem(forms[0])
		}
	}
	return out
})

// BaseForm returns the stem of the base form for the stem of an irregular English form: "grow" for "grew". It returns
// any other stem as it is. Stem itself keeps irregular forms apart.
func BaseForm(stem string) string {
	if base, ok := baseForms()[stem]; ok {
		return base
	}
	return stem
}
