package config

import (
	"cmp"
	"encoding"
	"reflect"
	"slices"
	"strings"
	"time"
)

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
