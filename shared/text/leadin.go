package text

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// leadMarks end the words that lead up to a line's statement: a colon, a dash, an arrow.
	leadMarks = regexp.MustCompile(`[^\pL\pN]?(?::[*_~]*(?:[\s\pZ]|$)|：|[\s\pZ](?:--?|[–—]|[=-]>|>|\|)[\s\pZ])`)
	// stamped and starred are a name with its time, and a name between marks, before the person's words.
	stamped = regexp.MustCompile(`^[\s\pZ]*\pL[\pL\pM' ]{0,30}[\s\pZ][(\[]\d{1,2}[:.]\d\d[^)\]]{0,12}[)\]][\s\pZ]`)
	starred = regexp.MustCompile(`^[\s\pZ]*[*_~]{1,2}\pL[\pL\pM' ]{0,30}[*_~]{1,2}[\s\pZ]`)
	// exercise is a question about words that follow it.
	exercise = regexp.MustCompile(`(?i)^[^?\n]{0,60}` +
		`(?:grammatical|correct|natural|idiomatic|spelled|spelt|translat|übersetz|tradu)[^?\n]{0,40}\?[\s\pZ]`)
	// forwarded heads a forwarded mail in some languages.
	forwarded = regexp.MustCompile(`^[\s\pZ]*(?:(?i:fwd?)|WG|TR|RV|ENC)[\s\pZ]?:[\s\pZ]`)
	// greets matches a line that only greets somebody, as letters begin.
	greets = regexp.MustCompile(`^[\s\pZ]*(?i:dear|dearest|my dear|to whom|hi|hello|hey|hallo|liebe|lieber|liebes|hola` +
		`|querid[oa]s?|estimad[oa]s?|bonjour|salut|chère?s?` +
		`|olá|car[aoie]|prezad[oa]s?|ciao|gentile|beste|lieve|hej|kära|привет|дорог(?:ой|ая|ие))` +
		`(?:[\s\pZ][\pL\pM'’.-]+){0,4}[\s\pZ]?[,!:]?[\s\pZ]*$|^[\s\pZ]*\p{Lu}[\pL\pM]{2,15},[\s\pZ]*$`)
	// formal words address a person in a letter. They never address an assistant's user.
	formal = regexp.MustCompile(`^[\s\pZ]*(?i:dear|dearest|my dear|to whom|liebe|lieber|querid|estimad|chère?|prezad|car[ao]` +
		`|gentile|lieve|kära|дорог)`)

	// ownLeads are words of a speaker's own lead-in that are in no heading: "Big news: ...", "Just so you know: ...".
	ownLeads = wordLists.Set("ownLeads")
	// sources are headings that, behind another word, may hold another person's words: "survey answer: ...".
	sources = WordSet(`note notes message mail email phone answer answers question questions review feedback story text
		quote comment`)
	// passing words in a lead-in with the first person say that another person's words follow: "an ad I found: ...".
	passing = WordSet(`found find read heard hear saw see seen got received copied pasted copy quote quoting quoted
		forwarding forwarded translate proofread interview interviewed transcribed overheard liked wanted`)
)

// mostLeadIn is the maximum length in bytes of a lead-in.
const mostLeadIn = 120

// leadsIn reports whether a line has a lead-in before its statement that may name another speaker or a source:
// "Voice note from grandma: I live in Oslo now." A lead-in of headings, function words and the first person is the
// speaker's own. rest is where the statement begins.
func leadsIn(line, speaker string) (rest int, ok bool) {
	head := Cut(line, mostLeadIn)
	for _, r := range []*regexp.Regexp{stamped, starred, exercise} {
		if at := r.FindStringIndex(head); at != nil {
			return at[1], true
		}
	}
	at := leadMarks.FindStringIndex(head)
	if at == nil || strings.ContainsAny(strings.TrimRight(head[:at[0]], ".!?"), "!?") {
		return 0, false
	}
	lead := head[:at[0]]
	colon := strings.ContainsAny(head[at[0]:at[1]], ":：")
	words := Words(lead)
	if len(words) == 0 || !colon && len(words) > maxLabelWords || !colon && !opensStatement(line[at[1]:]) {
		return 0, false
	}
	return at[1], !isOwnLead(lead, words, speaker)
}

// opensStatement reports whether words after a dash are a statement of some person.
func opensStatement(said string) bool {
	words := Words(said)
	return saysSelf(said) || len(words) > 0 && (actsAt(words) >= 0 || isThirdPerson(words[0].Lower))
}

// isOwnLead reports whether the words of a lead-in are the speaker's.
func isOwnLead(lead string, words []Word, speaker string) bool {
	first := words[0].Lower
	speaks := slices.ContainsFunc(words, func(w Word) bool {
		return selfSubjects[w.Lower]
	}) || selves()[foldAccents(first)]
	owns := slices.ContainsFunc(words, func(w Word) bool {
		return firstOwner[w.Lower]
	}) && !slices.ContainsFunc(words, namesOwner)
	if (speaks || owns) && len(words) > 1 { // "as I told Kofi", "after my divorce"
		return !slices.ContainsFunc(words, func(w Word) bool { return passing[w.Lower] })
	}
	last := foldAccents(words[len(words)-1].Lower)
	if first == "from" || first == "by" || first == "via" {
		return false
	}
	if (belongings[last] || headings()[last] && !sources[last]) && len(words) <= maxLabelWords &&
		!strings.Contains(lead, ",") &&
		(firstOwner[first] || !slices.ContainsFunc(words, namesOwner)) {
		return true
	}
	return !slices.ContainsFunc(words, func(w Word) bool {
		lower := foldAccents(strings.TrimSuffix(w.Lower, "'s"))
		return !(headings()[lower] || ownLeads[lower] || stopLanguages()[lower] != 0 || selves()[lower] ||
			labelOwners()[lower] ||
			isSpeaker([]string{lower}, speaker) || strings.Trim(lower, "0123456789") == "" || belongings[lower] ||
			personVerbs[lower] ||
			len(lower) > 3 && strings.HasSuffix(lower, "ly"))
	})
}

// namesOwner reports whether a word of a lead-in may name another owner or a source: "Bea's address", "news from Bea".
func namesOwner(w Word) bool {
	return strings.HasSuffix(w.Lower, "'s") || companions[w.Lower] || passing[w.Lower] || names()[foldAccents(w.Lower)] ||
		w.Lower == "from" || w.Lower == "by" || w.Lower == "of" || w.Lower == "for"
}

// isForward reports whether a text begins as a forwarded mail.
func isForward(s string) bool { return forwarded.MatchString(Cut(s, mostLeadIn)) }

// letterFrom returns the start of a letter within a text: a line that only greets. It is -1 without a letter, or if the
// speaker signs it. An informal greeting in the first line greets the assistant.
func (p *parted) letterFrom(s string) int {
	if last := strings.TrimSpace(s); isSpeaker(lowerWords(last[strings.LastIndexByte(last, '\n')+1:]), p.speaker) {
		return -1 // the speaker signs it
	}
	at, first := 0, true
	for l := range strings.Lines(s) {
		line := strings.TrimRight(l, "\r\n")
		if len(line) < mostLeadIn && greets.MatchString(line) && (!first || formal.MatchString(line)) && len(s) > at+len(l) {
			return at
		}
		first = first && strings.TrimSpace(line) == ""
		at += len(l)
	}
	return -1
}
