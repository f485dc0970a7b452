package items

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/fault"
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
