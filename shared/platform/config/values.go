package config

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"strconv"
	"strings"
)

const hidden = "***"

// Secret is a setting that must stay hidden. Printing, logging and marshalling give three stars. Keep it in
// exported fields, because fmt cannot call methods of unexported ones. An empty secret prints as empty, so an unset
// secret is visible.
type Secret string

// Reveal returns the secret itself. Call it only where the secret is sent to the other side.
func (s Secret) Reveal() string { return string(s) }

// String hides the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return fmt.Sprintf("%q", s.String()) }

// Format hides the secret from every verb, %x and %q among them.
func (s Secret) Format(f fmt.State, verb rune) {
	out := s.String()
	if verb == 'q' || f.Flag('#') {
		out = s.GoString()
	}
	_, _ = io.WriteString(f, out)
}

// MarshalText hides the secret from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON hides the secret from JSON.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(s.GoString()), nil }

// LogValue hides the secret from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Size is a number of bytes. Its text is a whole number with an optional unit: 512, 64KiB, 4MiB, 1GiB, or the
// decimal kB, MB, GB.
type Size int64

// Units from largest to smallest, so that String finds the shortest exact form.
var sizeUnits = [...]struct {
	name  string
	bytes int64
}{
	{"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"kB", 1e3}, {"B", 1},
}

// UnmarshalText reads a size. Units are case-insensitive.
func (s *Size) UnmarshalText(text []byte) error {
	in := strings.TrimSpace(string(text))
	digits := strings.TrimRight(in, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a size such as 4MiB", in)
	}
	factor, ok := sizeFactor(strings.TrimSpace(in[len(digits):]))
	if !ok || n > math.MaxInt64/factor {
		return fmt.Errorf("%q is not a size such as 4MiB", in)
	}
	*s = Size(n * factor)
	return nil
}

func sizeFactor(unit string) (int64, bool) {
	if unit == "" {
		return 1, true
	}
	for _, u := range sizeUnits {
		if strings.EqualFold(u.name, unit) {
			return u.bytes, true
		}
	}
	return 0, false
}

// String writes the size exactly, in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if s != 0 && int64(s)%u.bytes == 0 && u.bytes > 1 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalText writes the form that UnmarshalText reads.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
