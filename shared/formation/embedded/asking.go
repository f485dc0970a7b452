package embedded

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

var (
	// sentenceEnd matches the marks at the end of a sentence.
	sentenceEnd = regexp.MustCompile(`[.!?…？！。]+(?:\s|$)|\n`)
	// opener matches the words before a question.
	opener = regexp.MustCompile(`(?i)^[\s\pP]*(?:(?:so|and|but|or|then|also|now|please|well|ok|okay|anyway|btw|oh|hey) )*`)
	// wordOrder matches the beginning of a question by its word order. No statement begins so. "Could you" begins a wish.
	wordOrder = regexp.MustCompile(`(?i)^(?:` +
		`(?:what|which|who|whom|where|when|why|how|wat|wot)(?: (?:much|many|long|often|far|\pL+ly))?` +
		` (?:do|does|did|can|could|should|would) ` +
		`|(?:what|where|who|how|wat|wot)(?:['’]?s| is| are) (?:the|a|an|your) ` +
		`|why (?:is|are|was|were|am|isn['’]?t|aren['’]?t|don['’]?t|doesn['’]?t|can['’]?t|won['’]?t) ` +
		`|do (?:you|u|i|we|they|anyone|anybody) |(?:does|did) (?:you|u|i|we|it|they|he|she|that|this|anyone|anybody) ` +
		`|(?:can|could|would) (?:i|we|it|they|he|she|that|this|there|anyone|anybody) ` +
		`|(?:is|are) (?:there|it|they|you|u) )`)
	// telling matches a statement in the order of a question: "can you believe I won", "what does help is a walk".
	telling = regexp.MustCompile(`(?i)^(?:\pL+ ){1,2}(?:believe|know|remember|tell|mention|hear|guess)\b` +
		`|^what\b.* (?:is|are|was|were)\b`)
	// alike matches a statement that compares: "so do I", "so can my son".
	alike = regexp.MustCompile(`(?i)^[\s\pP]*(?:and )?(?:so|nor|neither) (?:am|is|are|was|were|do|does|did|can|could|will|would|have|has) `)
	// reason matches a reason with a statement of the speaker: "is there a cheese for me, since I'm vegan".
	reason = regexp.MustCompile(`(?i)\b(?:since|because|cause|cos|coz|as|now that|given that|considering|when|while|if|after|but|and)` +
		`,? (?:i|i['’]?m|i['’]?ve|we|we['’]?re|we['’]?ve|my|our)\b`)
	// wish matches the beginning of a request.
	wish = regexp.MustCompile(`(?i)^(?:can|could|would|will) (?:you|u)\b`)
	// inverted matches words that begin a statement, too: "should you need it", "is the garage", "have a cat".
	inverted = regexp.MustCompile(`(?i)^(?:(?:have|has|had) (?:you|u|i|we|it|they|he|she|there|anyone|anybody)\b` +
		`|(?:is|are|was|were|am|should|will|must|may|might|shall) ` +
		`(?:you|u|i|we|it|they|he|she|that|this|there|the|my|your|our|these|those|anyone|anybody|anything)\b` +
		`|(?:what|which|who|whose|where|when|why|how)(?:['’]?s)? ` +
		`(?:is|are|was|were|am|will|must|has|have|had|shall|might|may)\b)`)
)

// mostBehind is the length in bytes of a text in which the end of a sentence is looked for.
const mostBehind = 512

// asksBehind reports whether the sentence that goes on in a text ends as a question.
func asksBehind(rest string) bool {
	rest = text.Cut(rest, mostBehind)
	at := sentenceEnd.FindStringIndex(rest)
	return at != nil && isQuestion(rest[:at[1]])
}

// opensQuestion reports whether a clause begins a question. asks says that the clause's sentence ends as one. Without
// that mark, only the order of the words shows a question.
func opensQuestion(clause string, asks bool) bool {
	said := clause[len(opener.FindString(clause)):]
	isLasting := slices.ContainsFunc(text.Words(said), func(w text.Word) bool { return standing[w.Lower] })
	switch {
	case reason.MatchString(said) || alike.MatchString(clause):
		return false // it states something, too
	case asks && (inverted.MatchString(said) || wish.MatchString(said) && !isLasting):
		return true
	}
	return wordOrder.MatchString(said) && (asks || !telling.MatchString(said))
}

var (
	// task matches an order for one piece of work: "write me a letter", "give us three ideas".
	task = regexp.MustCompile(`(?i)^[\s\pP]*(?:(?:so|and|but|then|also|now|ok|okay|please|pls|plz|just) )*` +
		`(?:(?:write|draft|compose|translate|proofread|rewrite|summari[sz]e)` +
		`(?: (?:please|me|us|out|up|(?:to|for) \pL+(?: \pL+)?)){0,3} (?:an?|the|some|one|two|three|four|five|ten|\d+|this|these|it)` +
		`|(?:give|make|suggest|recommend|create|generate|prepare|gimme|show|list|find)` +
		`(?: (?:please|me|us|(?:to|for) (?:me|us|them|him|her))){0,3} (?:an?|some|one|two|three|four|five|ten|\d+)` +
		`|help me(?: please)? (?:to )?(?:write|draft|plan|word|find|choose|pick))\b`)
	// noted matches an order to note a fact, which the order tells, and a statement that begins as an order does.
	noted = regexp.MustCompile(`(?i)\b(?:notes?|reminder|down|living)\b`)
	// standing words make an order for more than one piece of work.
	standing = text.WordSet(`always never every each whenever when if unless before after until usually generally anymore
		future again from all first anytime`)
	// selfWords are words of the speaker about themself.
	selfWords = text.WordSet("i i'm im i've ive i'd i'll we we're we've we'd we'll my our mine ours myself")
)

// isTask reports whether a text is only an order for one piece of work. An order that tells of the speaker is more.
func isTask(said string) bool {
	return task.MatchString(said) && !noted.MatchString(said) &&
		!slices.ContainsFunc(text.Words(said), func(w text.Word) bool {
			return standing[w.Lower] || selfWords[w.Lower] || strings.HasSuffix(w.Lower, "n't")
		})
}

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
