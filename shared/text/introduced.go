package text

import (
	"slices"
	"strings"
)

var (
	// nominative pronouns are subjects wherever they stand.
	nominative = WordSet(`he he's he'd he'll she she's she'd she'll`)
	// knowing verbs open news of another person that the speaker knows or passes on.
	knowing = WordSet(`know knew say said tell told promise swear confirm assure hear heard think thought believe guess
		suppose see saw met represent speak ask asked assume noticed`)
	// besides are words that may follow such a verb: another person, or how sure the speaker is.
	besides = WordSet("him her them you well personally certain sure definitely fact very too")
	// clauseJoints stand between two clauses.
	clauseJoints = WordSet("and but so that because since now as for")
)

// isIntroduced reports whether a statement only introduces its speaker before a statement about another person: "I am
// his lawyer and he lives in Rome", "I hear she moved". The second part has no subject of the first person.
func isIntroduced(words []Word) bool {
	at := slices.IndexFunc(words, func(w Word) bool { return nominative[w.Lower] })
	if at < 2 || slices.ContainsFunc(words[at:], func(w Word) bool {
		first, _, _ := strings.Cut(w.Lower, "'")
		return selfSubjects[first]
	}) {
		return false
	}
	var clause []Word
	for _, w := range append(slices.Clone(words[:at]), Word{Lower: "and"}) {
		if !clauseJoints[w.Lower] {
			clause = append(clause, w)
			continue
		}
		if len(clause) > 0 && !introduces(clause) {
			return false
		}
		clause = nil
	}
	return true
}

// introduces reports whether a clause says who speaks, or that the speaker knows or says something of another person:
// "I am Ana", "this is his lawyer", "I know him well".
func introduces(clause []Word) bool {
	first, rest := clause[0].Lower, clause[1:]
	isBeside := func(w Word) bool { return besides[w.Lower] }
	switch {
	case isBeside(clause[0]): // the end of a clause with a joint inside: "for her"
		return !slices.ContainsFunc(rest, func(w Word) bool { return !isBeside(w) })
	case len(rest) == 0:
		return false
	case (first == "i" || first == "we") && knowing[rest[0].Lower]:
		return !slices.ContainsFunc(rest[1:], func(w Word) bool { return !isBeside(w) })
	case first == "i'm", first == "it's":
	case (first == "i" || first == "this" || first == "it") && len(rest) > 1 && isBe(rest[0].Lower):
		rest = rest[1:]
	default:
		return false
	}
	name := rest[0]
	return otherOwner[name.Lower] && name.Lower != "the" || strings.HasSuffix(name.Lower, "'s") ||
		names()[foldAccents(name.Lower)] && nameLength(rest) == len(rest)
}

func isBe(lower string) bool { return lower == "am" || lower == "is" }
