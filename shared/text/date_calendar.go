package text

import (
	"regexp"
	"slices"
)

// calendar holds the data that the date library lacks for a language.
type calendar struct {
	// back and ahead are words next to a weekday or month that give a direction. never, before a word of dates,
	// makes it a habit or another word ("guten Morgen"). inside are words of time that the library recognises only
	// within phrases.
	back, ahead, never, inside map[string]bool
	// within, before a number of units, makes them a duration ("in 3 Tagen geschafft"). Exceptions are a sentence
	// with a word of the future (will), and a language that uses the present for the future if no word is of the
	// past (done).
	within     string
	will, done *regexp.Regexp
	// idioms contain words of time without a time.
	idioms []string
}

// calendars are by the codes of languages.
var calendars = map[string]calendar{
	"de": {
		back:   WordSet("letzten letzter letzte letztes vergangenen vorigen"),
		ahead:  WordSet("nächsten nächster nächste kommenden kommender"),
		never:  WordSet("guten schönen am jeden jeder diesen heute gestern der den vor über frau herr herrn familie"),
		within: "in", idioms: []string{"von heute auf morgen", "von gestern auf heute", "heute oder morgen"},
		done: regexp.MustCompile(`^(?:(?:ab|an|auf|aus|ein|vor|zu|weg|hin|los|her|mit)?ge.{2,}(?:t|en)|.*[^aeiou]te(?:n|st|t)?|.+iert|` +
			`ha(?:t|st|be|ben|bt)|war(?:en|st)?|wurden?)$`),
	},
	"es": {
		back: WordSet("pasado pasada"), ahead: WordSet("próximo próxima proximo proxima"),
		never:  WordSet("la esta una cada todos todas los las buena de pasado"),
		within: "en", will: regexp.MustCompile(`^(?:voy|vas|va|vamos|vais|van|.+(?:ré|rás|rá|remos|réis|rán))$`),
		idioms: []string{"hoy en día", "hoy en dia", "hoy por hoy", "hoy día", "de hoy en adelante"},
	},
	"fr": {
		back: WordSet("dernier dernière derniere"), ahead: WordSet("prochain prochaine"),
		never:  WordSet("chaque les tous avant après apres"),
		idioms: []string{"d'hier et d'aujourd'hui", "au jour d'aujourd'hui"},
	},
	"it": {
		back: WordSet("scorso scorsa passato passata"), ahead: WordSet("prossimo prossima"),
		never:  WordSet("ogni tutti i le un altro l'altro dopo"),
		within: "in", will: regexp.MustCompile(`^.+(?:rò|rai|rà|remo|rete|ranno)$`),
		idioms: []string{"al giorno d'oggi", "oggi come oggi", "dall'oggi al domani"},
	},
	"nl": {
		back: WordSet("afgelopen vorige"), ahead: WordSet("volgende komende aanstaande"),
		never:  WordSet("elke iedere goede in de over mevrouw meneer familie"),
		within: "in", will: regexp.MustCompile(`^(?:zal|zult|zullen|ga|gaat|gaan)$`),
		idioms: []string{"vandaag de dag", "van vandaag op morgen"},
	},
	"pl": {
		back: WordSet("zeszły zeszłą ubiegły ubiegłą"), ahead: WordSet("przyszły przyszłą następny następną najbliższy"),
		never: WordSet("każdy każdą co po przed"), inside: WordSet("tygodniu miesiącu roku"),
		within: "w", will: regexp.MustCompile(`^będ(?:ę|ziesz|zie|ziemy|ziecie|ą)$`),
	},
	"pt": {
		back: WordSet("passado passada"), ahead: WordSet("próximo próxima proximo proxima"),
		never:  WordSet("toda todo cada de"),
		within: "em", will: regexp.MustCompile(`^(?:vou|vais|vai|vamos|vão|.+(?:rei|rás|rá|remos|rão))$`),
		idioms: []string{"hoje em dia"},
	},
	"ru": {
		back: WordSet("прошлый прошлую прошлое"), ahead: WordSet("следующий следующую следующее"),
		never: WordSet("каждый каждую каждое после"), inside: WordSet("неделе месяце году"),
	},
	"ja": {}, "zh": {}, "ko": {inside: WordSet("주 달 전 후")},
}

// toCome reports whether the words are about the future.
func (c calendar) toCome(lower []string) bool {
	return c.will != nil && slices.ContainsFunc(lower, c.will.MatchString) ||
		c.done != nil && !slices.ContainsFunc(lower, c.done.MatchString)
}

// towards is the direction that a word gives to a weekday or month.
func (c calendar) towards(word string) int {
	switch {
	case c.back[word]:
		return -1
	case c.ahead[word]:
		return 1
	}
	return 0
}
