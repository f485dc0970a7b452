package memory

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Limits of a filter.
const (
	// MaxConditions is the maximum number of conditions in a filter.
	MaxConditions = 100
	// MaxFilterDepth is the maximum number of levels of a filter. A condition alone has one level.
	MaxFilterDepth = 8
	// MaxFilterValues is the maximum number of values of an `in`.
	MaxFilterValues = 100
	// MaxFilterText is the maximum size of a text in a condition, in bytes.
	MaxFilterText = MaxMetadataBytes
)

// MetadataPrefix begins the fields of conditions on metadata.
const MetadataPrefix = "metadata."

// Filter chooses memories by a condition, or by other filters. All of them, at least one of them, or not the one
// must match. The zero filter matches every memory. Every other filter has exactly one of the four fields.
type Filter struct {
	And       []Filter
	Or        []Filter
	Not       *Filter
	Condition *Condition
}

// Condition tests one field of a memory. Exactly one test is set. Values are string, float64 or bool.
type Condition struct {
	// Field is metadata.KEY, or a field that Fields returns.
	Field string
	// Equals is true where the field, or an item of a list, equals it.
	Equals any
	// In is true where the field, or an item of a list, equals one of its values.
	In []any
	// Exists tests whether the field is present (true) or absent (false). A null value counts as absent.
	Exists *bool
	// Range is true where the field, or an item of a list, lies between the bounds.
	Range *Range
	// Contains is true where the field is a list with that item, or a text with that part. It ignores case.
	Contains any
}

// Range has bounds. They are all numbers, or all texts in RFC 3339. nil means no bound.
type Range struct{ GT, GTE, LT, LTE any }

// bound is one bound of a range.
type bound struct {
	name  string
	value any
}

func (r Range) bounds() []bound {
	all := []bound{{"gt", r.GT}, {"gte", r.GTE}, {"lt", r.LT}, {"lte", r.LTE}}
	return slices.DeleteFunc(all, func(b bound) bool { return b.value == nil })
}

// fieldKind is the type of a field's values.
type fieldKind int

const (
	anyField fieldKind = iota // metadata: any JSON value
	textField
	kindField // a text of Kinds
	dateField
)

var filterFields = map[string]fieldKind{
	"agent_id": textField, "app_id": textField, "run_id": textField, "session_id": textField, "topic": textField,
	"speaker": textField, "keywords": textField, "id": textField, "kind": kindField, "recorded_at": dateField,
	"valid_from": dateField, "event_time": dateField,
}

// FilterFields are the fields that conditions test besides metadata, in order of name.
func FilterFields() []string { return slices.Sorted(maps.Keys(filterFields)) }

// IsZero reports whether the filter is the zero filter.
func (f Filter) IsZero() bool {
	return len(f.And) == 0 && len(f.Or) == 0 && f.Not == nil && f.Condition == nil
}

// Validate checks a filter. The zero filter is valid. Errors are terminal and name the part, beginning with `filter`.
func (f Filter) Validate() error {
	if f.IsZero() {
		return nil
	}
	conditions := 0
	return f.validate("filter", 1, &conditions)
}

func (f Filter) validate(at string, depth int, conditions *int) error {
	if depth > MaxFilterDepth {
		return fault.Terminal(at, "is on level %d of the filter, want at most %d levels", depth, MaxFilterDepth)
	}
	switch {
	case f.Condition != nil:
		if *conditions++; *conditions > MaxConditions {
			return fault.Terminal("filter", "has more than %d conditions", MaxConditions)
		}
		return f.Condition.validate(at)
	case f.Not != nil:
		return f.Not.validate(at+".not", depth+1, conditions)
	}
	name, parts := "and", f.And
	if len(f.Or) > 0 {
		name, parts = "or", f.Or
	}
	if len(parts) == 0 {
		return fault.Terminal(at, "is empty, want one of and, or, not and a condition")
	}
	for i, part := range parts {
		if err := part.validate(fmt.Sprintf("%s.%s[%d]", at, name, i), depth+1, conditions); err != nil {
			return err
		}
	}
	return nil
}

