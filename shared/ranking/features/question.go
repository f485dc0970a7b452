package features

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/text"
)

// weighed is a requested term: its number, or -1 without an occurrence, and its weight. The weight is 1 for
// the query's words and less for words of the talk before it.
type weighed struct {
	number int32
	weight float32
}

// asked is a query taken apart.
type asked struct {
	language text.Language
	// vectorOf has the user's spellings, and then the query's.
	vectorOf
	// terms are all terms of the query. topical are the terms without speakers' names.
	terms, topical []weighed
	// words are numbers of the table and of spellings. weights are their shares of all query words, and discounts are
	// their weights relative to the query's own words.
	words              []int32
	weights, discounts []float32
	// head are the words for the category in the question, in the same form: "what kind of music".
	head []int32
	// named is the speaker whom the query is about, or -1 for several speakers or no speaker.
	named  int32
	dates  []text.DateMention
	regime Regime
	// when, amount, name and reply are the kinds of answer that fit. several means that the answer has more than one
	// part. ofUser means that the user speaks of themselves.
	when, amount, name, reply, several, ofUser bool
}

// mostWords bounds the compared words of a query, and mostTalk the words from the talk before it. Every word costs
// time.
const mostWords, mostTalk = 64, 16

// analyseQuery looks up an understood query in the index.
func (x *Index) analyseQuery(q Query) asked {
	parts := slices.Clone(q.Parts)
	parts[0].Phrase = parts[0].First(mostWords)
	in := q.Language(x.languages[0])
	a := asked{language: in, vectorOf: x.vectorOf, named: x.about(q.Query, parts[0].Phrase, in)}
	a.spelled = slices.Clip(a.spelled) // the query's spellings follow the index's
	a.when = q.AsksWhen(x.languages[0])
	a.amount, a.name = q.Wants.Has(query.Amount), q.Wants.Has(query.Name)
	a.regime = x.regimeOf(q.Query)
	a.ofUser = a.named >= 0 && x.speakers[a.named].role == memory.RoleUser
	a.reply = q.Wants.Has(query.Reply)
	if in == text.English {
		a.head = x.vectorsOf(q.Category)
		a.several = q.Wants.Has(query.Several) || a.regime == Requests && len(q.Question.Words) > 0 &&
			!q.Wants.Has(query.Interrogative)
	}
	x.askTerms(&a, parts)
	x.askWords(&a, parts)
	for _, d := range q.Dates {
		if d.Unit != text.Vague {
			a.dates = append(a.dates, d)
		}
	}
	return a
}

// askTerms finds the terms of the parts, each once. The weight comes from the first part that has it,
// and is the greatest.
func (x *Index) askTerms(a *asked, parts []query.Part) {
	seen := map[string]bool{}
	var terms []string
	var weights []float32
	own := 0
	for i, p := range parts {
		if i == 1 {
			own = len(terms)
		}
		for _, t := range x.termsOf(p.Phrase, a.language) {
			if seen[t] || i == 0 && len(terms) >= mostWords || i > 0 && len(terms) >= own+mostTalk {
				continue
			}
			seen[t] = true
			terms, weights = append(terms, t), append(weights, p.Weight)
		}
	}
	topical := x.withoutNames(terms)
	for i, t := range terms {
		w := weighed{lookup(x.terms, t), weights[i]}
		a.terms = append(a.terms, w)
		if slices.Contains(topical, t) {
			a.topical = append(a.topical, w)
		}
	}
}

// askWords looks up the words of the parts that have vectors.
func (x *Index) askWords(a *asked, parts []query.Part) {
	own, total := 0, float32(0)
	for i, p := range parts {
		if i == 1 {
			own = len(a.words)
		}
		for _, k := range a.wordsOf(x, p.Phrase) {
			if slices.Contains(a.words, k) || i == 0 && len(a.words) >= mostWords || i > 0 && len(a.words) >= own+mostTalk {
				continue
			}
			a.words, a.discounts = append(a.words, k), append(a.discounts, p.Weight)
			a.weights = append(a.weights, x.rarity(k)*p.Weight)
			total += x.rarity(k) * p.Weight
		}
	}
	for i := range a.weights {
		a.weights[i] /= total
	}
}

