package mem0

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/door"
	"github.com/mneme-memory/mneme/shared/memory"
)

// operators are those of mem0's filters.
var operators = []string{"eq", "ne", "in", "gt", "gte", "lt", "lte", "contains", "icontains"}

func sortedKeys(in map[string]any) []string { return slices.Sorted(maps.Keys(in)) }

// fieldTest reads what a field of a memory has to be: a value that it equals, or operators with operands, all of which have to hold.
func fieldTest(name string, value any, at string) (test, error) {
	if name == "metadata" {
		return metadataTest(value, at)
	}
	of, known := readers(name)
	if !known {
		return nil, door.Invalid(at, "is no field of filters, want some of AND, OR, NOT, user_id, agent_id, app_id, run_id, created_at, "+
			"updated_at, timestamp, categories, metadata, keywords and memory_ids")
	}
	return operatorsTest(value, at, of)
}

// reader makes the test of one operator; at is the field in errors.
type reader func(at, operator string, operand any) (test, error)

// readers are the fields of filters.
func readers(name string) (reader, bool) {
	switch name {
	case userField, agentField, appField, runField:
		return textReader(func(m *item) *string { return m.entity(name) }), true
	case "memory_ids", "memory_id", "id":
		byID := textReader(func(m *item) *string { return &m.ID })
		return func(at, operator string, operand any) (test, error) { return byID(at, operator, canonical(operand)) }, true
	case "created_at", "updated_at", "timestamp":
		return func(at, operator string, operand any) (test, error) {
			return timeTest(at, timesOf(name), operator, operand)
		}, true
	case "categories":
		return listReader(func(m *item) []string { return m.Categories }), true
	case "keywords":
		return keywordsTest, true
	}
	return nil, false
}

// operatorsTest reads the operators of a condition.
func operatorsTest(value any, at string, of reader) (test, error) {
	object, ok := value.(map[string]any)
	if !ok {
		operator := "eq"
		if _, list := value.([]any); list {
			operator = "in"
		}
		return of(at, operator, value)
	}
	if len(object) == 0 {
		return nil, door.Invalid(at, "is an empty condition")
	}
	tests := make([]test, 0, len(object))
	for _, operator := range sortedKeys(object) {
		if !slices.Contains(operators, operator) {
			return nil, door.Invalid(at+"."+operator, "is no operator, want one of "+strings.Join(operators, ", "))
		}
		if list, ok := object[operator].([]any); operator == "in" && (!ok || len(list) > maxListed) {
			return nil, door.Invalid(at+".in", fmt.Sprintf("is no list of at most %d values", maxListed))
		}
		t, err := of(at+"."+operator, operator, object[operator])
		if err != nil {
			return nil, err
		}
		tests = append(tests, t)
	}
	return func(m *item) bool {
		return !slices.ContainsFunc(tests, func(t test) bool { return !t(m) })
	}, nil
}

// textReader tests a text, which may be missing. As in mem0, `*` is any that is not missing, and what is missing is not equal to any.
func textReader(get func(*item) *string) reader {
	return func(at, operator string, operand any) (test, error) {
		if operand == nil && (operator == "eq" || operator == "ne") {
			return func(m *item) bool { return (get(m) == nil) == (operator == "eq") }, nil
		}
		if operator == "in" {
			among, err := textsOf(at, operand)
			return func(m *item) bool { v := get(m); return v != nil && slices.Contains(among, *v) }, err
		}
		want, ok := operand.(string)
		if !ok {
			return nil, wrongType(at, "", operand, "text")
		}
		compare, err := compareTexts(at, operator)
		if err != nil {
			return nil, err
		}
		return func(m *item) bool {
			v := get(m)
			if operator == "eq" && want == wildcard {
				return v != nil
			}
			if v == nil {
				return operator == "ne"
			}
			return compare(*v, want)
		}, nil
	}
}

// canonical is an id, or a list of ids, as they are kept.
func canonical(operand any) any {
	switch v := operand.(type) {
	case string:
		return memory.CanonicalID(v)
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = canonical(one)
		}
		return out
	}
	return operand
}

// compareTexts compares texts by an operator.
func compareTexts(at, operator string) (func(is, want string) bool, error) {
	switch operator {
	case "eq":
		return func(is, want string) bool { return is == want }, nil
	case "ne":
		return func(is, want string) bool { return is != want }, nil
	case "contains":
		return strings.Contains, nil
	case "icontains":
		return func(is, want string) bool { return strings.Contains(strings.ToLower(is), strings.ToLower(want)) }, nil
	}
	return nil, door.Invalid(at, "does not compare texts, want eq, ne, in, contains or icontains")
}

func textsOf(at string, value any) ([]string, error) {
	out, err := fields{"in": value}.texts("in")
	if err != nil {
		p := door.ProblemOf(err)
		p.Field = at + strings.TrimPrefix(p.Field, "in")
		return nil, p
	}
	return out, nil
}

// listReader tests a list of texts: it is equal to what is among it.
func listReader(get func(*item) []string) reader {
	return func(at, operator string, operand any) (test, error) {
		if operator == "in" {
			among, err := textsOf(at, operand)
			return func(m *item) bool {
				return slices.ContainsFunc(get(m), func(v string) bool { return slices.Contains(among, v) })
			}, err
		}
		want, ok := operand.(string)
		if !ok {
			return nil, wrongType(at, "", operand, "text")
		}
		if operator == "ne" {
			return func(m *item) bool { return !slices.Contains(get(m), want) }, nil
		}
		compare, err := compareTexts(at, operator)
		if err != nil {
			return nil, err
		}
		return func(m *item) bool {
			if operator == "eq" && want == wildcard {
				return len(get(m)) > 0
			}
			return slices.ContainsFunc(get(m), func(v string) bool { return compare(v, want) })
		}, nil
	}
}

// keywordsTest looks for words: contains and icontains look through what a memory says, too.
func keywordsTest(at, operator string, operand any) (test, error) {
	return listReader(func(m *item) []string {
		if operator == "contains" || operator == "icontains" {
			return append([]string{m.Memory}, m.keywords...)
		}
		return m.keywords
	})(at, operator, operand)
}

// timesOf reads a time of a memory.
func timesOf(field string) func(*item) time.Time {
	switch field {
	case "updated_at":
		return func(m *item) time.Time { return m.updated }
	case "timestamp":
		return func(m *item) time.Time { return m.happened }
	}
	return func(m *item) time.Time { return m.created }
}

// timeTest tests a time. A day stands for all of it: what is not after a day is before its end.
func timeTest(at string, get func(*item) time.Time, operator string, operand any) (test, error) {
	if operand == wildcard && operator == "eq" {
		return func(m *item) bool { return !get(m).IsZero() }, nil
	}
	from, to, err := span(at, operand)
	if err != nil {
		return nil, err
	}
	compare := map[string]func(t time.Time) bool{
		"eq":  func(t time.Time) bool { return !t.Before(from) && !t.After(to) },
		"ne":  func(t time.Time) bool { return t.Before(from) || t.After(to) },
		"gt":  func(t time.Time) bool { return t.After(to) },
		"gte": func(t time.Time) bool { return !t.Before(from) },
		"lt":  func(t time.Time) bool { return t.Before(from) },
		"lte": func(t time.Time) bool { return !t.After(to) },
	}[operator]
	if compare == nil {
		return nil, door.Invalid(at, "does not compare times, want eq, ne, gt, gte, lt or lte")
	}
	return func(m *item) bool { return compare(get(m)) }, nil
}
