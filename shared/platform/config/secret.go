package config

import (
	"fmt"
	"io"
	"log/slog"
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
