// Package config loads a service's settings from environment variables into a struct, once. It also describes them
// for help texts and the reference documentation.
//
// Settings are exported fields with these tags:
//
//	env:"MNEME_REDIS_ADDR"      the variable; ",required" and ",notEmpty" as in caarlos0/env
//	envDefault:"127.0.0.1:6379" the value where the variable is unset or empty
//	envSeparator:";"            between the items of a list; a comma where it is missing
//	oneof:"json|text"           the only values allowed
//	desc:"..."                  the meaning and the unit; every setting has one
//
// A struct field without an env tag has further settings. Its envPrefix tag is put before their names. A struct at
// any depth may have a method Validate() error. Load calls it after it has read the variables of the struct, so
// Load reports every problem at once. The Problems of Validate may name variables without the prefix.
package config

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/caarlos0/env/v11"

	"github.com/mneme-memory/mneme/shared/fault"
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

// ErrInvalid is wrapped by every error of Load. Such an error is terminal as well.
var ErrInvalid = errors.New("invalid configuration")

// Problem is one unusable setting.
type Problem struct {
	// Name is the environment variable.
	Name string
	// Value is the set value in a printable form. It is empty for an unset variable.
	Value string
	// Expected describes a correct value.
	Expected string
}

// Error names the variable, its value and the expected value.
func (p *Problem) Error() string {
	if p.Value == "" {
		return fmt.Sprintf("%s is not set, expected %s", p.Name, p.Expected)
	}
	return fmt.Sprintf("%s is %q, expected %s", p.Name, p.Value, p.Expected)
}

// Require is for Validate methods. It returns nil where ok, else a Problem. fmt.Sprint prints the value and keeps a
// Secret hidden. Join several with errors.Join. Use the names in the env tags: Load adds the prefix of the
// enclosing structs.
func Require(ok bool, name string, value any, expected string) error {
	if ok {
		return nil
	}
	return &Problem{Name: name, Value: fmt.Sprint(value), Expected: expected}
}

// invalid joins problems. It reports the problem of a variable with two uses once.
func invalid(problems []error) error {
	if len(problems) == 0 {
		return nil
	}
	var told []error
	for _, p := range problems {
		if !slices.ContainsFunc(told, func(other error) bool { return other.Error() == p.Error() }) {
			told = append(told, p)
		}
	}
	return fault.Terminal("", "%w:\n%w", ErrInvalid, errors.Join(told...))
}

// Prefix begins the names of the project's own variables.
const Prefix = "MNEME_"

// nearby is the maximum number of wrong characters in a typing mistake.
const nearby = 2

// settings has the names of all settings of all programs, one to a line. Programs share an environment, so a setting
// of another program is no mistake. `make generate` writes the file.
//
//go:embed settings.txt
var settings string

// serviceLink matches the variables that Kubernetes adds for a service, such as MNEME_GATEWAY_SERVICE_HOST.
var serviceLink = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$`)

// Unknown is a variable that no setting uses.
type Unknown struct {
	// Name is the variable that is set.
	Name string
	// Meant is the setting with a similar name, or empty.
	Meant string
}

// String is a sentence for a warning. It has no value, because the value may be a secret.
func (u Unknown) String() string {
	if u.Meant == "" {
		return u.Name + " is not a setting of Mneme"
	}
	return u.Name + " is not a setting of Mneme; did you mean " + u.Meant + "?"
}

// Unrecognized lists, by name, the project's variables in environ that neither a setting in own nor a setting of
// another program of the project uses. It ignores empty variables and the variables that Kubernetes adds.
func Unrecognized(environ map[string]string, own []Row) []Unknown {
	var known []string
	for _, row := range own {
		known = append(known, row.Name)
	}
	known = append(known, strings.Fields(settings)...)
	var unknown []Unknown
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		if strings.HasPrefix(name, Prefix) && environ[name] != "" && !slices.Contains(known, name) &&
			!serviceLink.MatchString(name) {
			unknown = append(unknown, Unknown{Name: name, Meant: nearest(name, known)})
		}
	}
	return unknown
}

// nearest returns the most similar known name within nearby characters, or an empty text.
func nearest(name string, known []string) string {
	best, found := nearby+1, ""
	for _, candidate := range known {
		if d := levenshtein.ComputeDistance(name, candidate); d < best {
			best, found = d, candidate
		}
	}
	return found
}
