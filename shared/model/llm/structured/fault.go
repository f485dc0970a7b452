package structured

import (
	"errors"
	"fmt"
	"regexp"
)

// fault is what the model is told about its answer, in words of ours that quote nothing.
type fault struct{ text string }

// Error is what the model is told.
func (f *fault) Error() string { return f.text }

// Faultf says what is wrong with an answer. The model reads it in the repair round and operators in
// logs, so it must not quote what the model wrote; Alias makes an id fit to be quoted.
func Faultf(format string, args ...any) error {
	return &fault{fmt.Sprintf(format, args...)}
}

// partly is a fault of a part.
type partly struct {
	error
	right int
}

// Unwrap is the fault.
func (p partly) Unwrap() error { return p.error }

// Partly marks a fault that concerns only a part of an answer: what was read of the rest is returned beside it, together with what is
// missing, and may be used when the model, shown the fault, did no better. right is how many parts of the answer are right.
func Partly(fault error, right int) error { return partly{fault, right} }

// IsPartly reports whether an error was made by Partly.
func IsPartly(err error) bool { return errors.As(err, new(partly)) }

// Right is how many parts of an answer are right by the fault that was found in it: none where it was not made by Partly.
func Right(fault error) int {
	var p partly
	errors.As(fault, &p)
	return p.right
}

var aliasPattern = regexp.MustCompile(`^[a-z][0-9]{1,5}$`)

// Alias returns id for a message when it looks like one of ours, else a placeholder.
func Alias(id string) string {
	if aliasPattern.MatchString(id) {
		return id
	}
	return "(something that is no id)"
}
