package text

import "sync"

// questionWords are the English question words other than "when".
var questionWords = WordSet("what what's which who who's whom whose where where's why how how's")

// IsQuestionWord reports whether a lower-case English word asks for something other than a time.
func IsQuestionWord(lower string) bool { return questionWords[lower] }

// askingWords are question words without accents, by the code of the language. when asks for a time, and others ask
// for something else. The lists of stop words were made for documents, and lack most of these words.
var askingWords = map[string]struct{ when, others string }{
	"ar": {"متى", "ماذا لماذا كيف أين من كم هل أي"},
	"da": {"hvornar", "hvad hvem hvor hvorfor hvordan hvilken hvilket hvilke hvis"},
	"de": {
		"wann", "was wer wen wem wessen wo wohin woher womit wofur woran worauf woruber wovon warum weshalb wieso " +
			"wieviel wie",
	},
	"es": {"cuando", "que quien quienes donde adonde como cual cuales cuanto cuanta cuantos cuantas"},
	"fi": {"milloin", "mika mita mitka kuka keta kenen missa mihin mista miksi miten kuinka"},
	"fr": {"quand", "que quoi qui ou comment pourquoi combien quel quelle quels quelles lequel laquelle est-ce"},
	"hu": {"mikor", "mi mit ki kit kinek hol hova honnan miert hogyan mennyi hany melyik milyen"},
	"it": {"quando", "che chi cosa dove come perche quale quali quanto quanta quanti quante"},
	"nl": {"wanneer", "wat wie waar waarom waarheen hoe hoeveel welk welke"},
	"no": {"nar", "hva hvem hvor hvorfor hvordan hvilken hvilket hvilke"},
	"pt": {"quando", "que quem onde aonde como qual quais quanto quanta quantos quantas porque"},
	"ro": {"cand", "ce cine cui unde cum care cat cata cati cate"},
	"ru": {"когда", `что кто кого кому кем чем чего где куда откуда как какои какая какое какие какую каким какого
		почему зачем
		сколько чеи`},
	"sv": {"nar", "vad vem vilka vilken vilket var vart varfor hur"},
	"tr": {"ne zaman", "ne kim kime kimin nerede nereye nereden neden nicin nasil kac hangi"},
}

// unspacedWhen are the words that ask for a time in languages without spaces.
var unspacedWhen = map[string][]string{
	"ja": {"いつ", "何月", "何日", "何年", "何曜日"}, "zh": {"什么时候", "何时", "哪天", "哪一天", "哪年", "哪一年", "几月", "几号"},
	"ko": {"언제", "며칠", "몇 월"}, "th": {"เมื่อไ", "วันไหน", "วันที่เท่าไ"},
}

// WhenWords returns the words that ask for a time in this language, without accents. English has none here, because
// its "when" has other uses.
func (l Language) WhenWords() []string {
	if when := askingWords[l.String()].when; when != "" && l.stems() {
		return []string{foldAccents(when)}
	}
	return unspacedWhen[l.String()]
}

// IsQuestionWord reports whether a word is a question word of this language. The word is in lower case without
// accents. English has no such list.
func (l Language) IsQuestionWord(folded string) bool { return askingSet()[l][folded] }

// askingSet has the question words of each language, without accents.
var askingSet = sync.OnceValue(func() (out [len(languages)]map[string]bool) {
	for l, language := range languages {
		asking := askingWords[language.code]
		out[l] = WordSet(foldAccents(asking.when + " " + asking.others))
	}
	return out
})
