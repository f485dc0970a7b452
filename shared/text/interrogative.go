package text

import "sync"

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
