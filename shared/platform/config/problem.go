package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mneme-memory/mneme/shared/fault"
)

// ErrInvalid is wrapped by every error of Load; such an error is terminal as well.
var ErrInvalid = errors.New("invalid configuration")

// Problem is one setting that cannot be used.
type Problem struct {
	// Name is the environment variable.
	Name string
	// Value is what it was set to, as it may be shown; empty where it is not set.
	Value string
	// Expected says what would have been right.
	Expected string
}

// Error names the variable, what it holds and what it should hold.
func (p *Problem) Error() string {
	if p.Value == "" {
		return fmt.Sprintf("%s is not set, expected %s", p.Name, p.Expected)
	}
	return fmt.Sprintf("%s is %q, expected %s", p.Name, p.Value, p.Expected)
}

// Require is for Validate methods: nil where ok, else a Problem. The value is printed with
// fmt.Sprint, which keeps a Secret hidden. Join several with errors.Join; name them as the env tag does,
// Load adds the prefix of the enclosing structs.
func Require(ok bool, name string, value any, expected string) error {
	if ok {
		return nil
	}
	return &Problem{Name: name, Value: fmt.Sprint(value), Expected: expected}
}

// invalid joins problems; that of a variable that is used in two places is told once.
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
