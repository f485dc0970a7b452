package query

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/text"
)

// Wants are the kinds of answer that the form of a question shows. Only Fact, Statement and AboutUser read other
// languages than English. See also [Query.AsksWhen].
type Wants []string

// The kinds of answer.
const (
	// Amount is a number.
	Amount = "amount"
	// Name is the name of a person, a place or a thing.
	Name = "name"
	// Several is an answer of more than one part.
	Several = "several"
	// Interrogative questions begin with a question word, so they ask for no action.
	Interrogative = "interrogative"
	// Fact is a fact: "where does Ines live" and "has she a car", but not "what are some good hotels".
	Fact = "fact"
	// Statement is a statement to search for, about somebody else than the speaker: "the user has a dog".
	Statement = "statement"
	// OwnFact is a fact about the speaker: "where do I live" and "what's my dog's name", but not "what could I cook".
	OwnFact = "own_fact"
	// Reply is something that the assistant said before: "what did you suggest".
	Reply = "reply"
	// AboutUser questions are about the user of the memory, and not about a companion of the user.
	AboutUser = "about_user"
)

// Has reports whether a kind of answer is wanted.
func (w Wants) Has(kind string) bool { return slices.Contains(w, kind) }

// wantsOf reads the kinds of answer that a question wants. l is its language.
func wantsOf(p Phrase, l text.Language) (w Wants) {
	add := func(kind string, wanted bool) {
		if wanted {
			w = append(w, kind)
		}
	}
	words, first := withoutPreposition(p.Words), ""
	if len(words) > 0 {
		first = words[0].Lower
	}
	amount, name := fittingAnswers(p.Words)
	advised := containsAny(p.Words, advising)
	interrogative := first == "when" || runTogether[first] || text.IsQuestionWord(first)
	add(Amount, amount)
	add(Name, name)
	add(Several, needsSeveral(p.Words))
	add(Interrogative, interrogative)
	add(Fact, wantsFact(p, l))
	add(Statement, isStatement(p, l))
	add(OwnFact, interrogative && !advised && asksAboutSpeaker(words))
	add(Reply, asksForReply(p.Words))
	add(AboutUser, isAboutUser(p, l))
	return w
}

// withoutPreposition returns the words of a question from its question word on: "which day" of "on which day". Idioms
// such as "in which case" are no questions.
func withoutPreposition(words []text.Word) []text.Word {
	if len(words) > 2 && prepositions[words[0].Lower] && choosing[words[1].Lower] &&
		words[2].Lower != "case" && words[2].Lower != "it's" {
		return words[1:]
	}
	return words
}

func containsAny(words []text.Word, set map[string]bool) bool {
	return slices.ContainsFunc(words, func(w text.Word) bool { return set[w.Lower] })
}

var (
	// prepositions may stand before a question word.
	prepositions = text.WordSet("at by during for from in of on since to until with")
	// choosing are the question words behind a preposition.
	choosing = text.WordSet("which what whom whose")
	// runTogether are question words with their verb, written without the apostrophe.
	runTogether = text.WordSet("whats wheres whos whens hows")
	// advising words ask for advice, and not for a fact.
	advising = text.WordSet("should can could would might may shall")
	// offering words ask for options to choose from.
	offering = text.WordSet(`you you'd some any good best better great recommend recommended suggest ideas options ways
		tips sense pros`)
)

var (
	// replying are past verbs behind "you" that name a reply, and toReply the same behind "did you".
	replying = text.WordSet(`advised described drafted explained gave listed made mentioned pointed proposed put quoted
		recommended said sent showed suggested told walked warned wrote`)
	toReply = text.WordSet(`advise describe draft explain give list make mention propose put quote recommend say send show
		suggest tell warn write`)
	// replies are the nouns for a reply.
	replies = text.WordSet(`advice answer answers explanation ideas list outline plan proposal recommendation
		recommendations reply response suggestion suggestions summary tip tips version`)
)

// asksForReply reports whether a question asks for something that the assistant said before.
func asksForReply(words []text.Word) bool {
	for i, w := range words {
		before, behind := "", ""
		if i > 0 {
			before = words[i-1].Lower
		}
		if i+1 < len(words) {
			behind = words[i+1].Lower
		}
		switch w.Lower {
		case "you":
			if before == "did" && toReply[behind] || replying[behind] {
				return true
			}
		case "your":
			if replies[behind] {
				return true
			}
		case "assistant", "chatbot":
			if before == "the" && (toReply[behind] || replying[behind]) {
				return true
			}
		}
	}
	return false
}

