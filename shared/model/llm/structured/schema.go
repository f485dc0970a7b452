// Package structured describes answers that a model gives as JSON, and reads them: strictly where it can, and
// out of prose and code fences where it must. What does not fit is an error that quotes nothing of the answer.
package structured

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Schema describes a structured answer: what is sent to the endpoint, and what the answer is held
// against whether the endpoint enforced it or not.
type Schema struct {
	// Name identifies the schema to the endpoint: letters, digits and '_'.
	Name string
	root *node
}

// node is the subset of JSON Schema that strict structured output understands.
type node struct {
	kind     string // object, array, string, number, integer, boolean
	desc     string
	enum     []string
	fields   []fieldNode // of an object, in order: models write fields in the order of the schema
	items    *node       // of an array
	optional bool
}

type fieldNode struct {
	name string
	node *node
}

// SchemaOf derives a schema from the struct type T. Tags: json names the field, and with omitempty an answer
// may leave it out; desc describes it; enum lists the values allowed, divided by '|'. The fields of an embedded struct count as
// the struct's own. It panics
// where T holds a type that has no place in an answer, which is a mistake in the program.
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
		if f.Anonymous {
			n.fields = append(n.fields, objectOf(f.Type).fields...)
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

// MarshalJSON writes the schema as strict structured output wants it: every field required and no
// others allowed.
func (s Schema) MarshalJSON() ([]byte, error) { return s.root.MarshalJSON() }

// String is the schema as JSON, for prompts.
func (s Schema) String() string { return string(mustJSON(s)) }

// MarshalJSON keeps the order of the fields, which encoding/json would not keep in a map.
func (n *node) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"type":%q`, n.kind)
	if n.desc != "" {
		writeMember(&b, "description", n.desc)
	}
	if n.enum != nil {
		writeMember(&b, "enum", n.enum)
	}
	if n.items != nil {
		writeMember(&b, "items", n.items)
	}
	if n.kind == "object" {
		n.writeFields(&b)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (n *node) writeFields(b *bytes.Buffer) {
	names := make([]string, len(n.fields))
	b.WriteString(`,"properties":{`)
	for i, f := range n.fields {
		names[i] = f.name
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(mustJSON(f.name))
		b.WriteByte(':')
		b.Write(mustJSON(f.node))
	}
	b.WriteByte('}')
	writeMember(b, "required", names)
	writeMember(b, "additionalProperties", false)
}

func writeMember(b *bytes.Buffer, name string, value any) {
	fmt.Fprintf(b, `,%q:`, name)
	b.Write(mustJSON(value))
}

// mustJSON encodes what cannot fail to encode.
func mustJSON(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic("structured: " + err.Error())
	}
	return out
}

// check holds a decoded value against the schema. Fields the schema does not know are let pass: models
// like to explain themselves.
func (n *node) check(path string, v any) error {
	switch n.kind {
	case "object":
		return n.checkObject(path, v)
	case "array":
		return n.checkArray(path, v)
	case "string":
		s, ok := v.(string)
		if !ok {
			return Faultf("%s: want a string", path)
		}
		if n.enum != nil && !slices.Contains(n.enum, s) {
			return Faultf("%s: want one of %s", path, strings.Join(n.enum, ", "))
		}
		return nil
	case "boolean":
		if _, ok := v.(bool); !ok {
			return Faultf("%s: want true or false", path)
		}
		return nil
	default:
		return n.checkNumber(path, v)
	}
}

func (n *node) checkNumber(path string, v any) error {
	f, ok := v.(float64)
	if !ok || (n.kind == "integer" && (f != math.Trunc(f) || math.Abs(f) > math.MaxInt32)) {
		return Faultf("%s: want a JSON %s", path, n.kind)
	}
	return nil
}

func (n *node) checkArray(path string, v any) error {
	list, ok := v.([]any)
	if !ok {
		return Faultf("%s: want an array", path)
	}
	for i, item := range list {
		if err := n.items.check(fmt.Sprintf("%s[%d]", path, i), item); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) checkObject(path string, v any) error {
	object, ok := v.(map[string]any)
	if !ok {
		return Faultf("%s: want an object", path)
	}
	for _, f := range n.fields {
		child, present := object[f.name]
		if f.node.optional && child == nil {
			continue
		}
		if !present {
			return Faultf("%s.%s: is missing", path, f.name)
		}
		if err := f.node.check(path+"."+f.name, child); err != nil {
			return err
		}
	}
	return nil
}
