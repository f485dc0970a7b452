package mem0

import (
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/memory"
)

// metadataTest tests metadata: keys with values to equal, or with operators.
func metadataTest(value any, at string) (test, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, wrongType(at, "", value, "an object")
	}
	var tests []test
	for _, key := range sortedKeys(object) {
		operand, place, of := object[key], at+"."+key, metadataReader(key)
		if inner, ok := operand.(map[string]any); ok {
			if name := notOperator(inner); name != "" {
				known := supported() + "; a key with dots looks into objects"
				return nil, problem.Invalid(place+"."+name, "is not an operator, want one of "+known)
			}
		} else {
			t, err := of(place, "eq", operand)
			if err != nil {
				return nil, err
			}
			tests = append(tests, t)
			continue
		}
		t, err := operatorsTest(operand, place, of)
		if err != nil {
			return nil, err
		}
		tests = append(tests, t)
	}
	return joined(tests), nil
}

// notOperator returns the first key of a condition that is no operator; it is empty without such a key.
func notOperator(in map[string]any) string {
	for _, name := range sortedKeys(in) {
		if !slices.Contains(operators, name) {
			return name
		}
	}
	return ""
}

// metadataReader tests a value of metadata. The value is text, a number, true or false, or a list. A list equals
// and contains each of its entries.
func metadataReader(key string) reader {
	of := func(test func(field string) clause) clause { return test("metadata." + key) }
	if key == speakerKey { // who said it is shown there, unless the caller gave another
		of = func(test func(field string) clause) clause { return firstPresent("metadata."+key, "speaker", test) }
	}
	return func(at, operator string, operand any) (test, error) {
		switch operator {
		case "in":
			values, err := plainList(at, operand.([]any)) // checked
			return same(of(func(field string) clause { return among(field, values) })), err
		case "gt", "gte", "lt", "lte":
			bound, err := boundOf(at, operator, operand)
			return same(of(func(field string) clause { return bounded(field, operator, bound) })), err
		}
		is := exists
		if operator == "contains" || operand != nil && operand != wildcard {
			v, err := plain(at, operand)
			if err != nil {
				return nil, err
			}
			is = func(field string) clause { return equals(field, v) }
			if operator == "contains" {
				if operand == "" { // every text contains it
					return nil, problem.Invalid(at, "is empty, want a part of a text")
				}
				is = func(field string) clause { return contains(field, v) }
			}
		}
		if (operator == "ne") != (operand == nil) {
			return same(of(is).not()), nil
		}
		return same(of(is)), nil
	}
}

// plainList are operands that are plain.
func plainList(at string, operands []any) ([]*structpb.Value, error) {
	out := make([]*structpb.Value, len(operands))
	for i, one := range operands {
		var err error
		if out[i], err = plain(fmt.Sprintf("%s[%d]", at, i), one); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// plain is an operand that is text, a number, true or false.
func plain(at string, operand any) (*structpb.Value, error) {
	switch v := operand.(type) {
	case string:
		return text(v), nil
	case bool:
		return structpb.NewBoolValue(v), nil
	case json.Number:
		number, err := memory.ParseJSON(at, []byte(v))
		if err != nil {
			return nil, err
		}
		return structpb.NewNumberValue(number.(float64)), nil
	}
	return nil, wrongType(at, "", operand,
		"text, a number, true or false: contains and in look into lists, and a key with dots into objects")
}

// boundOf is a bound of a range: a number, or a date.
func boundOf(at, operator string, operand any) (*structpb.Value, error) {
	switch v := operand.(type) {
	case json.Number:
		return plain(at, v)
	case string:
		if _, err := unix(v); err == nil {
			break // a number as text bounds neither
		}
		from, to, err := span(at, v)
		if err != nil {
			break
		}
		if operator == "gt" || operator == "lte" {
			from = to
		}
		return text(stamp(from)), nil
	}
	return nil, problem.Invalid(at, "is "+memory.JSONType(operand)+
		", want a number or a date: other values have no order here")
}
