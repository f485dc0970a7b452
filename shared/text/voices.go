package text

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What somebody passes on: a fence of code, a quotation, the rest of a mail from its header on; and by lines, quoted mail, what a role or
// tool is made to say, and markup or data.
var (
	passedBlock = regexp.MustCompile("(?s)```.*?(?:```|$)" +
		`|(?mi:^(?:from|von|de|da|van|subject|-+ ?(?:forwarded|original) message)\b[^\n]*(?::|-\s*)[^\n]*\n(?:(?s).*))`)
	quotation = regexp.MustCompile(`“[^”]*”|„[^“”]*[“”]|«[^»]*»|「[^」]*」|"[^"\n]*"|(?:^|[\s:(,])'\pL[^'\n]*(?:'\pL[^'\n]*)*'(?:$|[\s.,!?;)])`)
	// given is a text that a request is about: what stands behind its colon.
	given = regexp.MustCompile(`(?is)^\s*(?:please |can you |could you )?(?:translate|proofread|rephrase|rewrite|summari[sz]e|correct)\b` +
		`[^.!?:\n]*:\s(.+)$`)
	passedLine = regexp.MustCompile(`(?i)^\s*(?:>|[{<]\S|\[\{|\W{0,3}(?:system|assistant|user|human|ai|bot|developer|customer|agent` +
		`|tool(?: \w+)?|function(?: \w+)?|observation)\W{0,3}:)`)
	utterance = regexp.MustCompile(`^\s*(?:\[[\d:. ]+\] ?)?\p{L}[\p{L} .'-]{0,30}: (?:\S+ ){2,}\S`)
	passage   = regexp.MustCompile(`[^.!?。！？\n]+[.!?。！？\n]*|[.!?。！？\n]+`)
	// reported is reported speech by how it opens; of what is told of "the user", the whole is.
	reported = regexp.MustCompile(`^\W*(?i:(?:according to|laut|selon|d'après|según|secondo|segundo|volgens|по словам)\b` +
		`|(?:(?:the|a|an|this|that|my|our|his|her|their|some)(?: [\p{L}'’-]+){1,4}?|(?-i:\p{Lu}\p{L}+)|he|she|they) ` +
		`(?:says?|said|claims?|claimed|states?|stated|writes|wrote|reports?|reported|told (?:me|us)|ends with)\b)(?: that)?`)
	aboutUser = regexp.MustCompile(`^\W*(?i:(?:the|this|der|die|le|el|la|il|o|de)\s` +
		`(?:user|nutzer|nutzerin|usuario|utente|usuário|gebruiker)\b|l['’]utilisateur|пользователь)|^\W*(?:用户|ユーザー)`)
)

// A quotation is somebody's words where it has that many words in small letters, or letters of a script that has none; others may be
// names and titles.
const quotedWords, quotedRunes = 3, 10

// Voices parts what somebody said into what they say for themself, and what they pass on of others: quotations, mails, transcripts, code
// and data, reported speech, and claims about "the user". Every word is in one of the two, in its order.
func Voices(s string) (own, others string) {
	var mine, passed strings.Builder
	pass := func(part string) { passed.WriteString(part + "\n") }
	if at := given.FindStringSubmatchIndex(s); at != nil {
		pass(s[at[2]:])
		s = s[:at[2]]
	}
	rest := passedBlock.ReplaceAllStringFunc(s, func(block string) string { pass(block); return "\n" })
	rest = quotation.ReplaceAllStringFunc(rest, func(q string) string {
		if strings.TrimSpace(rest) == q || !isSpeech(q) { // a turn that is all quotation has nobody else to be of
			return q
		}
		end := len(q)
		if strings.HasPrefix(strings.TrimLeft(q, "(:, \t\n"), "'") {
			end = strings.LastIndexByte(q, '\'') + 1 // what is behind single marks tells them from apostrophes
		}
		pass(q[:end])
		return " " + q[end:]
	})
	lines := strings.Split(rest, "\n")
	utterances := 0
	for _, l := range lines {
		if utterance.MatchString(l) {
			utterances++
		}
	}
	for _, l := range lines {
		if passedLine.MatchString(l) || utterances > 1 && utterance.MatchString(l) {
			pass(l)
			continue
		}
		for _, c := range passage.FindAllString(l, -1) {
			switch at := reported.FindStringIndex(c); {
			case aboutUser.MatchString(c):
				pass(c)
			case at != nil:
				mine.WriteString(c[:at[1]] + "\n")
				pass(c[at[1]:])
			default:
				mine.WriteString(c)
			}
		}
		mine.WriteString("\n")
	}
	return strings.TrimSpace(mine.String()), strings.TrimSpace(passed.String())
}

// isSpeech tells a quotation of words from one of a name or title.
func isSpeech(quoted string) bool {
	small, caseless := 0, 0
	for _, w := range strings.Fields(quoted) {
		if first, _ := utf8.DecodeRuneInString(strings.TrimLeft(w, "\"“„«「'(:,")); unicode.IsLower(first) {
			small++
		}
	}
	for _, r := range quoted {
		if unicode.Is(unicode.Lo, r) {
			caseless++
		}
	}
	return small >= quotedWords || caseless >= quotedRunes
}
