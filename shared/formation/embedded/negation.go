package embedded

import "regexp"

// who matches the speaker, with or without others, or somebody of theirs.
const who = selfMark + `(?: and others|'s [\p{L}-]+(?: [\p{L}-]+)?)?`

var (
	noLonger   = regexp.MustCompile(who + `[^.,;!?]{0,40}? no longer\b`)
	notAnymore = regexp.MustCompile(who + `[^.,;!?]{0,20}?(?: not|n't|n’t)\b[^.;!?]{0,80}?\bany ?more\b`)
	stopped    = regexp.MustCompile(who + `(?: and others)?(?: has| have| had to| just| recently| finally| completely| already| also)* (?:stopped|quit|gave up|given up)(?: \p{Ll}+ing\b| (?:my|the|on|her|his)?\b)`)
	cancelled  = regexp.MustCompile(`(?i)(?:` + who +
		`[^.;!?]{0,30}? (?:cancell?ed|called off)\b|\b(?:was|were|got|is|been) (?:cancell?ed|called off)\b)`)
	neverMind = regexp.MustCompile(`(?i)(?:^|[.;!?:] )(?:never ?mind|forget about|forget (?:what|that) ` + selfMark + ` said)\b`)
	notTrueOf = regexp.MustCompile(`(?i)^(?:(?:it's|it is|it was) (?:wrong|not true|not right|incorrect|no longer true)|it (?:isn't|wasn't) true) that `)
	notTrue   = regexp.MustCompile(`(?i)\b(?:that's|that is|that was) (?:wrong|not true|not right|not correct|incorrect|no longer true)(?: any ?more)?(?:[.,;!]|$)`)
	// notNegation are turns of phrase that look like one.
	notNegation = regexp.MustCompile(`(?i)\b(?:never|not|won't|can't|couldn't|don't|does not|did not|didn't|almost|nearly|might|may|would|if)\b[^.,;!?]{0,15} (?:quit|stop|stopped|give|gave|cancel)|stopped (?:by|at|over|in)\b`)
)

// denies reports whether a statement takes back something that held or was said.
func denies(marked string) bool {
	switch {
	case noLonger.MatchString(marked), notAnymore.MatchString(marked), neverMind.MatchString(marked), notTrue.MatchString(marked),
		notTrueOf.MatchString(marked):
		return true
	case stopped.MatchString(marked), cancelled.MatchString(marked):
		return !notNegation.MatchString(marked)
	}
	return false
}

var (
	dropNoLonger = regexp.MustCompile(` no longer\b`)
	dropNot      = regexp.MustCompile(`(?: does not| do not|n't) (\p{Ll}+)\b`)
	dropAnymore  = regexp.MustCompile(`\s*\bany ?more\b`)
	dropIsNot    = regexp.MustCompile(` is not\b`)
	dropStopped  = regexp.MustCompile(` (?:has |just |recently |finally )*(?:stopped|quit) (\p{Ll}{2,})ing\b`)
)

// affirm turns a denial into what it denies ("does not live in Rome anymore" into "lives in
// Rome"), well enough to find the slot.
func affirm(marked string) string {
	s := dropNoLonger.ReplaceAllString(marked, "")
	s = dropAnymore.ReplaceAllString(s, "")
	s = dropIsNot.ReplaceAllString(s, " is")
	s = dropNot.ReplaceAllStringFunc(s, func(m string) string {
		sub := dropNot.FindStringSubmatch(m)
		return " " + third(sub[1])
	})
	return dropStopped.ReplaceAllStringFunc(s, func(m string) string {
		sub := dropStopped.FindStringSubmatch(m)
		return " " + third(undouble(sub[1]))
	})
}

// undouble takes back the doubling before "ing" ("runn" to "run").
func undouble(stem string) string {
	n := len(stem)
	if n > 2 && stem[n-1] == stem[n-2] && stem[n-1] != 's' && stem[n-1] != 'l' {
		return stem[:n-1]
	}
	return stem
}
