package verbatim

import (
	"slices"

	"github.com/mneme-memory/mneme/shared/text"
)

// question is a query by its words: stemmed, without stop words, in the language that it is in.
type question struct {
	language text.Language
	terms    map[string]bool
}

func newQuestion(query string) question {
	q := question{text.Detect(query, text.English), map[string]bool{}}
	for _, term := range q.language.SearchTerms(query) {
		q.terms[term] = true
	}
	return q
}

// score is the part of the question's words that strings of a value have, from 0 to 1.
func (q question) score(value Object) (float64, error) {
	var of any
	if err := decoded(value, &of); err != nil {
		return 0, err
	}
	missing := make(map[string]bool, len(q.terms))
	for term := range q.terms {
		missing[term] = true
	}
	q.strike(missing, of)
	if len(q.terms) == 0 {
		return 0, nil
	}
	return 1 - float64(len(missing))/float64(len(q.terms)), nil
}

// strike removes the words that a value has from those that are missing.
func (q question) strike(missing map[string]bool, value any) {
	switch v := value.(type) {
	case string:
		for _, term := range q.language.SearchTerms(v) {
			delete(missing, term)
		}
	case []any:
		for _, entry := range v {
			q.strike(missing, entry)
		}
	case map[string]any:
		for _, field := range v {
			q.strike(missing, field)
		}
	}
}

// found is an item that a search has found.
type found struct {
	member string
	score  float64
}

// rank sorts by score, the highest first; what has the same one stays in order.
func rank(all []found) {
	slices.SortStableFunc(all, func(a, b found) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
}
