package embedded

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// remainder returns the text of an entry without the facts that a statement changes. whole reports that no text worth
// keeping is left. Where the changed facts are uncertain, rest removes nothing and both results are empty.
func (d *decider) remainder(m judged, c formation.Candidate, turn memory.Turn) (remainder string, whole bool) {
	var gone []bool
	if list := facts(m.Content); len(list) > 1 {
		texts := make([]string, len(list))
		for i, f := range list {
			texts[i] = plain(f.text)
		}
		later := relation.Statement{Text: d.message(c), Role: turn.Role, Speaker: c.Speaker, Time: turn.Time}
		if relation.Corrects(later.Text) && namesEach(list, later.Text) {
			return "", true // facts that were mixed up
		}
		gone = d.endedFacts(m, onlyNamed(list, later.Text, d.judges.Gone(later, texts)))
	}
	gone = withClauses(facts(m.Content), gone)
	switch at := splitSubject(m.Content, gone); {
	case at == wholeSubject:
		return "", true
	case at == sharedSubject:
		return "", false // it is another person's, too
	}
	remainder, sure := Without(m.Content, gone)
	if !sure {
		return "", false
	}
	remainder, isClear := named(remainder, facts(m.Content), gone)
	return remainder, !isClear || remainder == "" || !d.keeps(remainder, m)
}

// named puts the person or thing of a pronoun before a rest, where the name is gone: "she is 70" of "My aunt moved out
// and she is 70". isClear is false if the text does not name the person of the pronoun.
func named(rest string, list []fact, gone []bool) (said string, isClear bool) {
	pronoun := text.Pronoun(rest)
	if pronoun == "" || len(gone) != len(list) || !gone[0] || severalSentences(list) {
		return rest, true
	}
	found := mentionsOf(list[0].text, pronoun)
	if len(found) == 1 {
		return text.About(found[0], rest), true
	}
	return rest, len(found) > 0 || !text.IsPerson(pronoun)
}

// withClauses adds to the facts that are gone what belongs to their clauses: the object behind "also", a bare time
// behind "while" ("I work"), and the purpose behind "to".
func withClauses(list []fact, gone []bool) []bool {
	if len(gone) != len(list) {
		return gone
	}
	out := slices.Clone(gone)
	e, listed := enumerationIn(list)
	for i := 1; i < len(list); i++ {
		before, words := list[i-1], text.Words(list[i].text)
		if len(words) < 2 || ending.MatchString(before.sign) || listed && e.from < i && i < e.to {
			continue
		}
		switch sign := strings.ToLower(strings.TrimSpace(before.sign)); {
		case sign == "also" && !acts(words):
			out[i-1] = out[i-1] || out[i]
			out[i] = out[i-1]
		case sign == "while" && len(words) == 2 && (words[0].Lower == "i" || words[0].Lower == "we"):
			out[i] = out[i] || out[i-1]
		case words[0].Lower == "to" && !words[1].Capital:
			out[i] = out[i] || out[i-1]
		}
	}
	return out
}

// severalSentences reports whether facts stand in more than one sentence.
func severalSentences(list []fact) bool {
	return slices.ContainsFunc(list[:len(list)-1], func(f fact) bool { return ending.MatchString(f.sign) })
}

// The results for an entry where one of two people in a subject is gone: "My wife Ada and I are saving", "My sons Leo
// and Max are both tall".
const (
	noSubject = iota
	// wholeSubject ends with one of the two. sharedSubject stays for the other.
	wholeSubject
	sharedSubject
)

// pluralBeings are the forms of "be" that do not agree with one person.
var pluralBeings = text.WordSet("are were aren't weren't")

// splitSubject finds a subject of two people of which one is gone. The rest would have a verb that does not agree: "I
// are saving". An entry about the speaker and a person ends with the person.
func splitSubject(content string, gone []bool) int {
	list := facts(content)
	for i := 0; i+1 < len(list); i++ {
		first, rest := text.Words(list[i].text), text.Words(list[i+1].text)
		if i == 0 && len(gone) == len(list) && gone[0] && !gone[1] && !acts(first) &&
			leans(list[1].text) && !severalSentences(list) {
			return wholeSubject // the rest describes who is gone: "Rolf, that's my partner"
		}
		isPair := strings.TrimSpace(strings.ToLower(list[i].sign)) == "and" && len(gone) == len(list) && gone[i] &&
			!gone[i+1] &&
			len(first) <= widestSubject && !acts(first) && (i == 0 || ending.MatchString(list[i-1].sign))
		if !isPair {
			continue
		}
		at := slices.IndexFunc(rest, func(w text.Word) bool { return pluralBeings[w.Lower] })
		switch {
		case at == 1 && rest[0].Lower == "i":
			return wholeSubject
		case at > 0 && at < widestSubject && rest[0].Lower != "we" && rest[0].Lower != "they":
			return sharedSubject
		}
	}
	return noSubject
}

// keeps decides whether the rest of an entry is worth keeping. A text that stands alone or states a fact is worth
// keeping. A text that only asks is not.
func (d *decider) keeps(rest string, m judged) bool {
	worth := 0.0
	for _, p := range d.former.parts(rest) {
		switch {
		case isQuestion(p):
		case hasSubject(p), contentOf(plain(p)) > 0 && !isResidue(plain(p)):
			return true
		default:
			worth = max(worth, d.former.worth(memory.Turn{Role: memory.RoleUser, Speaker: m.Speaker, Text: plain(p)}))
		}
	}
	return decision.Either(d.former.choose, decision.Rest, decision.Above(worth, leastWorth), func() []float64 {
		return []float64{1, decision.Odds(worth) / 5, lengthOf(text.CountWords(rest))}
	})
}

// endedFacts decides which facts of an entry hold no more, by their probabilities.
func (d *decider) endedFacts(m judged, probabilities []float64) []bool {
	out := make([]bool, len(probabilities))
	for i, base := range goneOdds(probabilities) {
		out[i] = decision.Either(d.former.choose, decision.Retract, base, func() []float64 {
			likeliest := 0.0
			if probabilities[i] == slices.Max(probabilities) {
				likeliest = 1
			}
			return []float64{1, decision.Odds(probabilities[i]) / 5, likeliest, decision.Odds(m.Change()) / 5}
		})
	}
	return out
}

// writeRemainder writes the new version of an entry with only the remaining text, in the original words.
func (d *decider) writeRemainder(m memory.Memory, rest string, c formation.Candidate, turn memory.Turn) memory.Memory {
	said := d.former.candidate(quotation{said: plain(rest)}, memory.Turn{Speaker: m.Speaker, Time: m.ValidFrom})
	left := m
	left.ID = memory.DeriveID(d.session.Scope, append([]string{m.ID}, c.Sources...), c.Ordinal)
	left.Content, left.Kind, left.Topic, left.Keywords, left.EventTime = rest, said.Kind, said.Topic, said.Keywords,
		said.EventTime
	left.Vector, left.Links, left.Status = nil, nil, memory.StatusActive
	left.SessionID, left.Strategy, left.PolicyVersion = d.session.ID, d.former.identity.Strategy,
		d.former.identity.PolicyVersion
	d.ops = append(d.ops, memory.Operation{
		Kind: memory.OpUpdate, Targets: []string{m.ID}, New: &left, Rest: true, At: turn.Time,
		Sources: slices.Clone(c.Sources), Reason: ReasonRest,
	})
	d.closed[m.ID] = true
	d.fresh = append(d.fresh, left)
	return left
}
