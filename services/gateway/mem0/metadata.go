package mem0

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// metadataTest tests metadata: keys with what they equal, or with operators.
func metadataTest(value any, at string) (test, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, wrongType(at, "", value, "an object")
	}
	var tests []test
	for _, key := range sortedKeys(object) {
		of := func(at, operator string, operand any) (test, error) { return valueTest(at, key, operator, operand) }
		operand := object[key]
		if inner, ok := operand.(map[string]any); !ok || !onlyOperators(inner) {
			operand = map[string]any{"eq": operand}
		}
		t, err := operatorsTest(operand, at+"."+key, of)
		if err != nil {
			return nil, err
		}
		tests = append(tests, t)
	}
	return func(m *item) bool {
		return !slices.ContainsFunc(tests, func(t test) bool { return !t(m) })
	}, nil
}

func onlyOperators(in map[string]any) bool {
	for name := range in {
		if !slices.Contains(operators, name) {
			return false
		}
	}
	return len(in) > 0
}

// valueTest tests a value of metadata, which may be of any type.
func valueTest(at, key, operator string, want any) (test, error) {
	switch operator {
	case "eq":
		return func(m *item) bool {
			is, ok := m.Metadata[key]
			return ok && (want == wildcard && is != nil || same(is, want))
		}, nil
	case "ne":
		return func(m *item) bool { return !same(m.Metadata[key], want) }, nil
	case "in":
		among, ok := want.([]any)
		if !ok {
			return nil, wrongType(at, "", want, "a list")
		}
		return func(m *item) bool {
			is, ok := m.Metadata[key]
			return ok && slices.ContainsFunc(among, func(v any) bool { return same(is, v) })
		}, nil
	case "contains", "icontains":
		return func(m *item) bool { return holds(m.Metadata[key], want, operator == "icontains") }, nil
	}
	return func(m *item) bool { return ordered(m.Metadata[key], want, operator) }, nil
}

// holds reports whether a text has another in it, or a list a value.
func holds(is, want any, fold bool) bool {
	if list, ok := is.([]any); ok {
		return slices.ContainsFunc(list, func(v any) bool { return same(v, want) || fold && sameFolded(v, want) })
	}
	text, ok1 := is.(string)
	part, ok2 := want.(string)
	if fold {
		text, part = strings.ToLower(text), strings.ToLower(part)
	}
	return ok1 && ok2 && strings.Contains(text, part)
}

func sameFolded(a, b any) bool {
	x, ok1 := a.(string)
	y, ok2 := b.(string)
	return ok1 && ok2 && strings.EqualFold(x, y)
}

// same compares JSON values; numbers by what they are worth.
func same(a, b any) bool {
	x, ok1 := a.(json.Number)
	y, ok2 := b.(json.Number)
	if ok1 && ok2 {
		v, err1 := x.Float64()
		w, err2 := y.Float64()
		return x == y || err1 == nil && err2 == nil && v == w
	}
	return reflect.DeepEqual(a, b)
}

// ordered compares two numbers, or two texts.
func ordered(is, want any, operator string) bool {
	var order int
	switch want := want.(type) {
	case json.Number:
		number, ok := is.(json.Number)
		if !ok {
			return false
		}
		v, err1 := number.Float64()
		w, err2 := want.Float64()
		if err1 != nil || err2 != nil {
			return false
		}
		order = cmp.Compare(v, w)
	case string:
		text, ok := is.(string)
		if !ok {
			return false
		}
		order = strings.Compare(text, want)
	default:
		return false
	}
	switch operator {
	case "gt":
		return order > 0
	case "gte":
		return order >= 0
	case "lt":
		return order < 0
	}
	return order <= 0
}