// asksAboutSpeaker reports whether "I" or "my" follows the verb of a question.
func asksAboutSpeaker(words []text.Word) bool {
	for i := 1; i < len(words); i++ {
		before := words[i-1].Lower
		asks := auxiliaries[before] || i == 1 && (strings.HasSuffix(before, "'s") || runTogether[before])
		if asks && (words[i].Lower == "i" || words[i].Lower == "my") {
			return true
		}
	}
	return false
}

// fittingAnswers reports whether an amount or a name would answer a question.
func fittingAnswers(words []text.Word) (amount, name bool) {
	for i, w := range words {
		switch w.Lower {
		case "many", "much", "old", "often", "long", "far":
			amount = amount || i > 0 && words[i-1].Lower == "how"
		case "who", "whom", "whose", "where", "which", "name", "names", "title", "titles", "called", "city", "country":
			name = true
		}
	}
	return amount, name
}

// categoryOf returns the content words right after the question word.
func categoryOf(p Phrase) []string {
	const reach = 5
	at := slices.IndexFunc(p.Words, func(w text.Word) bool {
		switch w.Lower {
		case "what", "which", "kind", "type", "many":
			return true
		}
		return false
	})
	if at < 0 {
		return nil
	}
	var out []string
	for i := at + 1; i < min(len(p.Words), at+reach); i++ {
		switch lower := p.Words[i].Lower; lower {
		case "kind", "kinds", "sort", "sorts", "type", "types", "of":
		default:
			if text.IsFiller(p.Text, p.Words, i) {
				return out
			}
			out = append(out, lower)
		}
	}
	return out
}

// isAboutUser reports whether a question in a language is about the user of the memory. Such a question speaks in the
// first person, or of "the user". It names no companion of the user.
func isAboutUser(p Phrase, l text.Language) bool {
	about := l.SaysI(p.Text, p.Words) || hasOwnVerb(p.Words)
	for i, w := range p.Words {
		if text.IsCompanion(w.Lower) {
			return false
		}
		about = about || text.NamesUser(p.Words, i)
	}
	return about
}

// hasOwnVerb reports whether a question has a verb in the first person, in a language that leaves the pronoun out:
// "¿Dónde vivo?"
func hasOwnVerb(words []text.Word) bool {
	if len(words) < 2 {
		return false
	}
	first := text.English.Plain(words[0].Lower)
	return slices.ContainsFunc(text.OwnVerbLanguages(words[1:]), func(l text.Language) bool {
		return l.IsQuestionWord(first)
	})
}

// needsSeveral reports whether a question asks for all of a kind, or for a common property of two: "what books has she
// read", "where have they been", "which of both".
func needsSeveral(words []text.Word) bool {
	for i, w := range words {
		rest := words[i+1:]
		next := ""
		if len(rest) > 0 {
			next = rest[0].Lower
		}
		switch w.Lower {
		case "both", "kinds", "types", "sorts", "ways":
			return true
		case "how":
			if next == "many" {
				return true
			}
		case "what", "which":
			if next == "are" || next == "were" || namesMany(rest) {
				return true
			}
			fallthrough
		case "where", "who", "whom":
			if next == "has" || next == "have" { // in a whole life, or all the time since
				return true
			}
		}
	}
	return false
}

// namesMany says whether the noun phrase that a question word begins has a plural: it ends at the verb.
func namesMany(rest []text.Word) bool {
	const longest = 5
	for _, w := range rest[:min(len(rest), longest)] {
		switch w.Lower {
		case "has", "have", "had", "do", "does", "did", "is", "are", "was", "were",
			"will", "would", "can", "could", "may", "might", "should":
			return false
		case "people", "children", "men", "women":
			return true
		}
		if isPlural(w.Lower) {
			return true
		}
	}
	return false
}

// isPlural says whether an English noun looks like a plural.
func isPlural(noun string) bool {
	return len(noun) >= 4 && strings.HasSuffix(noun, "s") &&
		!slices.ContainsFunc([]string{"ss", "us", "is", "'s"}, func(end string) bool { return strings.HasSuffix(noun, end) })
}
