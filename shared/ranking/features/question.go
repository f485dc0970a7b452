package features

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/text"
)

// asked is a query taken apart. Terms and concepts that occur nowhere are -1.
type asked struct {
	// terms are all that is asked for, topical those that are no speaker's name.
	terms, topical, concepts []int32
	// words are numbers of the table, weights their shares of the query.
	words   []int32
	weights []float32
	// head are the words, likewise, for the sort of thing that is asked for: "what kind of music".
	head []int32
	// named is the speaker that it is about, -1 where there is none or several.
	named int32
	dates []text.DateMention
	// when, amount and name say what would answer.
	when, amount, name bool
}

// mostWords bounds what of a query is compared: beyond it, a query is a text to be searched in, and every word costs.
const mostWords = 64

func (x *Index) understand(q Query) asked {
	said := text.Words(q.Text)
	if len(said) > mostWords {
		q.Text = q.Text[:said[mostWords].Start]
		said = said[:mostWords]
	}
	terms := unique(text.SearchTerms(q.Text))
	topical := x.withoutNames(terms)
	a := asked{named: x.named(q.Text, said), when: text.AsksWhen(q.Text, said), head: x.head(q.Text, said)}
	a.amount, a.name = wants(said)
	var ideas []string
	for _, t := range terms {
		n := lookup(x.terms, t)
		a.terms = append(a.terms, n)
		if slices.Contains(topical, t) {
			a.topical = append(a.topical, n)
		}
		ideas = append(ideas, builtin.Concepts(t)...)
	}
	for _, c := range unique(ideas) {
		a.concepts = append(a.concepts, lookup(x.ideas, c))
	}
	total := float32(0)
	for _, w := range said {
		for _, k := range x.known(w.Lower) {
			if !slices.Contains(a.words, k) {
				a.words = append(a.words, k)
				a.weights = append(a.weights, x.rarity(k))
				total += x.rarity(k)
			}
		}
	}
	for i := range a.weights {
		a.weights[i] /= total
	}
	for _, d := range text.Dates(q.Text, q.Now) {
		if d.Unit != text.Vague {
			a.dates = append(a.dates, d)
		}
	}
	return a
}

// lookup returns the number of a key, -1 where it has none.
func lookup(numbers map[string]int32, key string) int32 {
	if n, ok := numbers[key]; ok {
		return n
	}
	return -1
}

// named returns the speaker that a query is about, or -1 where it names none or several. "I" is the user who asks, where there is one.
func (x *Index) named(query string, said []text.Word) int32 {
	found, count := int32(-1), 0
	me := x.users == 1 && slices.ContainsFunc(said, isSelf)
	var names []string
	for i, w := range said {
		if name := strings.TrimSuffix(w.Lower, "'s"); x.names[name] && !text.IsFiller(query, said, i) {
			names = append(names, name)
		}
	}
	for i, s := range x.speakers {
		hit := slices.ContainsFunc(names, func(name string) bool { return slices.Contains(s.names, name) })
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

// isSelf reports whether a word is the one who says it.
func isSelf(w text.Word) bool {
	switch w.Lower {
	case "i", "my", "me", "mine", "i'm", "i've":
		return true
	}
	return false
}

// withoutNames leaves the names of speakers out of the terms, unless nothing else is asked.
func (x *Index) withoutNames(terms []string) []string {
	out := slices.DeleteFunc(slices.Clone(terms), func(t string) bool { return x.nameTerms[t] })
	if len(out) == 0 {
		return terms
	}
	return out
}

// head returns the words for the sort of thing that a query asks for: those after what or which.
func (x *Index) head(query string, said []text.Word) []int32 {
	const reach = 5
	at := slices.IndexFunc(said, func(w text.Word) bool {
		switch w.Lower {
		case "what", "which", "kind", "type", "many":
			return true
		}
		return false
	})
	if at < 0 {
		return nil
	}
	var out []int32
	for i, w := range said[:min(len(said), at+reach)] {
		if i <= at {
			continue
		}
		switch w.Lower {
		case "kind", "kinds", "sort", "sorts", "type", "types", "of":
			continue
		}
		if text.IsFiller(query, said, i) {
			return out
		}
		if k, ok := x.table.Find(w.Lower); ok {
			out = append(out, k)
		}
	}
	return out
}

// wants says whether an amount or a name would answer.
func wants(said []text.Word) (amount, name bool) {
	for i, w := range said {
		switch w.Lower {
		case "many", "much", "old", "often", "long", "far":
			amount = amount || i > 0 && said[i-1].Lower == "how"
		case "who", "whom", "whose", "where", "which", "name", "names", "title", "titles", "called", "city", "country":
			name = true
		}
	}
	return amount, name
}