// termsOf returns the search terms of a query in its language. A word that the index lacks in that language is taken
// from the user's other languages if known there: names and borrowed words are alike in many.
func (x *Index) termsOf(p query.Phrase, in text.Language) []string {
	terms := baseForms(in.SearchTerms(p.Text), in)
	isKnown := func(term string) bool { return lookup(x.terms, term) >= 0 }
	for _, l := range x.languages {
		if l == in {
			continue
		}
		for _, w := range p.Words {
			if own := baseForms(in.SearchTerms(w.Lower), in); len(own) > 0 && !slices.ContainsFunc(own, isKnown) {
				terms = append(terms, slices.DeleteFunc(baseForms(l.SearchTerms(w.Lower), l), func(t string) bool {
					return !isKnown(t)
				})...)
			}
		}
	}
	return terms
}

// wordsOf returns the numbers of a phrase's words with vectors. English words have numbers of the table, and words of
// other languages have spellings, except names. Spellings that the user has not used are added to the query's.
func (a *asked) wordsOf(x *Index, p query.Phrase) (out []int32) {
	if a.language == text.English {
		for _, w := range p.Words {
			out = append(out, x.known(w.Lower)...)
		}
		return out
	}
	for _, t := range a.language.SearchTerms(p.Text) {
		if x.nameTerms[t] {
			continue
		}
		n, ok := x.spellings[t]
		if !ok {
			own := slices.Index(a.spelled[len(x.spelled):], t)
			if own < 0 {
				own, a.spelled = len(a.spelled)-len(x.spelled), append(a.spelled, t)
			}
			n = int32(len(x.spelled) + own) //nolint:gosec // bounded by the length of all texts
		}
		if out = append(out, spelledNumber(n)); len(out) == mostWords {
			break
		}
	}
	return out
}

// about is the speaker whom a query is about: the named one, or else the one from the talk. self is the query itself.
func (x *Index) about(q query.Query, self query.Phrase, in text.Language) int32 {
	for _, p := range [...]query.Phrase{self, q.People, q.Question} {
		if named := x.named(p, in); named >= 0 {
			return named
		}
	}
	return -1
}

// namesSpeaker reports whether a phrase has the name of a speaker.
func (x *Index) namesSpeaker(p query.Phrase) bool {
	return slices.ContainsFunc(p.Words, func(w text.Word) bool { return x.names[strings.TrimSuffix(w.Lower, "'s")] }) ||
		slices.ContainsFunc(x.speakers, func(s speaker) bool { return s.namedWithin(p.Text) })
}

// namedWithin reports whether a text without spaces between words has the name.
func (s speaker) namedWithin(said string) bool {
	return slices.ContainsFunc(s.names, func(name string) bool {
		return text.IsUnspaced(name) && strings.Contains(said, name)
	})
}

// lookup returns the number of a key, or -1 for an unknown key.
func lookup(numbers map[string]int32, key string) int32 {
	if n, ok := numbers[key]; ok {
		return n
	}
	return -1
}

// named returns the speaker in a phrase, or -1 for none or several. "I" is the user of the query, if there is one.
func (x *Index) named(p query.Phrase, in text.Language) int32 {
	found, count := int32(-1), 0
	me := x.users == 1 && in.SaysI(p.Text, p.Words)
	var names []string
	for i, w := range p.Words {
		if name := strings.TrimSuffix(w.Lower, "'s"); x.names[name] && !text.IsFiller(p.Text, p.Words, i) {
			names = append(names, name)
		}
	}
	for i, s := range x.speakers {
		hit := slices.ContainsFunc(names, func(name string) bool { return slices.Contains(s.names, name) }) ||
			s.namedWithin(p.Text)
		if hit || me && s.role == memory.RoleUser {
			found = int32(i) //nolint:gosec // a few
			count++
		}
	}
	if count != 1 {
		return -1
	}
	return found
}

// withoutNames removes the names of speakers from the terms, unless the query has nothing else.
func (x *Index) withoutNames(terms []string) []string {
	out := slices.DeleteFunc(slices.Clone(terms), func(t string) bool { return x.nameTerms[t] })
	if len(out) == 0 {
		return terms
	}
	return out
}

// vectorsOf returns the numbers in the table of lower-case words that have a vector.
func (x *Index) vectorsOf(words []string) []int32 {
	var out []int32
	for _, w := range words {
		if k, ok := x.table.Find(w); ok {
			out = append(out, k)
		}
	}
	return out
}
