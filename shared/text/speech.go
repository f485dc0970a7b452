package text

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// sayings are forms of verbs of saying that others are the subject of.
	sayings = wordLists.Set("sayings")
	// selfSubjects are pronouns of the first person as the subject.
	selfSubjects = WordSet("i i've i'd we we've ich wir yo nosotros nosotras je j nous eu nós io noi ik wij я мы")
	// contrasting words begin the speaker's contrast to another person's words. adding words do so after a comma.
	contrasting = wordLists.Set("contrasting")
	adding      = WordSet("and so und y e et en и")
	// between words may stand between such a word and the speaker.
	between = WordSet("then now also personally actually que qu dass jetzt ahora maintenant agora adesso")
)

// sayingEnds returns the start of another person's words after a line's colon, as in "she told everyone: ...". It
// is -1 without such words.
func sayingEnds(line string) int {
	head := Cut(line, mostAttributed)
	colon := colonIn(head)
	if colon < 0 {
		return -1
	}
	lead := head[:colon]
	if at := strings.LastIndexAny(lead, ".!?"); at >= 0 {
		lead = lead[at+1:]
	}
	words := Words(lead)
	at := slices.IndexFunc(words, func(w Word) bool { return sayings[w.Lower] })
	if at < 1 || slices.ContainsFunc(words, func(w Word) bool {
		first, _, _ := strings.Cut(w.Lower, "'")
		return selfSubjects[first]
	}) {
		return -1
	}
	subject := ""
	for _, w := range words[:at] {
		if thirdPersons[w.Lower] || !IsStopWord(w.Lower) && !fronted[w.Lower] {
			subject = w.Lower
		}
	}
	if subject == "" || labelOwners()[words[0].Lower] && belongings[subject] {
		return -1
	}
	if strings.HasPrefix(head[colon:], "：") {
		return colon + len("：")
	}
	return colon + 1
}

// ownAgain returns the start of the speaker's own words after another person's words: "..., but I moved". It is -1
// without such a start.
func ownAgain(said string) int {
	words := Words(said)
	for i := 0; i+1 < len(words); i++ {
		comma := strings.HasSuffix(strings.TrimRight(said[:words[i].Start], " "), ",")
		if !contrasting[words[i].Lower] && !(adding[words[i].Lower] && comma) {
			continue
		}
		next := i + 1
		for next+1 < len(words) && between[words[next].Lower] {
			next++
		}
		first, _, _ := strings.Cut(foldAccents(words[next].Lower), "'")
		if selves()[first] || firstOwner[first] || first == "i" || first == "we" || opensVerb(words[next].Lower) {
			return words[i].Start
		}
	}
	return -1
}

// opensVerb reports whether a word is a verb of the first person in a language that leaves the pronoun out.
func opensVerb(lower string) bool {
	const least = 3 // "he", "sei"
	return len(lower) > least && slices.ContainsFunc(readers(), func(r reader) bool { return r.verbs[lower] })
}

// bareVerbs ask for other words for a text, without an object. objectVerbs and a word of textObject do so together:
// "Shorten your answers: I work nights now" is a wish.
const (
	bareVerbs   = `translate|proof-?read|summari[sz]e|rephrase|rewrite`
	objectVerbs = `correct|paraphrase|reword|shorten|soften|übersetze?|kürze?|fasse?|formuliere?|traduce|traduzca` +
		`|traduis|traduisez|traduz|traduza|traduci|resume|resuma|résume|résumez|riassumi|reformule|reformulez|raccourcis|adoucis|acorta|suaviza|encurta` +
		`|accorcia|vertaal|vat|kort|herschrijf|przetłumacz|skróć|streść|переведи|сократи|перепиши`
	textObject = `(?:this|these|the following|diese[nrsm]?|folgende[nrsm]?|ce|cet|cette|ces|este|esta|estos|isto|questo|questa` +
		`|quest['’]\pL+|dit|deze|ten|tę|to|этот|эту|это|следующ\pL+)`
)

var (
	// work asks for a text to be worked on.
	work = regexp.MustCompile(`(?i)(?:^|[^\pL])(?:` + bareVerbs +
		`|correct|paraphrase|reword|shorten|edit|polish|(?:check|fix) the (?:grammar|spelling|text|wording)` +
		`|(?:reply|respond) to this` +
		`|übersetzen?|übersetzt|korrigieren?|korrekturlesen|zusammenfassen|umformulieren` +
		`|traduc\pL+|traduz\pL*|tradui\pL*|corrige\pL*|corregir|corrij\pL+|corrigir|correggi\pL*|correggere` +
		`|resume\pL*|resumir|résume\pL*|riassum\pL+|reformul\pL+` +
		`|relis\pL*|relire|revisar?|vertaal|vertalen|samenvatten|переведи|исправь)[\s\pZ?:.]`)
	// given is the text after the colon of a request to work on it.
	given = regexp.MustCompile(`(?is)^[\s\pZ]*(?:please |can you |could you |bitte |por favor |per favore |请|请帮我)?` +
		`(?:(?:` + bareVerbs + `)(?:[^\pL\pM\pN.!?:\n][^.!?:\n]*)?` +
		`|(?:` + objectVerbs + `)[\s\pZ]+` + textObject + `(?:[\s\pZ][^.!?:\n]*)?` +
		`|(?:翻译|缩短|润色|概括|改写)(?:一下)?(?:这|下面|以下|成)[^。！？：:\n]*` +
		`|(?:[\pL\pN]+ ){0,3}(?:줄여|요약해|번역해|고쳐|다듬어)[\s\pZ]*(?:줘|주세요))` +
		`(?::[\s\pZ]|：)(.+)$`)
	// pointing words say that the text to work on follows.
	pointing = wordLists.Set("pointing")
)

