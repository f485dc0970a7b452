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

// Load reads the settings of T, a struct, from environ. A field with an envDefault and no env is a constant: it gets its default, and
// only tests change it. Its error lists every problem, wraps
// ErrInvalid and is terminal. Variables that T does not have are left alone, because services share
// an environment; see Unrecognized.
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
		if !within(v, failed) {
			problems = append(problems, validate(v, prefix)...)
		}
	}
	walk(reflect.ValueOf(&cfg).Elem(), "", visit, visit, leave)
	return cfg, invalid(problems)
}

// within reports whether one of the addresses lies in the struct: validating what could not be
// read would only repeat the complaint.
func within(v reflect.Value, addresses []uintptr) bool {
	start := v.Addr().Pointer()
	return slices.ContainsFunc(addresses, func(a uintptr) bool {
		return a >= start && a < start+v.Type().Size()
	})
}

// validate calls the struct's own Validate. The struct does not know its prefix, so problems that
// name a variable without it get it here.
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

// flatten takes joined errors apart, so that each problem has its line.
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

// load has the library read this one field, alone in a struct of its own: its errors name the
// field of the struct, which says nothing where two nested structs have fields of one name.
func (f field) load(environ map[string]string) error {
	if environ == nil {
		environ = map[string]string{} // the library would read the process's own for nil
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

// prefix is what the enclosing structs put before the field's own name.
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
