package config

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
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
