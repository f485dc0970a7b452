package memory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/fault"
)

// ParseFilter reads a filter in JSON and checks it: {"and": [...]}, {"or": [...]}, {"not": {...}}, or a condition
// {"field": "metadata.colour", "equals": "red"} with one of equals, in, exists, range and contains. No bytes are the
// zero filter. Errors are terminal and name the part, beginning with `filter`.
func ParseFilter(raw []byte) (Filter, error) {
	if len(raw) == 0 {
		return Filter{}, nil
	}
	value, err := ParseJSON("filter", raw)
	if err != nil {
		return Filter{}, err
	}
	f, err := readFilter("filter", value, 1)
	if err != nil {
		return Filter{}, err
	}
	return f, f.Validate()
}

func readFilter(at string, value any, depth int) (f Filter, err error) {
	object, ok := value.(map[string]any)
	if !ok {
		return f, fault.Terminal(at, "is %s, want an object", JSONType(value))
	}
	if depth > MaxFilterDepth {
		return f, fault.Terminal(at, "is on level %d of the filter, want at most %d levels", depth, MaxFilterDepth)
	}
	if _, isCondition := object["field"]; isCondition {
		f.Condition, err = readCondition(at, object)
		return f, err
	}
	if len(object) != 1 {
		return f, fault.Terminal(at, "has the keys %s, want one of and, or and not, or a condition with field and a test",
			keysOf(object))
	}
	for name, inner := range object {
		switch name {
		case "and":
			f.And, err = readFilters(at+".and", inner, depth)
		case "or":
			f.Or, err = readFilters(at+".or", inner, depth)
		case "not":
			f.Not = new(Filter)
			*f.Not, err = readFilter(at+".not", inner, depth+1)
		default:
			err = fault.Terminal(at+"."+shown(name), "is not an operator, want and, or, not, or a condition with "+
				"field and a test")
		}
	}
	return f, err
}

func readFilters(at string, value any, depth int) ([]Filter, error) {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return nil, fault.Terminal(at, "is not a list of filters, want at least one")
	}
	out := make([]Filter, len(list))
	for i, part := range list {
		var err error
		if out[i], err = readFilter(fmt.Sprintf("%s[%d]", at, i), part, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func readCondition(at string, object map[string]any) (*Condition, error) {
	c := &Condition{}
	var ok bool
	if c.Field, ok = object["field"].(string); !ok {
		return nil, fault.Terminal(at+".field", "is %s, want text", JSONType(object["field"]))
	}
	if len(object) > 2 {
		return nil, fault.Terminal(at, "has the keys %s, want field and exactly one test", keysOf(object))
	}
	for name, operand := range object {
		at := at + "." + shown(name)
		switch name {
		case "field":
			continue
		case "equals", "contains":
			if operand == nil {
				return nil, fault.Terminal(at, "is null, want text, a number, true or false; `exists` tests absence")
			}
			if name == "equals" {
				c.Equals = operand
			} else {
				c.Contains = operand
			}
		case "in":
			if c.In, ok = operand.([]any); !ok {
				return nil, fault.Terminal(at, "is %s, want a list", JSONType(operand))
			}
		case "exists":
			exists, ok := operand.(bool)
			if !ok {
				return nil, fault.Terminal(at, "is %s, want true or false", JSONType(operand))
			}
			c.Exists = &exists
		case "range":
			var err error
			if c.Range, err = readRange(at, operand); err != nil {
				return nil, err
			}
		default:
			return nil, fault.Terminal(at, "is not a test, want one of equals, in, exists, range and contains")
		}
	}
	return c, nil
}

func readRange(at string, operand any) (*Range, error) {
	object, ok := operand.(map[string]any)
	if !ok {
		return nil, fault.Terminal(at, "is %s, want an object with gt, gte, lt or lte", JSONType(operand))
	}
	r := &Range{}
	for name, value := range object {
		to, known := map[string]*any{"gt": &r.GT, "gte": &r.GTE, "lt": &r.LT, "lte": &r.LTE}[name]
		if !known {
			return nil, fault.Terminal(at+"."+shown(name), "is not a bound, want gt, gte, lt or lte")
		}
		if value == nil {
			return nil, fault.Terminal(at+"."+name, "is null, want a number or a date as RFC 3339 text")
		}
		*to = value
	}
	return r, nil
}

func keysOf(object map[string]any) string {
	if len(object) == 0 {
		return "of an empty object"
	}
	keys := slices.Sorted(maps.Keys(object))
	for i, key := range keys {
		keys[i] = shown(key)
	}
	return strings.Join(keys[:min(len(keys), 5)], ", ")
}

// shown is as much of a wrong name as an error shows.
func shown(name string) string { return strings.ToValidUTF8(name[:min(len(name), maxShownRole)], "?") }
