package text

import (
	"slices"
	"strings"
)

// askingWords are question words without accents, by the code of the language: those that ask for a time, and others. The lists of stop
// words, made for documents, leave out most of them.
var askingWords = map[string]struct{ when, others string }{
	"ar": {"متى", "ماذا لماذا كيف أين من كم هل أي"},
	"da": {"hvornar", "hvad hvem hvor hvorfor hvordan hvilken hvilket hvilke hvis"},
	"de": {"wann", "was wer wen wem wessen wo wohin woher womit wofur woran worauf woruber wovon warum weshalb wieso wieviel wie"},
	"es": {"cuando", "que quien quienes donde adonde como cual cuales cuanto cuanta cuantos cuantas"},
	"fi": {"milloin", "mika mita mitka kuka keta kenen missa mihin mista miksi miten kuinka"},
	"fr": {"quand", "que quoi qui ou comment pourquoi combien quel quelle quels quelles lequel laquelle est-ce"},
	"hu": {"mikor", "mi mit ki kit kinek hol hova honnan miert hogyan mennyi hany melyik milyen"},
	"it": {"quando", "che chi cosa dove come perche quale quali quanto quanta quanti quante"},
	"nl": {"wanneer", "wat wie waar waarom waarheen hoe hoeveel welk welke"},
	"no": {"nar", "hva hvem hvor hvorfor hvordan hvilken hvilket hvilke"},
	"pt": {"quando", "que quem onde aonde como qual quais quanto quanta quantos quantas porque"},
	"ro": {"cand", "ce cine cui unde cum care cat cata cati cate"},
	"ru": {"когда", `что кто кого кому кем чем чего где куда откуда как какои какая какое какие какую каким какого почему зачем
		сколько чеи`},
	"sv": {"nar", "vad vem vilka vilken vilket var vart varfor hur"},
	"tr": {"ne zaman", "ne kim kime kimin nerede nereye nereden neden nicin nasil kac hangi"},
}

// unspacedWhen ask for a time in languages without spaces.
var unspacedWhen = map[string][]string{
	"ja": {"いつ", "何月", "何日", "何年", "何曜日"}, "zh": {"什么时候", "何时", "哪天", "哪一天", "哪年", "哪一年", "几月", "几号"}, "ko": {"언제", "며칠", "몇 월"},
	"th": {"เมื่อไ", "วันไหน", "วันที่เท่าไ"},
}

// selfWords are pronouns of the first person without accents, by the code of the language.
var selfWords = map[string]map[string]bool{
	"en": WordSet("i my me mine i'm i've"), "ar": WordSet("أنا"), "da": WordSet("jeg mig min mit mine"),
	"de": WordSet("ich mich mir mein meine meinen meinem meiner meines"), "es": WordSet("yo mi mis me conmigo"),
	"fi": WordSet("mina minun minua"),
	"fr": WordSet("je j moi mon ma mes me m"), "hu": WordSet("en engem nekem"), "it": WordSet("io mio mia miei mie mi me"),
	"ja": WordSet("私 僕 俺"), "nl": WordSet("ik mij mijn me"), "no": WordSet("jeg meg min mitt mine"),
	"pt": WordSet("eu meu minha meus minhas mim me"),
	"ro": WordSet("eu ma mie meu mea mei mele"), "ru": WordSet("я меня мне мнои мои моя мое моего моеи моих мою моем"),
	"sv": WordSet("jag mig min mitt mina"), "th": WordSet("ฉัน ผม"), "tr": WordSet("ben benim bana beni"), "zh": WordSet("我"),
}

// SaysI reports whether one speaks of oneself, in this language.
func (l Language) SaysI(said string, words []Word) bool {
	self := selfWords[l.String()]
	if l != English && !l.stems() {
		for w := range self {
			if strings.Contains(said, w) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(words, func(w Word) bool {
		if l == English {
			return self[w.Lower]
		}
		first, _, _ := strings.Cut(foldAccents(w.Lower), "'")
		return self[first]
	})
}

// AsksFact reports whether an English query begins by asking for a fact, rather than for something to be done.
func AsksFact(words []Word) bool {
	return len(words) > 0 && (words[0].Lower == "when" || questionWords[words[0].Lower])
}

// advising words ask for advice, and not for a fact.
var advising = WordSet("should can could would might may shall")

// offering words ask for options to choose from.
var offering = WordSet("you you'd some any good best better great recommend recommended suggest ideas options ways tips")

// AsksWhatIs reports whether an English question asks for a fact. "where does Ines live" and "has she a car" do.
// "what are some good hotels" does not.
func AsksWhatIs(words []Word) bool {
	return len(words) > 0 && (AsksFact(words) || auxiliaries[words[0].Lower]) &&
		!slices.ContainsFunc(words, func(w Word) bool { return advising[w.Lower] || offering[w.Lower] })
}

// AsksOwnFact reports whether an English question asks for a fact about the speaker. "where do I live" and "what's
// my dog's name" do. "what could I cook" does not.
func AsksOwnFact(words []Word) bool {
	if !AsksFact(words) || slices.ContainsFunc(words, func(w Word) bool { return advising[w.Lower] }) {
		return false
	}
	for i := 1; i < len(words); i++ {
		before := words[i-1].Lower
		if (words[i].Lower == "i" || words[i].Lower == "my") && (auxiliaries[before] || i == 1 && strings.HasSuffix(before, "'s")) {
			return true
		}
	}
	return false
}

// AsksWhen recognises questions about a time by their words. In English these words may stand anywhere (AsksWhen).
// In other languages it is the first word, or the second after a preposition.
func (l Language) AsksWhen(said string, words []Word) bool {
	switch {
	case l == English:
		return AsksWhen(said, words)
	case !l.stems():
		return slices.ContainsFunc(unspacedWhen[l.String()], func(when string) bool { return strings.Contains(said, when) })
	}
	when := foldAccents(askingWords[l.String()].when) + " "
	plain := foldAccents(Canonical(said)) + " "
	_, rest, _ := strings.Cut(plain, " ")
	return strings.HasPrefix(plain, when) || strings.HasPrefix(rest, when)
}
