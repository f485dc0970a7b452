package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Limits of metadata.
const (
	// MaxMetadataBytes is the most bytes that metadata has as JSON.
	MaxMetadataBytes = 2 << 10
	// MaxMetadataDepth is the most levels that metadata has; an object of plain values has one.
	MaxMetadataDepth = 5
	// MaxMetadataKeyBytes is the most bytes that a key of metadata has.
	MaxMetadataKeyBytes = 128
)

// Attributes are a caller's labels of a turn. A memory carries the attributes of its source turns. The metadata of a
// turn or a memory never changes in place, because copies share it.
type Attributes struct {
	// Metadata is a JSON object of nil, bool, float64, string, []any and map[string]any, as CheckMetadata accepts it.
	Metadata map[string]any `json:"metadata,omitempty"`
	// AgentID, AppID and RunID are the agent, application and run that the turn belongs to; empty for none.
	AgentID string `json:"agent_id,omitempty"`
	AppID   string `json:"app_id,omitempty"`
	RunID   string `json:"run_id,omitempty"`
	// AliasOf is another identifier of a memory, which a request to update it gives; empty for none.
	AliasOf string `json:"alias_of,omitempty"`
}

// Validate checks attributes that may be stored ones. Errors are terminal and name the field below prefix, which is
// empty or ends with a dot.
func (a Attributes) Validate(prefix string) error { return a.validate(prefix, ValidText) }

// ValidateNew is Validate for attributes that come in: it checks identifiers as ValidNewID does.
func (a Attributes) ValidateNew(prefix string) error { return a.validate(prefix, ValidNewID) }

func (a Attributes) validate(prefix string, validID func(field, id string, limit int) error) error {
	for _, id := range []struct{ field, value string }{
		{"agent_id", a.AgentID}, {"app_id", a.AppID}, {"run_id", a.RunID}, {"alias_of", a.AliasOf},
	} {
		if id.value == "" {
			continue
		}
		if err := validID(prefix+id.field, id.value, MaxIDBytes); err != nil {
			return err
		}
	}
	return CheckMetadata(prefix+"metadata", a.Metadata)
}

// CheckMetadata checks types, depth, keys and length of metadata. Errors are terminal and name the field.
func CheckMetadata(field string, metadata map[string]any) error {
	if len(metadata) == 0 {
		return nil
	}
	if err := checkValue(field, metadata, 1); err != nil {
		return err
	}
	if n := metadataBytes(metadata); n > MaxMetadataBytes {
		return fault.Terminal(field, "has %d bytes as JSON, want at most %d", n, MaxMetadataBytes)
	}
	return nil
}

// checkValue checks a value at a level: lists and objects stand at most MaxMetadataDepth levels deep.
func checkValue(field string, value any, level int) error {
	switch v := value.(type) {
	case nil, bool:
		return nil
	case json.Number:
		return inexact(field)
	case string:
		return checkMetadataText(field, v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fault.Terminal(field, "is %g, want a finite number", v)
		}
		return nil
	case []any, map[string]any:
		if level > MaxMetadataDepth {
			return fault.Terminal(field, "is %d levels deep, want at most %d", level, MaxMetadataDepth)
		}
		return checkParts(field, v, level)
	}
	return fault.Terminal(field, "is a %T, want text, a number, true, false, null, a list or an object", value)
}

// checkParts checks the items of a list, or the keys and values of an object.
func checkParts(field string, value any, level int) error {
	list, _ := value.([]any)
	for i, item := range list {
		if err := checkValue(fmt.Sprintf("%s[%d]", field, i), item, level+1); err != nil {
			return err
		}
	}
	object, _ := value.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if len(key) == 0 || len(key) > MaxMetadataKeyBytes {
			return fault.Terminal(field, "has a key of %d bytes, want 1 to %d", len(key), MaxMetadataKeyBytes)
		}
		if err := checkMetadataText(field, key); err != nil {
			return err
		}
		if err := checkValue(field+"."+key, object[key], level+1); err != nil {
			return err
		}
	}
	return nil
}

func checkMetadataText(field, s string) error {
	if !utf8.ValidString(s) {
		return fault.Terminal(field, "is not valid UTF-8")
	}
	if strings.ContainsRune(s, 0) {
		return fault.Terminal(field, "contains a NUL character")
	}
	return nil
}

// metadataBytes is the length of the canonical JSON: keys sorted, no white space, no character escaped that JSON takes
// as it is.
func metadataBytes(metadata map[string]any) int {
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	if err := to.Encode(metadata); err != nil {
		return math.MaxInt
	}
	return out.Len() - 1 // without the line feed
}

// ParseMetadata reads a JSON object as metadata and checks it. Errors are terminal and name the field. An object that
// breaks a rule comes back with the error, and CheckMetadata refuses it again.
func ParseMetadata(field string, raw []byte) (map[string]any, error) {
	value, err := ParseJSON(field, raw)
	metadata, ok := value.(map[string]any)
	switch {
	case err != nil:
		return metadata, err
	case value == nil:
		return nil, nil
	case !ok:
		return nil, fault.Terminal(field, "is %s, want an object", JSONType(value))
	}
	return metadata, CheckMetadata(field, metadata)
}