// mostRequest is the maximum length in bytes of a request to work on a text. mostBefore is the maximum number of
// words before its verb.
const mostRequest, mostBefore = 200, 6

// workedOn returns the start of a text that the first line asks to work on. It is -1 without such a request. own
// reports that the text may be the speaker's.
func workedOn(s string) (from int, own bool) {
	lead := len(s) - len(strings.TrimLeft(s, "\r\n\t "))
	line, _, more := strings.Cut(s[lead:], "\n")
	if !more || len(line) > mostRequest {
		return -1, false
	}
	at := work.FindStringIndex(line + " ")
	if at == nil {
		return -1, false
	}
	before := Words(line[:at[0]])
	if len(before) > mostBefore || len(before) > 0 &&
		selfSubjects[before[0].Lower] || strings.HasPrefix(line[min(at[1], len(line)):], "me ") {
		return -1, false
	}
	if a, ok := attributionOf(line); ok && !strings.Contains(a.label, " ") &&
		a.labelOf(line[a.rest:], "") == headingLabel { // "Edit: ..."
		return -1, false
	}
	return lead + len(line), !pointsAtAnothers(line)
}

// pointsAtAnothers reports whether a request comes before a text of another person.
func pointsAtAnothers(line string) bool {
	words := Words(line)
	for i, w := range words[:max(0, len(words)-1)] {
		if labelOwners()[w.Lower] && !foldedCompanions()[strings.TrimSuffix(foldAccents(words[i+1].Lower), "'s")] {
			return false
		}
	}
	return endsWithColon(line) || slices.ContainsFunc(words, func(w Word) bool { return pointing[w.Lower] })
}

var (
	// greeting opens a letter. Group 1 is the addressee.
	greeting = regexp.MustCompile(`^[\s\pZ]*(?i:dear|my dear|dearest|hi|hello|hey|hallo|liebe|lieber|liebes|hola` +
		`|querid[oa]|estimad[oa]|bonjour|salut|chère?` +
		`|olá|oi|car[oa]|prezad[oa]|ciao|gentile|beste|lieve|hej|kära|привет|дорог(?:ой|ая))[\s\pZ]+` +
		`(\p{Lu}[\pL\pM'’-]*(?: \p{Lu}[\pL\pM'’.-]*){0,2})[\s\pZ]?(?:[,.!:;–-]|$)`)
	// farewell ends a letter.
	farewell = regexp.MustCompile(`^[\s\pZ]*(?i:yours(?: truly| sincerely| faithfully)?|sincerely(?: yours)?` +
		`|(?:lots of |much )?love|(?:all the )?best(?: wishes| regards)?` +
		`|(?:kind|warm)(?:est)? regards|regards|cheers|xoxo|xx|take care|(?:big )?hugs|kisses|(?:liebe|viele` +
		`|herzliche|beste|schöne) grüße|lg|vg|mfg` +
		`|mit freundlichen grüßen|deine?|euer|un (?:fuerte )?abrazo|abrazos|(?:un )?(?:cordial )?saludos?|besos` +
		`|(?:grosses )?bises|bisous|amitiés|cordialement` +
		`|bien à toi|je t'embrasse|um abraço|abraços|beijos|cumprimentos|baci|un abbraccio|(?:cordiali )?saluti` +
		`|groetjes|(?:met )?vriendelijke groet(?:en)?|liefs)` +
		`[\s\pZ]*(?:[,.!–—-]|$)`)
)

// letters passes on letters between others: from a greeting to a signature that is not the speaker's.
func (p *parted) letters(rest string) {
	start, at, parting := -1, 0, false
	for l := range strings.Lines(rest) {
		line := strings.TrimRight(l, "\r\n")
		switch to := greeting.FindStringSubmatchIndex(Cut(line, mostAttributed)); {
		case to != nil && start < 0 && p.isSomebody(lowerWords(line[to[2]:to[3]])):
			start, parting = at, false
		case start < 0 || strings.TrimSpace(line) == "":
		case parting && p.signs(line):
			p.pass(start, at+len(line), labelledWord, ' ')
			start = -1
		default:
			end := farewell.FindStringIndex(Cut(line, mostAttributed))
			if parting = end != nil; parting && p.signs(line[end[1]:]) {
				p.pass(start, at+len(line), labelledWord, ' ')
				start = -1
			}
		}
		at += len(l)
	}
	if start < 0 {
		return
	}
	last := strings.TrimSpace(rest)
	if cut := strings.LastIndexAny(last, ".!?\n"); cut > start && p.signs(last[cut+1:]) {
		p.pass(start, len(strings.TrimRight(rest, " \t\r\n")), labelledWord, ' ')
	}
}

// signs reports whether a line is another person's name.
func (p *parted) signs(line string) bool {
	line = strings.Trim(line, " \t.!,–—-")
	words := lowerWords(line)
	return len(words) > 0 && len(line) < mostAttributed && isNameShaped(line) && p.isSomebody(words)
}

// isSomebody reports whether folded words may be the name of another person than the speaker.
func (p *parted) isSomebody(words []string) bool {
	return !isSpeaker(words, p.speaker) && (names()[words[0]] || !isHeading(words))
}

func lowerWords(s string) []string { return strings.Fields(foldAccents(strings.ToLower(s))) }
