package structured

import (
	"errors"
	"fmt"
	"regexp"
)

// fault is the feedback to the model about its answer, in words of this package that quote nothing.
type fault struct{ text string }

// Error is the feedback to the model.
func (f *fault) Error() string { return f.text }

// Faultf describes the fault of an answer. The model reads it in the repair round, and operators read it in logs.
// So it must not quote the answer. Alias makes an id safe to quote.
func Faultf(format string, args ...any) error {
	return &fault{fmt.Sprintf(format, args...)}
}

// partly is a fault of a part.
type partly struct {
	error
	right int
}

// Unwrap returns the fault.
func (p partly) Unwrap() error { return p.error }

// Partly marks a fault of only a part of an answer. A caller returns it together with the valid parts. Those may be
// used when the model saw the fault and its second answer was not better. The argument right is the number of valid
// parts.
func Partly(fault error, right int) error { return partly{fault, right} }

// IsPartly reports whether an error was made by Partly.
func IsPartly(err error) bool { return errors.As(err, new(partly)) }

// Right returns the number of valid parts of an answer with this fault. It is 0 for a fault not made by Partly.
func Right(fault error) int {
	var p partly
	errors.As(fault, &p)
	return p.right
}

var aliasPattern = regexp.MustCompile(`^[a-z][0-9]{1,5}$`)

// Alias returns id for a message when it looks like an id of this program, else a placeholder.
func Alias(id string) string {
	if aliasPattern.MatchString(id) {
		return id
	}
	return "(something that is no id)"
}
