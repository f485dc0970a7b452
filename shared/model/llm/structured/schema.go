// Package structured describes the JSON answers of a model and reads them. It reads strictly where possible. It
// also finds JSON in prose and code fences. An answer that does not fit gives an error that quotes nothing of it.
package structured

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Schema describes a structured answer. The client sends it to the endpoint, and checks the answer against it even
// if the endpoint enforces it.
type Schema struct {
	// Name identifies the schema to the endpoint: letters, digits and '_'.
	Name string
	root *node
}

// node is the subset of JSON Schema that strict structured output supports.
type node struct {
	kind     string // object, array, string, number, integer, boolean
	desc     string
	enum     []string
	fields   []fieldNode // of an object, in order: models write fields in the order of the schema
	items    *node       // of an array
	optional bool
	apart    bool // of an object: it embeds Item
}

// Item is embedded by list elements of an answer that can fail alone. The decoder keeps the valid part of such an
// element, and Misfit returns the fault of the rest. It is no field of the schema.
type Item struct {
	Fault string `json:"$fault,omitempty"`
}

// faultField is the name of Item.Fault in decoded data. A model cannot set it, because the schema has no such field.
const faultField = "$fault"

// Misfit returns the fault of the element, or nil where all of it fits the schema.
func (i Item) Misfit() error {
	if i.Fault == "" {
		return nil
	}
	return Faultf("%s", i.Fault)
}

type fieldNode struct {
	name string
	node *node
}

// SchemaOf derives a schema from the struct type T. The tag json names the field, and with omitempty an answer may
// omit it. The tag desc describes it. The tag enum lists the allowed values, separated by '|'. Fields of an
// embedded struct count as the struct's own, except Item. SchemaOf panics where T has a type that cannot be part of
// an answer: that is a mistake in the program.
func SchemaOf[T any](name string) Schema {
	return Schema{Name: name, root: nodeOf(reflect.TypeFor[T]())}
}

func nodeOf(t reflect.Type) *node {
	switch t.Kind() {
	case reflect.String:
		return &node{kind: "string"}
	case reflect.Bool:
		return &node{kind: "boolean"}
	case reflect.Float64:
		return &node{kind: "number"}
	case reflect.Int:
		return &node{kind: "integer"}
	case reflect.Slice:
		return &node{kind: "array", items: nodeOf(t.Elem())}
	case reflect.Struct:
		return objectOf(t)
	default:
		panic("structured: no schema for " + t.String())
	}
}

func objectOf(t reflect.Type) *node {
	n := &node{kind: "object"}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type == reflect.TypeFor[Item]() {
			n.apart = true
			continue
		}
		if f.Anonymous {
			embedded := objectOf(f.Type)
			n.fields, n.apart = append(n.fields, embedded.fields...), n.apart || embedded.apart
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		child := nodeOf(f.Type)
		child.desc = f.Tag.Get("desc")
		child.optional = options == "omitempty"
		if enum := f.Tag.Get("enum"); enum != "" {
			child.enum = strings.Split(enum, "|")
		}
		n.fields = append(n.fields, fieldNode{name, child})
	}
	return n
}

// MarshalJSON writes the schema in the form for strict structured output: every field required and no others allowed.
func (s Schema) MarshalJSON() ([]byte, error) { return s.root.MarshalJSON() }

// String is the schema as JSON, for prompts.
func (s Schema) String() string { return string(mustJSON(s)) }

// MarshalJSON keeps the order of the fields, which encoding/json would not keep in a map.
func (n *node) MarshalJSON() ([]byte, error) {
	out := struct {
		Type                 string          `json:"type"`
		Description          string          `json:"description,omitempty"`
		Enum                 []string        `json:"enum,omitempty"`
		Items                *node           `json:"items,omitempty"`
		Properties           json.RawMessage `json:"properties,omitempty"`
		Required             []string        `json:"required,omitempty"`
		AdditionalProperties *bool           `json:"additionalProperties,omitempty"`
	}{Type: n.kind, Description: n.desc, Enum: n.enum, Items: n.items}
	if n.kind == "object" {
		properties := make([]string, len(n.fields))
		for i, f := range n.fields {
			out.Required = append(out.Required, f.name)
			properties[i] = string(mustJSON(f.name)) + ":" + string(mustJSON(f.node))
		}
		out.Properties, out.AdditionalProperties = json.RawMessage("{"+strings.Join(properties, ",")+"}"), new(bool)
	}
	return json.Marshal(out)
}

// mustJSON encodes a value that cannot fail to encode.
func mustJSON(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic("structured: " + err.Error())
	}
	return out
}

// fit checks a decoded value against the schema and returns the known part of it. It drops unknown fields, because
// models add explanations. For an element with Item it returns the valid part and its first fault, unless strict is
// set.
func (n *node) fit(path string, v any, strict bool) (any, error) {
	switch n.kind {
	case "object":
		out, err := n.fitObject(path, v, strict)
		if err != nil && n.apart && !strict {
			out[faultField], err = err.Error(), nil
		}
		return out, err
	case "array":
		return n.fitArray(path, v, strict)
	case "string":
		s, ok := v.(string)
		if !ok {
			return nil, Faultf("%s: want a string", path)
		}
		if n.enum != nil && !slices.Contains(n.enum, s) {
			return nil, Faultf("%s: want one of %s", path, strings.Join(n.enum, ", "))
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			return nil, Faultf("%s: want true or false", path)
		}
	default:
		f, ok := v.(float64)
		if s, quoted := v.(string); quoted && !strict { // its meaning is clear
			if read, err := strconv.ParseFloat(s, 64); err == nil {
				v, f, ok = read, read, true
			}
		}
		if !ok || math.IsNaN(f) || math.IsInf(f, 0) ||
			n.kind == "integer" && (f != math.Trunc(f) || math.Abs(f) > math.MaxInt32) {
			return nil, Faultf("%s: want a JSON %s", path, n.kind)
		}
	}
	return v, nil
}

func (n *node) fitArray(path string, v any, strict bool) (any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, Faultf("%s: want an array", path)
	}
	out := make([]any, len(list))
	for i, item := range list {
		var err error
		if out[i], err = n.items.fit(fmt.Sprintf("%s[%d]", path, i), item, strict); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// fitObject returns the valid fields and the first fault.
func (n *node) fitObject(path string, v any, strict bool) (out map[string]any, first error) {
	out = make(map[string]any, len(n.fields))
	object, ok := v.(map[string]any)
	if !ok {
		return out, Faultf("%s: want an object", path)
	}
	for _, f := range n.fields {
		child, present := object[f.name]
		if f.node.optional && child == nil {
			continue
		}
		err := Faultf("%s.%s: is missing", path, f.name)
		if present {
			child, err = f.node.fit(path+"."+f.name, child, strict)
		}
		if err == nil {
			out[f.name] = child
		} else if first == nil {
			first = err
		}
	}
	return out, first
}