// kind is the type of the condition's field. The result ok is false for an unknown field.
func (c Condition) kind() (kind fieldKind, ok bool) {
	if key, found := strings.CutPrefix(c.Field, MetadataPrefix); found {
		return anyField, key != ""
	}
	kind, ok = filterFields[c.Field]
	return kind, ok
}

func (c Condition) validate(at string) error {
	kind, known := c.kind()
	if !known || len(c.Field) > MaxMetadataBytes {
		return fault.Terminal(at+".field", "is not a field of memories, want metadata.KEY or one of %s",
			strings.Join(FilterFields(), ", "))
	}
	switch {
	case c.Equals != nil:
		return checkOperand(at+".equals", c.Equals, kind)
	case c.In != nil:
		if len(c.In) == 0 || len(c.In) > MaxFilterValues {
			return fault.Terminal(at+".in", "has %d values, want 1 to %d", len(c.In), MaxFilterValues)
		}
		for i, value := range c.In {
			if err := checkOperand(fmt.Sprintf("%s.in[%d]", at, i), value, kind); err != nil {
				return err
			}
		}
		return nil
	case c.Exists != nil:
		return nil
	case c.Range != nil:
		return c.Range.validate(at+".range", kind)
	case c.Contains != nil:
		if kind == dateField || kind == kindField {
			return fault.Terminal(at+".contains", "does not test %s, want equals, in, exists or range", c.Field)
		}
		if c.Contains == "" { // every text contains it
			return fault.Terminal(at+".contains", "is empty, want a part of a text")
		}
		return checkOperand(at+".contains", c.Contains, kind)
	}
	return fault.Terminal(at, "has no test, want one of equals, in, exists, range and contains")
}

// checkOperand checks a value that a field is compared with.
func checkOperand(at string, value any, kind fieldKind) error {
	s, isText := value.(string)
	switch v := value.(type) {
	case string:
		if len(v) > MaxFilterText || !utf8.ValidString(v) {
			return fault.Terminal(at, "is not valid, want UTF-8 of at most %d bytes", MaxFilterText)
		}
	case bool:
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fault.Terminal(at, "is %g, want a finite number", v)
		}
	default:
		return fault.Terminal(at, "is %s, want text, a number, true or false", JSONType(value))
	}
	switch {
	case kind != anyField && !isText:
		return fault.Terminal(at, "is %s, want text", JSONType(value))
	case kind == kindField && !slices.Contains(Kinds(), Kind(s)):
		return fault.Terminal(at, "is not a kind, want fact, preference, episodic, semantic or procedural")
	case kind == dateField:
		if _, ok := parseDate(s); !ok {
			return fault.Terminal(at, "is not a date, want RFC 3339 text")
		}
	}
	return nil
}

func (r Range) validate(at string, kind fieldKind) error {
	bounds := r.bounds()
	if len(bounds) == 0 {
		return fault.Terminal(at, "has no bound, want gt, gte, lt or lte")
	}
	if kind == textField || kind == kindField {
		return fault.Terminal(at, "tests numbers and dates, want metadata.KEY, recorded_at, valid_from or event_time "+
			"as the field")
	}
	numbers := 0
	for _, b := range bounds {
		switch v := b.value.(type) {
		case float64:
			if numbers++; kind == dateField || math.IsNaN(v) || math.IsInf(v, 0) {
				return fault.Terminal(at+"."+b.name, "is a number that cannot bound the field, want RFC 3339 text or a "+
					"finite number")
			}
		case string:
			if _, ok := parseDate(v); !ok {
				return fault.Terminal(at+"."+b.name, "is not a date, want RFC 3339 text or a number")
			}
		default:
			return fault.Terminal(at+"."+b.name, "is %s, want a number or a date as RFC 3339 text", JSONType(b.value))
		}
	}
	if numbers > 0 && numbers < len(bounds) {
		return fault.Terminal(at, "has numbers and dates as bounds, want bounds of one type")
	}
	return nil
}

// parseDate reads RFC 3339 text. Filters compare dates to the microsecond.
func parseDate(s string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, s)
	return t.Truncate(time.Microsecond), err == nil
}

// IsDateField reports whether the values of a field are dates. It does not cover metadata.
func IsDateField(field string) bool { return filterFields[field] == dateField }
