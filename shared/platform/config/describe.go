package config

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Row describes one setting.
type Row struct {
	// Name is the environment variable.
	Name string
	// Type is the type of the value: "duration", "list of string", "json | text".
	Type string
	// Default is the value of an unset variable. It is empty for a setting without a default.
	Default string
	// Description is the meaning and the unit.
	Description string
	// Secret settings are never printed.
	Secret bool
	// Required settings have no default and must be set.
	Required bool
}

// Describe lists the settings of T, a struct, in declaration order. It lists a variable with two uses once.
func Describe[T any]() []Row {
	var cfg T
	var rows []Row
	walk(reflect.ValueOf(&cfg).Elem(), "", func(f field) {
		known := slices.ContainsFunc(rows, func(r Row) bool { return r.Name == f.name })
		if !known {
			rows = append(rows, f.row())
		}
	}, func(field) {}, func(reflect.Value, string) {})
	return rows
}

func (f field) row() Row {
	return Row{
		Name: f.name, Type: f.typeName(), Default: f.tag.Tag.Get("envDefault"),
		Description: f.tag.Tag.Get("desc"), Secret: f.secret(),
		Required: f.has("required") || (f.has("notEmpty") && f.tag.Tag.Get("envDefault") == ""),
	}
}

// Value is a setting in force.
type Value struct {
	// Name is the environment variable.
	Name string
	// Text is the value in the syntax of Load. Secrets are hidden.
	Text string
}

// Values lists the settings of a loaded configuration, in declaration order. It lists a variable with two uses
// once. The argument cfg is a struct.
func Values[T any](cfg T) []Value {
	var values []Value
	walk(reflect.ValueOf(&cfg).Elem(), "", func(f field) {
		if !slices.ContainsFunc(values, func(v Value) bool { return v.Name == f.name }) {
			values = append(values, Value{Name: f.name, Text: f.text()})
		}
	}, func(field) {}, func(reflect.Value, string) {})
	return values
}

// text writes the field's value in the syntax that Load reads.
func (f field) text() string {
	v := f.value
	if v.Kind() == reflect.Slice && !implementsText(v) {
		items := make([]string, v.Len())
		for i := range items {
			items[i] = text(v.Index(i))
		}
		return strings.Join(items, f.separator())
	}
	if v.Kind() == reflect.Map && !implementsText(v) {
		items := make([]string, 0, v.Len())
		for _, key := range v.MapKeys() {
			items = append(items, text(key)+":"+text(v.MapIndex(key)))
		}
		slices.Sort(items)
		return strings.Join(items, f.separator())
	}
	return text(v)
}

func implementsText(v reflect.Value) bool {
	_, ok := v.Interface().(encoding.TextMarshaler)
	return ok
}

func text(v reflect.Value) string {
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		if out, err := m.MarshalText(); err == nil {
			return string(out)
		}
	}
	return fmt.Sprint(v.Interface())
}

// field is one setting found in a struct.
type field struct {
	name  string // with prefixes
	tag   reflect.StructField
	value reflect.Value // settable where the struct was reached through a pointer
}

func (f field) oneOf() []string {
	if choices, ok := f.tag.Tag.Lookup("oneof"); ok {
		return strings.Split(choices, "|")
	}
	return nil
}

func (f field) separator() string {
	return cmp.Or(f.tag.Tag.Get("envSeparator"), ",")
}

func (f field) has(option string) bool {
	return slices.Contains(strings.Split(f.tag.Tag.Get("env"), ",")[1:], option)
}

// secret reports whether the setting is a secret, or a list or map of them.
func (f field) secret() bool {
	t := f.tag.Type
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t == reflect.TypeFor[Secret]()
}

// walk calls visit for every setting in declaration order. It calls constant for every field with a default and no
// variable. It calls leave for every struct after its fields, inner structs first.
func walk(
	v reflect.Value, prefix string, visit, constant func(field), leave func(v reflect.Value, prefix string),
) {
	for i := range v.NumField() {
		tag := v.Type().Field(i)
		if !tag.IsExported() {
			continue
		}
		if key, ok := tag.Tag.Lookup("env"); ok {
			name, _, _ := strings.Cut(key, ",")
			visit(field{name: prefix + name, tag: tag, value: v.Field(i)})
			continue
		}
		if _, ok := tag.Tag.Lookup("envDefault"); ok {
			constant(field{tag: tag, value: v.Field(i)})
			continue
		}
		if v.Field(i).Kind() == reflect.Struct {
			walk(v.Field(i), prefix+tag.Tag.Get("envPrefix"), visit, constant, leave)
		}
	}
	leave(v, prefix)
}

// typeName returns the type of a setting's values, in words for users.
func (f field) typeName() string {
	if choices := f.oneOf(); choices != nil {
		return strings.Join(choices, " | ")
	}
	return typeName(f.tag.Type)
}

func typeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "duration"
	case reflect.TypeFor[Size]():
		return "size"
	case reflect.TypeFor[Secret]():
		return "secret"
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return strings.ToLower(t.Name())
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true | false"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.String:
		return "string"
	case reflect.Slice:
		return "list of " + typeName(t.Elem())
	case reflect.Map:
		return "map of " + typeName(t.Key()) + " to " + typeName(t.Elem())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "integer >= 0"
	default:
		return "integer"
	}
}

// expected returns the description of a correct value, for an error.
func (f field) expected() string {
	if choices := f.oneOf(); choices != nil {
		return "one of " + strings.Join(choices, ", ")
	}
	switch name := f.typeName(); name {
	case "duration":
		return "a duration such as 30s"
	case "size":
		return "a size such as 4MiB"
	case "number", "secret", "string":
		return "a " + name
	case "true | false":
		return "true or false"
	case "integer", "integer >= 0":
		return "an " + name
	default:
		return "a value of type " + name
	}
}

// Section is the settings of one service, for the reference documentation.
type Section struct {
	// Title is the heading. Text is the paragraph below it and may be empty.
	Title, Text string
	// Rows are the settings.
	Rows []Row
}

// Markdown writes a reference: a heading and a table for each section.
func Markdown(sections []Section) string {
	var b strings.Builder
	for i, s := range sections {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "## %s\n\n", s.Title)
		if s.Text != "" {
			fmt.Fprintf(&b, "%s\n\n", s.Text)
		}
		b.WriteString("| variable | type | default | meaning |\n|---|---|---|---|\n")
		for _, r := range s.Rows {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Name, cell(r.Type), r.markdownDefault(), cell(r.Description))
		}
	}
	return b.String()
}

func (r Row) markdownDefault() string {
	switch {
	case r.Default != "":
		return "`" + cell(r.Default) + "`"
	case r.Required:
		return "**required**"
	default:
		return ""
	}
}

// cell keeps a text from ending its table cell.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(s)
}

// Table writes rows for a terminal: name and default on one line, and the meaning indented below.
func Table(rows []Row) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "  %s  (%s", r.Name, r.Type)
		switch {
		case r.Required:
			b.WriteString("; required")
		case r.Default != "":
			b.WriteString("; default " + r.Default)
		}
		fmt.Fprintf(&b, ")\n        %s\n", r.Description)
	}
	return b.String()
}
