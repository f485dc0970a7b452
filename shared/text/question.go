package text

import (
	"regexp"
	"strings"
)

// WhenNoun reports whether a lower-case word of a question that asks for a time is answered by a date, and not by the word.
func WhenNoun(lower string) bool { return whenNouns[lower] }

var (
	whenNouns = WordSet("date year month day time long ago")
	// askedTimes after "what" or "which" ask for a time.
	askedTimes = WordSet("date dates year month week weekend day time")
	// askedHow after "how" do.
	askedHow = WordSet("long soon recently")
	// openers may stand between the two: "what was the exact date".
	openers = WordSet("is was were are will be the her his their my our your its exact precise")
	// auxiliaries after "when" make it ask: "when did she", but not "when she".
	auxiliaries = WordSet(`is was were are am be did do does has have had will would can could shall should may might must
isn't wasn't weren't aren't didn't don't doesn't hasn't haven't hadn't won't wouldn't can't couldn't shouldn't`)
	// measures may come in between, or be all that follows.
	measures = WordSet("exactly precisely roughly approximately in on about around")
	// questionWords other than "when" ask for something else.
	questionWords = WordSet("what what's which who who's whom whose where where's why how how's")
	// wondering words lead up to a question within another: "do you know when she left".
	wondering = WordSet(`know remember recall tell say said mention mentioned wonder wondering remind forgot forget idea sure clue
curious check find out figure guess see ask asked since until till by from and or so`)
	// addressed words may stand between these and the question.
	addressed = WordSet("me us you him her them again just exactly of about please")
)

// AsksWhen recognises, by their words, questions that want a time, in any sentence of a text. The words are those of the text.
func AsksWhen(said string, words []Word) bool {
	start, other := 0, false
	for i, w := range words {
		if i > 0 && strings.ContainsAny(said[words[i-1].End:w.Start], ".!?;\n") {
			start, other = i, false
		}
		sentence := words[start:]
		switch at := i - start; {
		case strings.TrimSuffix(w.Lower, "'s") == "when":
			if !other && (opensWhen(said, sentence, at) || wonders(sentence, at)) {
				return true
			}
		case askedTimes[w.Lower]:
			from := at - 1
			for w.Lower == "date" && from > 0 && openers[sentence[from].Lower] {
				from--
			}
			if from >= 0 && (hasPrefix(sentence[from], "what") || hasPrefix(sentence[from], "which")) {
				return true
			}
		case at > 0 && askedHow[w.Lower] && sentence[at-1].Lower == "how":
			return true
		case at > 0 && w.Lower == "ago":
			if asksHow(sentence[max(0, at-4):at]) {
				return true
			}
		}
		other = other || questionWords[w.Lower]
	}
	return false
}

func hasPrefix(w Word, question string) bool { return strings.TrimSuffix(w.Lower, "'s") == question }

func asksHow(before []Word) bool {
	for _, w := range before {
		if w.Lower == "how" {
			return true
		}
	}
	return false
}

// opensWhen reports whether "when", at a place of a sentence, asks there: near the beginning, and followed by what asks.
func opensWhen(said string, sentence []Word, at int) bool {
	if at > 2 {
		return false
	}
	next := at + 1
	for next < len(sentence) && measures[sentence[next].Lower] {
		next++
	}
	return next > at+1 || sentence[at].Lower == "when's" || next == len(sentence) || auxiliaries[sentence[next].Lower] ||
		strings.ContainsAny(said[sentence[at].End:sentence[next].Start], "?.!")
}

// wonders reports whether what stands before "when" leads up to a question. Of what one remembers oneself, nothing is asked.
func wonders(sentence []Word, at int) bool {
	k := at - 1
	for k > 0 && addressed[sentence[k].Lower] {
		k--
	}
	if k < 0 || !wondering[sentence[k].Lower] {
		return false
	}
	switch sentence[k].Lower {
	case "wonder", "wondering", "forgot", "forget", "curious", "sure", "since", "until", "till", "by":
		return true
	}
	own := sentence[0].Lower == "i" || sentence[0].Lower == "we"
	return !own || k > 0 && sentence[k-1].Lower == "to"
}

var (
	askedPast = regexp.MustCompile(`(?i)\b(?:used to|did(?:n't)? \S.{0,40} use to|previous(?:ly)?|formerly|originally|initially|at first|` +
		`back (?:then|when)|in the past|before (?:that|then|moving|changing|switching|starting|joining|leaving|the (?:move|change|switch)|` +
		`(?:he|she|they|I|we) (?:moved|changed|switched|started|joined|left|got))|` +
		`(?:old|ex|former|last|first|earlier|previous)[- ](?:job|employer|boss|company|work|home|house|flat|apartment|place|address|city|town|` +
		`country|car|bike|phone|number|partner|boyfriend|girlfriend|husband|wife|fiancée?|school|college|degree|hobby|name|dog|cat|pet|diet|` +
		`doctor|team)|no longer|any ?more|(?:live|work|stay|study|drive|own)d? before\b|before\?*$)`)
	askedPresent = regexp.MustCompile(`(?i)\b(?:now|nowadays|currently|today|these days|still|at the moment)\b`)
	sinceThen    = regexp.MustCompile(`(?i)\bsince(?:[ \x{a0}]+[^\s.,;:!?]+){0,3}[ \x{a0}]*$`)
)

// AsksPast recognises English questions about what no longer holds.
func AsksPast(question string) bool { return askedPast.MatchString(question) }

// AsksPresent recognises English questions about what holds now, whatever else they mention.
func AsksPresent(question string) bool { return askedPresent.MatchString(question) }

// FollowsSince reports whether what comes after this beginning of a text is where something began that goes on: "since", "since early".
func FollowsSince(before string) bool { return sinceThen.MatchString(before) }
