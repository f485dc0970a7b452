package mem0

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/memory"
)

// operators are the operators of mem0's filters. The list has icontains so that the refusal can name it.
var operators = []string{"eq", "ne", "in", "gt", "gte", "lt", "lte", "contains", "icontains"}

// supported names the operators that Mneme supports.
func supported() string { return strings.Join(operators[:len(operators)-1], ", ") }

func sortedKeys(in map[string]any) []string { return slices.Sorted(maps.Keys(in)) }

// reader makes the test of one operator; at is the field in errors.
type reader func(at, operator string, operand any) (test, error)

// fieldTest reads the condition on a field of a memory. The condition is a value to equal, or operators with
// operands. All operators must hold.
func fieldTest(name string, value any, at string) (test, error) {
	switch name {
	case "metadata":
		return metadataTest(value, at)
	case userField, agentField, appField, runField:
		return operatorsTest(value, at, entityReader(name))
	case "memory_ids", "memory_id", "id":
		return operatorsTest(value, at, idReader)
	case "created_at", "updated_at", "timestamp":
		return operatorsTest(value, at, timeReader(name))
	case "categories":
		return operatorsTest(value, at, categoriesReader)
	case "keywords":
		return operatorsTest(value, at, keywordsReader)
	}
	return nil, problem.Invalid(at, "is not a field of filters, want some of AND, OR, NOT, user_id, agent_id, app_id, "+
		"run_id, created_at, updated_at, timestamp, categories, metadata, keywords and memory_ids")
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
		return nil, problem.Invalid(at, "is an empty condition")
	}
	tests := make([]test, 0, len(object))
	for _, operator := range sortedKeys(object) {
		switch {
		case !slices.Contains(operators, operator):
			return nil, problem.Invalid(at+"."+operator, "is not an operator, want one of "+supported())
		case operator == "icontains":
			return nil, problem.Invalid(at+".icontains",
				"is not supported: contains finds a part of a text in either case")
		}
		if _, ok := object[operator].([]any); operator == "in" && !ok {
			return nil, problem.Invalid(at+".in", "is not a list of values")
		}
		t, err := of(at+"."+operator, operator, object[operator])
		if err != nil {
			return nil, err
		}
		tests = append(tests, t)
	}
	return joined(tests), nil
}

// joined is a test that holds where all of some hold.
func joined(tests []test) test {
	return func(user string) clause {
		parts := make([]clause, len(tests))
		for i, t := range tests {
			parts[i] = t(user)
		}
		return every(parts...)
	}
}

// same is a test with the same clause for every user.
func same(c clause) test { return func(string) clause { return c } }

func text(s string) *structpb.Value { return structpb.NewStringValue(s) }

// wantText is an operand that has to be text.
func wantText(at string, operand any) (string, error) {
	s, ok := operand.(string)
	if !ok {
		return "", wrongType(at, "", operand, "text")
	}
	return s, nil
}

// wantTexts is an operand that has to be a list of texts.
func wantTexts(at string, operand any) ([]*structpb.Value, error) {
	list, ok := operand.([]any)
	if !ok {
		return nil, wrongType(at, "", operand, "a list")
	}
	out := make([]*structpb.Value, len(list))
	for i, one := range list {
		s, err := wantText(fmt.Sprintf("%s[%d]", at, i), one)
		if err != nil {
			return nil, err
		}
		out[i] = text(s)
	}
	return out, nil
}

// entityReader tests an entity. If the memory's owner is such an entity, the owner decides for all its memories.
// Otherwise the entity came with the turn.
func entityReader(field string) reader {
	inBank := textReader(field)
	return func(at, operator string, operand any) (test, error) {
		elsewhere, err := inBank(at, operator, operand)
		if err != nil {
			return nil, err
		}
		return func(user string) clause {
			kind, id := entityOf(user)
			switch {
			case kind == kindOfField(field):
				return decided(fixed(&id, operator, operand))
			case field == userField:
				return decided(fixed(nil, operator, operand))
			}
			return elsewhere(user)
		}, nil
	}
}

// fixed tests a text that is the same for all memories of a user, nil where none has it. The operand has been
// checked.
func fixed(is *string, operator string, operand any) bool {
	equal := func(operand any) bool { return is != nil && operand == *is }
	switch {
	case operand == nil:
		return (is == nil) == (operator == "eq")
	case operator == "eq":
		return equal(operand) || operand == wildcard && is != nil
	case operator == "ne":
		return !equal(operand)
	case operator == "in":
		return slices.ContainsFunc(operand.([]any), equal)
	}
	return is != nil && strings.Contains(strings.ToLower(*is), strings.ToLower(operand.(string)))
}

