package text

import (
	"regexp"
	"slices"
	"strings"
)

// advice opens the advice of one of the speaker's people on the speaker's own life: "My doctor told me to never take",
// "My coach says I must rest". Group 1 is the person, group 2 the first verb of the advice.
var advice = regexp.MustCompile(`^[^\pL\pN]*(?i:(?:my|our)(?: \pL+)? (\pL+) (?:` +
	`told (?:me|us) (?:never to|not to|to(?: never| always| not)?)` +
	`|(?:told (?:me|us)|says?|said)(?: that)? (?:(?:i|we)(?: really| just)? ` +
	`(?:must|should|have to|need to|had to|ought to|can['’]?t|cannot|may not|mustn['’]t|shouldn['’]t|(?:am|are) not allowed to)|(?:i['’]m|we['’]re) not allowed to)` +
	`(?: not| never| always)?)) (\pL+)`)

var (
	// advisers are people whose advice somebody takes for a rule of life.
	advisers = wordLists.Set("advisers")
	// noAdvice are verbs of what others want said, kept or sent.
	noAdvice = WordSet(`say tell claim state write note remember memorize save store record send forward transfer pay
		give trust approve recommend mention pretend`)
	// guess ends in the verbs of a guess: "I must have moved".
	guess = regexp.MustCompile(`(?i)(?:must|should|ought to) (?:have|be|know)$`)
)

// isAdvice reports whether a passage is advice to the speaker alone. The speaker takes it for their own rule, so it is
// no report. A second report, or an address, makes it one.
func isAdvice(passage string) bool {
	at := advice.FindStringSubmatchIndex(passage)
	if at == nil || strings.Contains(passage, "@") || strings.Contains(passage, "://") {
		return false
	}
	person, verb := strings.ToLower(passage[at[2]:at[3]]), strings.ToLower(passage[at[4]:at[5]])
	again := slices.ContainsFunc(Words(passage[at[5]:]), func(w Word) bool { return sayings[w.Lower] })
	return advisers[person] && !noAdvice[verb] && !guess.MatchString(passage[:at[5]]) && !again
}
