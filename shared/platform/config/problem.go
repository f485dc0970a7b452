package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mneme-memory/mneme/shared/fault"
)

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
