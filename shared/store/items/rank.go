package items

import (
	"cmp"
	"slices"

	"github.com/mneme-memory/mneme/shared/text"
)

// content is a value for searches. It caches results, so that several searches share them.
type content struct {
	value  Object
	fields map[string]any
	terms  map[text.Language]map[string]bool
}

// decode returns the fields of the value.
func (c *content) decode() (map[string]any, error) {
	if c.fields != nil {
		return c.fields, nil
	}
	return c.fields, decoded(c.value, &c.fields)
}

// termsIn returns the search terms of all strings of the value, in a language.
func (c *content) termsIn(l text.Language) (map[string]bool, error) {
	if terms, ok := c.terms[l]; ok {
		return terms, nil
	}
	fields, err := c.decode()
	if err != nil {
		return nil, err
	}
	terms := map[string]bool{}
	collect(terms, l, fields)
	if c.terms == nil {
		c.terms = map[text.Language]map[string]bool{}
	}
	c.terms[l] = terms
	return terms, nil
}

// collect adds the search terms of a value's strings.
func collect(terms map[string]bool, l text.Language, value any) {
	switch v := value.(type) {
	case string:
		for _, term := range l.SearchTerms(v) {
			terms[term] = true
		}
	case []any:
		for _, entry := range v {
			collect(terms, l, entry)
		}
	case map[string]any:
		for _, field := range v {
			collect(terms, l, field)
		}
	}
}

// question is the words of a query: stemmed, without stop words, each once, in the query's language.
type question struct {
	language text.Language
	terms    []string
}

func newQuestion(query string) question {
	language := text.Detect(query, text.English)
	terms := language.SearchTerms(query)
	slices.Sort(terms)
	return question{language, slices.Compact(terms)}
}

// score returns the share of the question's words in the strings of a value, from 0 to 1.
func (q question) score(c *content) (float64, error) {
	if len(q.terms) == 0 {
		return 0, nil
	}
	terms, err := c.termsIn(q.language)
	if err != nil {
		return 0, err
	}
	has := 0
	for _, term := range q.terms {
		if terms[term] {
			has++
		}
	}
	return float64(has) / float64(len(q.terms)), nil
}

// rank sorts by descending score. The order of equal scores stays.
func rank(all []match) {
	slices.SortStableFunc(all, func(a, b match) int { return cmp.Compare(b.score, a.score) })
}
