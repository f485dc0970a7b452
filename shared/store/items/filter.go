package items

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/text"
)

// maxConditions is the maximum number of conditions per filter.
const maxConditions = 64

// Filter is a condition on values. The zero Filter matches all. ParseFilter creates others.
type Filter struct{ conditions []condition }

// condition applies to a key at the top level of a value.
type condition struct {
	key, operator string
	operand       any
}

// operators has the comparison operators. Each function takes the order of value and operand.
var operators = map[string]func(order int) bool{
	"$gt": func(o int) bool { return o > 0 }, "$gte": func(o int) bool { return o >= 0 },
	"$lt": func(o int) bool { return o < 0 }, "$lte": func(o int) bool { return o <= 0 },
}

// Operators of equality.
const (
	opEqual    = "$eq"
	opNotEqual = "$ne"
)

// ParseFilter reads a filter: a JSON object with keys of values. An entry is either a constant for equality, or an
// object of operators: $eq, $ne, $gt, $gte, $lt and $lte. All operators must hold. A missing key counts as null.
// Order is defined for two numbers or two strings. Its errors are problems with the field "filter".
func ParseFilter(text []byte) (Filter, error) {
	var keys map[string]any
	if decoded(text, &keys) != nil || keys == nil {
		return Filter{}, fault.Terminal("filter", "is not an object")
	}
	var out Filter
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		conditions, err := conditionsOf(key, keys[key])
		if err != nil {
			return Filter{}, err
		}
		out.conditions = append(out.conditions, conditions...)
	}
	if len(out.conditions) > maxConditions {
		return Filter{}, fault.Terminal("filter", "has more than %d conditions", maxConditions)
	}
	return out, nil
}

func conditionsOf(key string, wanted any) ([]condition, error) {
	object, _ := wanted.(map[string]any)
	if !slices.ContainsFunc(slices.Collect(maps.Keys(object)), func(k string) bool { return strings.HasPrefix(k, "$") }) {
		return []condition{{key, opEqual, wanted}}, nil
	}
	var out []condition
	for operator, operand := range object {
		if operators[operator] == nil && operator != opEqual && operator != opNotEqual {
			return nil, fault.Terminal("filter", "has an unknown operator, want $eq, $ne, $gt, $gte, $lt or $lte")
		}
		out = append(out, condition{key, operator, operand})
	}
	return out, nil
}

// matches reports whether a value meets the filter.
func (f Filter) matches(value *content) (bool, error) {
	if len(f.conditions) == 0 {
		return true, nil
	}
	fields, err := value.decode()
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(f.conditions, func(c condition) bool { return !c.matches(fields[c.key]) }), nil
}

func (c condition) matches(has any) bool {
	switch c.operator {
	case opEqual:
		return equal(has, c.operand)
	case opNotEqual:
		return !equal(has, c.operand)
	}
	switch wanted := c.operand.(type) {
	case json.Number:
		n, ok := has.(json.Number)
		return ok && operators[c.operator](decimalOf(n).compare(decimalOf(wanted)))
	case string:
		s, ok := has.(string)
		return ok && operators[c.operator](strings.Compare(s, wanted))
	}
	return false
}

// equal reports whether two JSON values are equal. Numbers are equal in any notation.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		n, ok := b.(json.Number)
		return ok && decimalOf(a).compare(decimalOf(n)) == 0
	case []any:
		list, ok := b.([]any)
		return ok && slices.EqualFunc(a, list, equal)
	case map[string]any:
		object, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, object, equal)
	}
	switch b.(type) {
	case []any, map[string]any:
		return false // not comparable by ==
	}
	return a == b
}

// decoded decodes JSON. Numbers keep their notation.
func decoded(text []byte, to any) error {
	from := json.NewDecoder(bytes.NewReader(text))
	from.UseNumber()
	return from.Decode(to)
}

// decimal is an exact JSON number: 0.DIGITS times ten to the exponent. Digits neither begin nor end with 0, and zero
// has no digits.
type decimal struct {
	negative bool
	digits   string
	exponent int64
}

// maxExponent is larger than any useful exponent, and additions to it do not overflow.
const maxExponent = 1 << 60

func decimalOf(n json.Number) decimal {
	text, negative := strings.CutPrefix(string(n), "-")
	mantissa, power := text, ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, power = text[:i], text[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent, _ := strconv.ParseInt(power, 10, 64) // an exponent out of range becomes the nearest one, and a missing one 0
	exponent = max(-maxExponent, min(maxExponent, exponent)) + int64(len(digits)-len(fraction))
	if digits = strings.TrimRight(digits, "0"); digits == "" {
		return decimal{}
	}
	return decimal{negative, digits, exponent}
}

// compare returns -1, 0 or 1 if d is less than, equal to or more than o.
func (d decimal) compare(o decimal) int {
	if c := cmp.Compare(d.sign(), o.sign()); c != 0 || d.digits == "" {
		return c
	}
	return d.sign() * cmp.Or(cmp.Compare(d.exponent, o.exponent), strings.Compare(d.digits, o.digits))
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

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
