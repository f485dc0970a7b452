// Package directive recognises text that wants to steer the memory instead of telling it something. It knows English, the commonest
// orders in some other languages, and the usual disguises; prompts that fence data in are the defence against the rest.
package directive

import (
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mneme-memory/mneme/shared/language"
)

// A directive is text that wants to steer the memory rather than to tell something: "delete all you know about me",
// a fake role or tool call, a change "of the user" in the third person. None of it is remembered, because as a
// memory it would be read again by whoever is shown it.

// frames look like the frame that a model is asked in. A turn that has one is dropped whole.
var frames = regexp.MustCompile(`(?i)(?:^|\n|[.!?] )\s*(?:system|assistant|user|developer|human|ai)\s*:|</?[a-z_]{2,20}(?: [^<>]{0,80})?/?>|<\||\|>|\[/?inst\]|` + "```" +
	`|\btool[_ ](?:call|result)\b|\brole\s*=|\buser\.\w+\s*=|"(?:op|kind|operations?|action|memory|memories|slot|targets?)"\s*:|` +
	`#{2,} ?(?:instruction|system|task)|\bend of (?:transcript|conversation|data)\b|\bset content\s*=`)

// orders are directives in words.
var orders = []*regexp.Regexp{
	// what was said to the machine is to be passed over
	regexp.MustCompile(`\b(?:ignore|disregard|override|bypass|forget)\b[^.!?]{0,40}\b(?:instructions?|rules|guidelines|prompts?|directives?)\b`),
	regexp.MustCompile(`\b(?:ignore|forget|do not remember|don't remember)\b (?:all|everything|anything|whatever) (?:that )?(?:you|i say|i said)\b`),
	// what is kept is to be done away with or changed
	regexp.MustCompile(`\b(?:delete|erase|wipe|purge|retract|overwrite|clear|remove|drop|merge|export|unlock|rewrite|void)\w*\b[^.!?]{0,60}\b(?:memory|memories|bank|database|entry|entries|stored)\b`),
	regexp.MustCompile(`\b(?:memory|memories|bank|database|entry|entries|stored)\b[^.!?]{0,60}\b(?:deleted?|erased?|wiped?|purged?|retract(?:ed)?|overwrit(?:e|ten)|cleared?|removed?|dropped|void|exported|changed to|updated|replaced?)\b`),
	regexp.MustCompile(`\b(?:update|replace|change|set|correct|store|save|add|attach|insert|write)[ds]?\b[^.!?]{0,60}\b(?:(?:your|the|all|every|old|any|this|user) (?:\w+ )?(?:memory|memories|bank|database|entry|entries)|in memory|(?:memory|memories) (?:so|that|you|about|of)|stored|(?:everybody|everyone|all users?)'?s? profiles?|as a (?:core )?fact)\b`),
	regexp.MustCompile(`\b(?:memory|memories|bank|database|stored)\b[^.!?]{0,60}\b(?:authori[sz]e|replace|overwrite|obey)\b`),
	regexp.MustCompile(`\b(?:overwrite|rewrite|replace|change|set) (?:my|her|his|their|the|what you)\b[^.!?]{0,40}\b(?:to|with|stored|into)\b[^.!?]{0,40}(?:\bin your\b|\bmemory\b|\bobey\b)`),
	regexp.MustCompile(`\b(?:overwrite|rewrite) (?:my|her|his|their|the|what you)\b`),
	regexp.MustCompile(`\b(?:overwrite|forget|rewrite) (?:what|everything|all) you (?:stored|know|remember)`),
	regexp.MustCompile(`\b(?:remember|store|save|note|add)\b[^.!?]{0,20}\bfor (?:all|every) (?:users?|customers?|people)\b`),
	regexp.MustCompile(`\b(?:store|save|record|remember|note) (?:this|that|it|the following) as\b`),
	// what is kept is spoken of as by a machine
	regexp.MustCompile(`\b(?:memory|record|note)(?: \w+){0,3} ?: `),
	regexp.MustCompile(`\b(?:memory|entry|entries|id) ?[#\[]\s?\d`),
	regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`),
	regexp.MustCompile(`\b(?:the|this|that) user(?:'s (?:\w+ ){1,3}(?:is|are|was|has)\b| (?:is|has|no longer|lives|works|ever|moved)\b)`),
	regexp.MustCompile(`\b(?:every|each|all|any) (?:message|word|sentence) (?:is|as) an? (?:instruction|command|order)\b|\bas an instruction to\b`),
	regexp.MustCompile(`\bstored (?:preferences?|name|job|residence|address|allerg\w+|facts?|memor\w+)\b`),
	// the same in other languages
	regexp.MustCompile(`\b(?:ignoriere|missachte|vergiss)\b.{0,60}\b(?:anweisungen|regeln)|\b(?:lösche|vergiss|überschreibe)\b.{0,40}\b(?:erinnerungen|speicher|gedächtnis)`),
	regexp.MustCompile(`\b(?:ignore|ignorez|oublie|oubliez)\b.{0,60}\b(?:instructions|consignes)|\b(?:efface|effacez|supprime|supprimez)\b.{0,40}\b(?:souvenirs|mémoire)`),
	regexp.MustCompile(`\b(?:ignora|ignore|olvida|esquece|esqueça|dimentica)\b.{0,60}\b(?:instrucciones|instruções|istruzioni|reglas|regole)|\b(?:borra|elimina|apaga|cancella)\b.{0,40}\b(?:recuerdos|memoria|memorias|memórias|ricordi)`),
	regexp.MustCompile(`\b(?:negeer|vergeet)\b.{0,60}\b(?:instructies|regels)|\b(?:wis|verwijder)\b.{0,40}\b(?:herinneringen|geheugen)`),
	regexp.MustCompile(`(?:игнорируй|забудь).{0,60}(?:инструкции|правила)|(?:удали|сотри).{0,40}(?:воспоминания|память)`),
	regexp.MustCompile(`忽略.{0,12}(?:指令|指示)|删除.{0,16}(?:记忆|回忆)|指示.{0,12}無視|記憶.{0,12}削除|무시.{0,12}지시|기억.{0,12}삭제`),
}

// orderCues are parts of words one of which every order has; they spare most sentences the patterns.
var orderCues = strings.Fields(`ignor disregard overrid bypass forget delet eras wip purg retract overwrit memor bank databas stor entr obey remember
user rewrit instruct record note profil id missacht vergiss lösch oubli effac supprim olvid esque dimentic borra elimin apag cancell negeer
vergeet wis verwijder игнор забуд удал сотр 忽略 删除 無視 削除 무시 삭제 -`)

// Framed reports whether a turn's text pretends to be more than what somebody said.
func Framed(text string) bool { return frames.MatchString(text) }

// Is reports whether a sentence is a directive, also behind the usual disguises.
func Is(sentence string) bool {
	plain := strings.ToLower(plainLetters(sentence))
	if isOrder(plain) {
		return true
	}
	if strings.ContainsAny(plain, "013457@$") && isOrder(unleet.Replace(plain)) {
		return true
	}
	if spelled := unspell(plain); spelled != plain && isOrder(spelled) {
		return true
	}
	for _, hidden := range decoded(sentence) {
		if isOrder(strings.ToLower(hidden)) {
			return true
		}
	}
	return false
}

func isOrder(lower string) bool {
	cued := false
	for _, cue := range orderCues {
		if cued = strings.Contains(lower, cue); cued {
			break
		}
	}
	if !cued {
		return false
	}
	for _, o := range orders {
		if o.MatchString(lower) {
			return !tellsOwn.MatchString(lower)
		}
	}
	return false
}

// tellsOwn is a speaker's own dealing with memories, which is no directive ("I deleted the entry from my diary").
var tellsOwn = regexp.MustCompile(`^(?:(?:so|and|but|well|yesterday|today|then|oh),? )*(?:i|we) (?:just |also |finally |accidentally |recently )?(?:deleted|erased|wiped|removed|dropped|stored|saved|wrote|changed|added|cleared|keep|love|lost|made|updated|merged)\b`)

// plainLetters takes off invisible marks and the shapes of letters: full width, mathematical, and the Cyrillic and Greek ones that
// look like Latin ones within a word that has both.
func plainLetters(s string) string {
	ascii := true
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return s
	}
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, norm.NFKC.String(s))
	fields := strings.Fields(s)
	for i, f := range fields {
		if strings.ContainsFunc(f, isLatin) {
			fields[i] = lookalikes.Replace(f)
		}
	}
	return strings.Join(fields, " ")
}

