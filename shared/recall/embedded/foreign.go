package embedded

import (
	"slices"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/text"
)

// By spelling, fewer words of a true answer are near, and many words are somewhat near by chance. So the support is
// lower, and the lead of other people must be clearer. Both were chosen on the conversations in German, Spanish and
// Japanese.
const foreignSupport, foreignMargin = 0.3, -0.1

// support returns the required share of the question in a statement, 0 to 1.
func (a asked) support() float64 {
	if a.language == text.English {
		return support
	}
	return foreignSupport
}

// margin returns the required lead of the subject's best statement over the best of other people.
func (a asked) margin() float64 {
	if a.language == text.English {
		return margin
	}
	return foreignMargin
}

// usual returns the language of most memories.
func usual(memories []memory.Memory) text.Language {
	var t text.Tally
	for _, m := range memories {
		t.Add(text.TallyWords(text.Words(m.Content)))
	}
	return t.Language(text.English)
}

// readForeign reads the content words of a query in a language without word vectors. It also reads the messages
// before it, as far as they count. A name counts as a name in any form of the language.
func (a *asked) readForeign(parts []query.Part, known map[string]bool) {
	names := map[string]string{} // by their search terms
	for name := range known {
		for _, t := range a.language.SearchTerms(name) {
			names[t] = name
		}
	}
	people := map[string]bool{}
	for i, p := range parts {
		for name := range known {
			if i == 0 && text.IsUnspaced(name) && strings.Contains(p.Text, name) {
				a.person, people[name] = name, true
			}
		}
		said := a.language.Plain(p.Text)
		words := text.Words(said)
		for k, w := range words {
			if text.NamesUser(words, k) { // every memory is of the user
				continue
			}
			for _, t := range a.language.WordTerms(said, words, k) {
				name, ok := names[t]
				if ok && (w.Capital || text.IsUnspaced(name)) {
					if i == 0 && w.Capital {
						a.person, people[name] = name, true
					}
					continue
				}
				a.words = append(a.words, wanted{w.Lower, t, float64(p.Weight)})
			}
		}
	}
	if len(people) != 1 {
		a.person = ""
	}
}

// coverForeign is cover for a question in a language without word vectors. It compares words by spelling instead of
// meaning.
func (a asked) coverForeign(table *wordvector.Table, m memory.Memory) (tells, has float64) {
	fields := append([]string{m.Speaker, m.Content, m.Value, m.Topic, m.Slot}, m.Keywords...)
	said := recall.Plain(strings.Join(fields, "\n"))
	have := text.Detect(said, a.language).SearchTerms(said)
	spell := func(term string) blas32.Vector {
		v := make([]float32, table.Dimension())
		wordvector.Spell(v, term, 1)
		return blas32.Vector{N: len(v), Inc: 1, Data: v}
	}
	spelled := make([]blas32.Vector, len(have))
	for i, t := range have {
		spelled[i] = spell(t)
	}
	all := 0.0
	for _, w := range a.words {
		all += w.weight
		if slices.Contains(have, w.stem) {
			has += w.weight
			continue
		}
		best, own := float32(0), spell(w.stem)
		for _, v := range spelled {
			best = max(best, blas32.Dot(own, v))
		}
		tells += w.weight * float64(best)
	}
	if all == 0 {
		return 0, 0
	}
	return (tells + has) / all, has / all
}