// textReader tests a text of the bank, which may be missing. As in mem0, `*` matches any text that is not missing.
// A missing text equals no value.
func textReader(field string) reader {
	return func(at, operator string, operand any) (test, error) {
		if operand == nil && (operator == "eq" || operator == "ne") {
			operand, operator = wildcard, map[string]string{"eq": "none", "ne": "eq"}[operator]
		}
		if operator == "in" {
			values, err := wantTexts(at, operand)
			return same(among(field, values)), err
		}
		want, err := wantText(at, operand)
		if err != nil {
			return nil, err
		}
		switch {
		case operator == "contains" && want == "": // every text contains it
			return nil, problem.Invalid(at, "is empty, want a part of a text")
		case operator == "none":
			return same(exists(field).not()), nil
		case operator == "eq" && want == wildcard:
			return same(exists(field)), nil
		case operator == "eq":
			return same(equals(field, text(want))), nil
		case operator == "ne":
			return same(equals(field, text(want)).not()), nil
		case operator == "contains":
			return same(contains(field, text(want))), nil
		}
		return nil, problem.Invalid(at, "does not compare texts, want eq, ne, in or contains")
	}
}

// idReader tests the id by which clients know a memory.
func idReader(at, operator string, operand any) (test, error) {
	if operator == "contains" {
		return nil, problem.Invalid(at, "does not compare ids, want eq, ne or in")
	}
	return textReader("id")(at, operator, canonical(operand))
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

// keywordsReader tests the list of keywords: it contains and equals each of them.
func keywordsReader(at, operator string, operand any) (test, error) {
	return textReader("keywords")(at, operator, operand)
}

// categoriesReader tests the list of a memory's kind and topic. The list equals each entry, and contains a part of
// an entry.
func categoriesReader(at, operator string, operand any) (test, error) {
	if operator == "ne" {
		is, err := categoriesReader(at, "eq", operand)
		return func(user string) clause { return is(user).not() }, err
	}
	if operator == "eq" && (operand == nil || operand == wildcard) { // every memory has a kind
		return same(decided(operand == wildcard)), nil
	}
	ofTopic, err := textReader("topic")(at, operator, operand)
	if err != nil {
		return nil, err
	}
	var kinds []*structpb.Value
	for _, k := range memory.Kinds() {
		if name := string(k); fixed(&name, operator, operand) {
			kinds = append(kinds, text(name))
		}
	}
	return func(user string) clause { return either(among("kind", kinds), ofTopic(user)) }, nil
}

// timeReader tests a time of a memory. A day stands for the whole day: "not after a day" means before its end.
func timeReader(name string) reader {
	of := map[string]func(func(string) clause) clause{
		"created_at": created, "updated_at": recorded, "timestamp": happened,
	}[name]
	return func(at, operator string, operand any) (test, error) {
		if operand == wildcard && operator == "eq" {
			return same(decided(true)), nil
		}
		from, to, err := span(at, operand)
		if err != nil {
			return nil, err
		}
		begins, ends := text(stamp(from)), text(stamp(to))
		within := func(field string) clause { return every(bounded(field, "gte", begins), bounded(field, "lte", ends)) }
		switch operator {
		case "eq":
			return same(of(within)), nil
		case "ne":
			return same(of(within).not()), nil
		case "gt", "lte":
			return same(of(func(field string) clause { return bounded(field, operator, ends) })), nil
		case "gte", "lt":
			return same(of(func(field string) clause { return bounded(field, operator, begins) })), nil
		}
		return nil, problem.Invalid(at, "does not compare times, want eq, ne, gt, gte, lt or lte")
	}
}

// created tests the creation time of a memory. An update carries the creation time of the first version. Otherwise
// the turn's time counts.
func created(test func(field string) clause) clause {
	return firstPresent("metadata."+createdKey, "valid_from", test)
}

func recorded(test func(field string) clause) clause { return test("recorded_at") }

// happened tests the time of the event. It is the turn's time, unless the memory names another time.
func happened(test func(field string) clause) clause {
	return either(test("event_time"), every(exists("event_time").not(), created(test)))
}
