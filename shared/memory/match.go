package memory

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"
)

// Leaf is one value of a field of a memory, as filters see it.
type Leaf struct {
	// Field is a field of conditions ("metadata.size", "kind").
	Field string
	// Value is a string, a float64, a bool or a time.Time. It is nil for a list or an object, which counts as present.
	Value any
	// Item reports whether the value is an item of a list.
	Item bool
}

// Match reports whether a filter matches a memory. The filter is valid.
func (f Filter) Match(m Memory) bool { return f.match(&m) }

// MatchTurn reports whether a filter matches a turn. A turn has attributes, a session, a speaker and its time as
// valid_from.
func (f Filter) MatchTurn(t Turn) bool {
	return f.IsZero() || f.match(&Memory{SessionID: t.SessionID, Speaker: t.Speaker, ValidFrom: t.Time,
		Attributes: t.Attributes})
}

func (f Filter) match(m *Memory) bool {
	switch {
	case f.Condition != nil:
		return f.Condition.match(m)
	case f.Not != nil:
		return !f.Not.match(m)
	case len(f.Or) > 0:
		return slices.ContainsFunc(f.Or, func(part Filter) bool { return part.match(m) })
	}
	return !slices.ContainsFunc(f.And, func(part Filter) bool { return !part.match(m) })
}

func (c Condition) match(m *Memory) bool {
	found := false
	for leaf := range m.leaves(c.Field) {
		if found = c.matches(leaf); found {
			break
		}
	}
	return found == (c.Exists == nil || *c.Exists)
}

// matches reports whether a value passes the test. For Exists it reports whether the value is present.
func (c Condition) matches(leaf Leaf) bool {
	switch {
	case c.Equals != nil:
		return equals(leaf.Value, c.Equals)
	case c.In != nil:
		return slices.ContainsFunc(c.In, func(v any) bool { return equals(leaf.Value, v) })
	case c.Range != nil:
		return c.Range.contains(leaf.Value)
	case c.Contains != nil:
		s, isText := leaf.Value.(string)
		part, wantText := c.Contains.(string)
		if leaf.Item {
			return equals(leaf.Value, c.Contains)
		}
		return isText && wantText && strings.Contains(strings.ToLower(s), strings.ToLower(part))
	}
	return true
}

func equals(is, want any) bool {
	if at, isDate := is.(time.Time); isDate {
		s, _ := want.(string)
		date, ok := parseDate(s)
		return ok && at.Truncate(time.Microsecond).Equal(date)
	}
	return is == want
}

func (r Range) contains(is any) bool {
	for _, b := range r.bounds() {
		order, comparable := compareTo(is, b.value)
		switch {
		case !comparable,
			b.name == "gt" && order <= 0, b.name == "gte" && order < 0,
			b.name == "lt" && order >= 0, b.name == "lte" && order > 0:
			return false
		}
	}
	return true
}

// compareTo compares a value with a bound. The result ok is false where the types differ.
func compareTo(is, want any) (order int, ok bool) {
	if number, isNumber := want.(float64); isNumber {
		x, ok := is.(float64)
		return cmp.Compare(x, number), ok
	}
	s, _ := want.(string)
	date, _ := parseDate(s)
	at, ok := DateOf(is)
	return at.Compare(date), ok
}

// DateOf returns a value of a field as a date, to the microsecond. A text in RFC 3339 is a date. The result ok is
// false for other values.
func DateOf(value any) (at time.Time, ok bool) {
	switch v := value.(type) {
	case time.Time:
		return v.Truncate(time.Microsecond), true
	case string:
		if len(v) < len("2006-01-02T15:04:05Z") || v[4] != '-' {
			return at, false
		}
		return parseDate(v)
	}
	return at, false
}

// Leaves are all values of all fields that conditions test.
func (m *Memory) Leaves() iter.Seq[Leaf] { return m.leaves("") }

// leaves are the values of a field, or of all fields for an empty name.
func (m *Memory) leaves(field string) iter.Seq[Leaf] {
	return func(yield func(Leaf) bool) {
		if key, ok := strings.CutPrefix(field, MetadataPrefix); ok {
			visitKeys(field, key, m.Metadata, false, yield)
			return
		}
		for _, leaf := range m.plain() {
			if (field == "" || field == leaf.Field) && leaf.Value != "" && !yield(leaf) {
				return
			}
		}
		for _, leaf := range m.dated() {
			if (field == "" || field == leaf.Field) && leaf.Value != (time.Time{}) && !yield(leaf) {
				return
			}
		}
		for _, word := range m.Keywords {
			if (field == "" || field == "keywords") && !yield(Leaf{"keywords", word, true}) {
				return
			}
		}
		if field == "" && len(m.Metadata) > 0 {
			visitBelow(strings.TrimSuffix(MetadataPrefix, "."), m.Metadata, false, yield)
		}
	}
}

func (m *Memory) plain() [9]Leaf {
	return [...]Leaf{
		{Field: "id", Value: m.ID}, {Field: "id", Value: m.AliasOf}, {Field: "kind", Value: string(m.Kind)},
		{Field: "topic", Value: m.Topic}, {Field: "speaker", Value: m.Speaker}, {Field: "session_id", Value: m.SessionID},
		{Field: "agent_id", Value: m.AgentID}, {Field: "app_id", Value: m.AppID}, {Field: "run_id", Value: m.RunID},
	}
}

func (m *Memory) dated() [3]Leaf {
	return [...]Leaf{
		{Field: "recorded_at", Value: m.RecordedAt}, {Field: "valid_from", Value: m.ValidFrom},
		{Field: "event_time", Value: m.EventTime.Time},
	}
}

// visitKeys yields the values at a path of keys in an object. Dots separate the keys, and a key may contain dots.
// It also visits objects in lists.
func visitKeys(field, path string, object map[string]any, item bool, yield func(Leaf) bool) bool {
	if value, ok := object[path]; ok && !visitValue(field, value, item, yield) {
		return false
	}
	for i := range len(path) {
		if path[i] != '.' {
			continue
		}
		if !visitInner(field, path[i+1:], object[path[:i]], item, yield) {
			return false
		}
	}
	return true
}

func visitInner(field, path string, value any, item bool, yield func(Leaf) bool) bool {
	switch v := value.(type) {
	case map[string]any:
		return visitKeys(field, path, v, item, yield)
	case []any:
		for _, one := range v {
			if !visitInner(field, path, one, true, yield) {
				return false
			}
		}
	}
	return true
}

// visitValue yields a value. For a list or an object it yields its presence, and then the items of a list.
func visitValue(field string, value any, item bool, yield func(Leaf) bool) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return yield(Leaf{Field: field, Item: item})
	case []any:
		if !yield(Leaf{Field: field, Item: item}) {
			return false
		}
		for _, one := range v {
			if !visitValue(field, one, true, yield) {
				return false
			}
		}
		return true
	}
	return yield(Leaf{field, value, item})
}

// visitBelow yields a value and all values below it at every path.
func visitBelow(field string, value any, item bool, yield func(Leaf) bool) bool {
	switch v := value.(type) {
	case map[string]any:
		if !yield(Leaf{Field: field, Item: item}) {
			return false
		}
		for key, inner := range v {
			if !visitBelow(field+"."+key, inner, item, yield) {
				return false
			}
		}
		return true
	case []any:
		if !yield(Leaf{Field: field, Item: item}) {
			return false
		}
		for _, one := range v {
			if !visitBelow(field, one, true, yield) {
				return false
			}
		}
		return true
	case nil:
		return true
	}
	return yield(Leaf{field, value, item})
}