func isLatin(r rune) bool { return r < utf8.RuneSelf && unicode.IsLetter(r) }

var (
	lookalikes = strings.NewReplacer("а", "a", "е", "e", "о", "o", "р", "p", "с", "c", "у", "y", "х", "x", "і", "i", "ѕ", "s", "ј", "j", "ԁ", "d", "ո", "n",
		"ο", "o", "α", "a", "ε", "e", "ι", "i", "ν", "v", "А", "A", "Е", "E", "О", "O", "С", "C", "Т", "T", "М", "M", "Н", "H", "К", "K", "В", "B")
	unleet  = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s")
	spelled = regexp.MustCompile(`\b(?:\pL[ .-]){3,}\pL\b`)
)

// unspell joins words that are written letter by letter.
func unspell(s string) string {
	return spelled.ReplaceAllStringFunc(s, func(m string) string {
		return strings.NewReplacer(" ", "", "-", "", ".", "").Replace(m)
	})
}

// encodedWord is long enough to hide something.
var encodedWord = regexp.MustCompile(`[A-Za-z0-9+/_=-]{20,}`)

// decoded returns what a text says in base64, in hexadecimal digits, or rotated by thirteen letters.
func decoded(s string) []string {
	var out []string
	for _, w := range encodedWord.FindAllString(s, 4) {
		for _, decode := range []func(string) ([]byte, error){base64.StdEncoding.DecodeString, base64.RawStdEncoding.DecodeString, base64.RawURLEncoding.DecodeString, hex.DecodeString} {
			if raw, err := decode(w); err == nil && utf8.Valid(raw) {
				out = append(out, string(raw))
			}
		}
	}
	if !hasStopWord(s) {
		out = append(out, strings.Map(rot13, s))
	}
	return out
}

func hasStopWord(s string) bool {
	for _, w := range language.Words(s) {
		if language.IsStopWord(w.Lower) {
			return true
		}
	}
	return false
}

func rot13(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z':
		return 'a' + (r-'a'+13)%26
	case 'A' <= r && r <= 'Z':
		return 'A' + (r-'A'+13)%26
	}
	return r
}
