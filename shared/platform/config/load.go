package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
)

// Environ is the environment of the process as a map.
func Environ() map[string]string { return env.ToMap(os.Environ()) }

// Load reads the settings of T, a struct, from environ. A field with an envDefault and no env is a constant: it
// gets its default, and only tests change it. The error lists every problem, wraps ErrInvalid and is terminal. Load
// ignores variables that T does not have, because services share an environment. See Unrecognized.
func Load[T any](environ map[string]string) (T, error) {
	var cfg T
	var problems []error
	var failed []uintptr
	visit := func(f field) {
		if err := f.load(environ); err != nil {
			problems = append(problems, err)
			failed = append(failed, f.value.Addr().Pointer())
		}
	}
	leave := func(v reflect.Value, prefix string) {
		if !containsAddress(v, failed) {
			problems = append(problems, validate(v, prefix)...)
		}
	}
	walk(reflect.ValueOf(&cfg).Elem(), "", visit, visit, leave)
	return cfg, invalid(problems)
}

// containsAddress reports whether one of the addresses lies in the struct. Validation of an unreadable value would only
// repeat the error.
func containsAddress(v reflect.Value, addresses []uintptr) bool {
	start := v.Addr().Pointer()
	return slices.ContainsFunc(addresses, func(a uintptr) bool {
		return a >= start && a < start+v.Type().Size()
	})
}

// validate calls the Validate method of a struct. The struct does not know its prefix, so validate adds it to the
// names in problems.
func validate(v reflect.Value, prefix string) []error {
	checked, ok := v.Addr().Interface().(interface{ Validate() error })
	if !ok {
		return nil
	}
	problems := flatten(checked.Validate())
	for i, err := range problems {
		if p, ok := err.(*Problem); ok && !strings.HasPrefix(p.Name, prefix) {
			problems[i] = &Problem{Name: prefix + p.Name, Value: p.Value, Expected: p.Expected}
		}
	}
	return problems
}

// flatten splits joined errors, so that each problem has a line.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var flat []error
	for _, e := range many.Unwrap() {
		flat = append(flat, flatten(e)...)
	}
	return flat
}

// load reads this one field with the library, in a separate struct. The library's errors name the field of the
// struct, which is ambiguous for two nested structs with equal field names.
func (f field) load(environ map[string]string) error {
	if environ == nil {
		environ = map[string]string{} // for nil the library would read the environment of the process
	}
	single := f.tag
	single.Offset, single.Index, single.Anonymous, single.PkgPath = 0, nil, false, ""
	target := reflect.New(reflect.StructOf([]reflect.StructField{single}))
	if err := env.ParseWithOptions(target.Interface(), env.Options{Environment: environ, Prefix: f.prefix()}); err != nil {
		return f.problem(environ, err)
	}
	f.value.Set(target.Elem().Field(0))
	if choices := f.oneOf(); choices != nil && !slices.Contains(choices, f.text()) {
		return f.problem(environ, nil)
	}
	return nil
}

// prefix is the prefix of the field's name from the enclosing structs.
func (f field) prefix() string {
	own, _, _ := strings.Cut(f.tag.Tag.Get("env"), ",")
	return strings.TrimSuffix(f.name, own)
}

func (f field) problem(environ map[string]string, cause error) error {
	p := &Problem{Name: f.name, Value: environ[f.name], Expected: f.expected()}
	if f.secret() {
		p.Value = Secret(p.Value).String()
	}
	switch {
	case errors.As(cause, &env.LoadFileContentError{}):
		p.Expected = "the path of a readable file"
	case errors.As(cause, &env.NoParserError{}), errors.As(cause, &env.NoSupportedTagOptionError{}):
		return fmt.Errorf("%s cannot be read: %w", f.name, cause) // a mistake in the struct, not in the environment
	}
	return p
}
