package embedded

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// greeting matches a text that only greets, with the name of the greeted: "Good afternoon Thorvald Brekke."
var greeting = regexp.MustCompile(`^(?i:(?:good|guten?|buen[ao]s?|bo[am]) (?:morning|afternoon|evening|day|night|morgen|tag|abend` +
	`|días|tardes|noches|dia|tarde|noite)|hi|hello|hey|hallo|hola|bonjour|bonsoir|salut|olá|ciao|buongiorno|buonasera|hej|hoi` +
	`|(?:it's |it is )?(?:very )?(?:nice|pleased|glad|good) to (?:meet|see) you|welcome back)` +
	`(?i: there| again| everyone| all)?(?:,? \p{Lu}[\pL'’.-]*){0,4}` +
	`(?i:,? (?:\pL+ ){0,2}(?:assistant|friends?|mate|folks|team|sir|madam|dear|neighbours?|neighbors?))?[\s!.,]*$`)

// greets reports whether a text is only a greeting.
func greets(said string) bool {
	return greeting.MatchString(strings.TrimSpace(said)) && !slices.ContainsFunc(text.Words(said), func(w text.Word) bool {
		return selfWords[w.Lower]
	})
}

// onlyGreets reports whether a quotation is only a greeting.
func onlyGreets(q quotation) bool { return greets(q.said) }

// atHand words name a thing of the conversation or on the screen.
var atHand = regexp.MustCompile(`(?i)\bover (?:here|there)\b|\b(?:this|that) one\b|\b(?:these|those) ones\b` +
	`|\byour (?:\pL+ )?(?:draft|version|answer|reply|suggestion|wording)\b`)

// polite matches an answer to a suggestion, which no deed need follow: "I'll definitely look into some associations",
// "I'm particularly interested in the card system", "I better get back on the road now".
var polite = regexp.MustCompile(`(?i)^(?:(?:i['’]ll|i will|i might|i may|i should|we['’]ll|we should) ` +
	`(?:(?:definitely|certainly|probably|surely|also|just|maybe) )*` +
	`(?:look into|check out|check with|think about|try (?:the|that|this|those|it|them|some of)` +
	`|keep (?:that|it|this|\pL+ \pL+) in mind|give (?:it|that|them|\pL+ \pL+) a (?:try|go|shot))\b` +
	`|(?:i['’]m|i am|we['’]re) (?:(?:also|most|particularly|especially|definitely|really|very) )+` +
	`(?:interested in|curious about|intrigued by|drawn to) (?:the|that|this|those|these|your)\b` +
	`|(?:i['’]d|i had|i|we)(?: better| should| need to|['’]ve got to| have to)(?: probably)? ` +
	`(?:get back|get going|head (?:off|out|back)|run now|go now)\b` +
	`|(?:i['’]m|i am) (?:(?:always|definitely|all|really) )*` +
	`(?:ready to move on|looking to improve|interested|up for it|on board)[.!]*$` +
	`|speaking of (?:\pL+ ){0,3}\pL+$)`)

// mostPolite is the number of words of a polite answer.
const mostPolite = 12

// firm words give a reason or a time, so that an answer is more than polite.
var firm = text.WordSet("because since before after by until when if so")

// isPolite reports whether a statement is a polite answer alone. A name, a number, a reason or a time makes it more.
func isPolite(said string) bool {
	words := text.Words(said)
	if len(words) > mostPolite || !polite.MatchString(said) {
		return false
	}
	return !slices.ContainsFunc(words[min(1, len(words)):], func(w text.Word) bool {
		return w.Capital && !selfWords[w.Lower] || firm[w.Lower] || strings.ContainsFunc(w.Lower, unicode.IsDigit)
	})
}

// answered matches the question before an answer.
var answered = regexp.MustCompile(`^\[asked: [^\]]*\] `)

// tierOf returns the tier of a quotation of a kind. A liking for a thing of the conversation is talk: it does not
// last. So is a polite answer to a suggestion.
func tierOf(q quotation, kind memory.Kind, unmarked memory.Tier) memory.Tier {
	if kind == memory.KindPreference && atHand.MatchString(q.said) || isPolite(answered.ReplaceAllString(q.said, "")) {
		return unmarked
	}
	return q.tier
}