// ParseJSON reads one JSON value. Errors are terminal and name the field: for text that CheckJSONText refuses, and for
// a number that a double does not hold exactly, which callers send as text.
func ParseJSON(field string, raw []byte) (any, error) {
	from := json.NewDecoder(bytes.NewReader(raw))
	from.UseNumber()
	var value any
	if err := from.Decode(&value); err != nil {
		return nil, fault.Terminal(field, "is not valid JSON")
	}
	if from.More() {
		return nil, fault.Terminal(field, "is more than one JSON value")
	}
	if err := CheckJSONText(field, raw); err != nil {
		return nil, err
	}
	return exact(field, value)
}

// exact replaces the numbers of a decoded JSON value by doubles. A number that no double holds exactly stays, and the
// error names the first of these numbers.
func exact(field string, value any) (_ any, first error) {
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	switch v := value.(type) {
	case json.Number:
		f, err := exactNumber(field, v)
		if err != nil {
			return v, err
		}
		return f, nil
	case []any:
		for i := range v {
			var err error
			v[i], err = exact(fmt.Sprintf("%s[%d]", field, i), v[i])
			note(err)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			var err error
			v[key], err = exact(strings.TrimPrefix(field+"."+key, "."), v[key])
			note(err)
		}
	}
	return value, first
}

// inexact is the error of a number that a double does not hold exactly.
func inexact(field string) error {
	return fault.Terminal(field, "is a number that a double does not hold exactly, want it as text")
}

// maxNumberBytes is longer than every number that a double holds exactly.
const maxNumberBytes = 400

// exactNumber is a number as a double, whose shortest decimal form is the number as it was written.
func exactNumber(field string, n json.Number) (float64, error) {
	f, err := n.Float64()
	if err != nil || len(n) > maxNumberBytes {
		return 0, inexact(field)
	}
	// the exponent may be too long to compute with
	if digits, _, _ := strings.Cut(strings.ToLower(n.String()), "e"); f == 0 {
		if strings.ContainsAny(digits, "123456789") {
			return 0, inexact(field)
		}
		return 0, nil
	}
	written, ok1 := new(big.Rat).SetString(n.String())
	kept, ok2 := new(big.Rat).SetString(json.Number(fmt.Sprint(f)).String())
	if !ok1 || !ok2 || written.Cmp(kept) != 0 {
		return 0, inexact(field)
	}
	return f, nil
}

// JSONType names the type of a decoded JSON value, with its article.
func JSONType(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case json.Number, float64:
		return "a number"
	case string:
		return "text"
	case []any:
		return "a list"
	}
	return "an object"
}

// Attribute gives the new entries of operations the attributes of the turns that the operations come from. Plan adds
// the attributes of the replaced entries.
func Attribute(ops []Operation, turns []Turn) {
	ordered := slices.Clone(turns)
	slices.SortStableFunc(ordered, func(a, b Turn) int { return a.Time.Compare(b.Time) })
	for _, op := range ops {
		if op.New == nil {
			continue
		}
		op.New.Attributes = Attributes{}
		for _, t := range ordered {
			if !op.Rest && slices.Contains(op.Sources, t.ID) {
				op.New.Attributes = op.New.overlaid(t.Attributes)
			}
		}
	}
}

// overlaid is a with the newer attributes in front: key by key of the metadata, field by field of the rest. Where both
// are longer than metadata may be, older keys are left out, the last in order of name first.
func (a Attributes) overlaid(newer Attributes) Attributes {
	out := newer
	for to, older := range map[*string]string{
		&out.AgentID: a.AgentID, &out.AppID: a.AppID, &out.RunID: a.RunID, &out.AliasOf: a.AliasOf,
	} {
		if *to == "" {
			*to = older
		}
	}
	if len(a.Metadata) == 0 {
		return out
	}
	out.Metadata = maps.Clone(newer.Metadata)
	if out.Metadata == nil {
		out.Metadata = make(map[string]any, len(a.Metadata))
	}
	for _, key := range slices.Sorted(maps.Keys(a.Metadata)) {
		if _, told := out.Metadata[key]; told {
			continue
		}
		out.Metadata[key] = a.Metadata[key]
		if metadataBytes(out.Metadata) > MaxMetadataBytes {
			delete(out.Metadata, key)
			break
		}
	}
	return out
}

// withoutRemoved is a without the keys of metadata whose value is null: they say that there is no such key any more.
func (a Attributes) withoutRemoved() Attributes {
	null := func(_ string, value any) bool { return value == nil }
	for _, value := range a.Metadata {
		if value == nil {
			a.Metadata = maps.Clone(a.Metadata)
			maps.DeleteFunc(a.Metadata, null)
			break
		}
	}
	if len(a.Metadata) == 0 {
		a.Metadata = nil
	}
	return a
}
