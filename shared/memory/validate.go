package memory

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Limits of the inputs, in bytes. They are part of the contracts in proto/.
const (
	MaxTenantBytes = 63
	MaxUserBytes   = 256
	MaxIDBytes     = 128
	// MaxTurnBytes limits the text of an incoming turn.
	MaxTurnBytes = 512 << 10
	// MaxTextBytes limits a stored text. Shorten limits the text of a turn to it.
	MaxTextBytes    = 32 << 10
	MaxCaptionBytes = 4 << 10
	MaxValueBytes   = 2 << 10
	MaxQueryBytes   = 4 << 10
	MaxMessageBytes = 4 << 10
)

// MaxMessages is the maximum number of messages of the conversation in a query.
const MaxMessages = 20

var (
	tenantPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	earliest      = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
)

// ValidTenant checks a tenant id: lower-case letters, digits and '-', 1 to 63 bytes. Every back-end accepts this
// alphabet without escapes.
func ValidTenant(id string) error {
	if !tenantPattern.MatchString(id) {
		return fault.Terminal("tenant_id", "want 1 to %d of a-z, 0-9 and '-', not starting or ending with '-'",
			MaxTenantBytes)
	}
	return nil
}

// ValidUser checks a user id.
func ValidUser(id string) error { return ValidText("user_id", id, MaxUserBytes) }

// ValidText checks a required text field: valid UTF-8 without NUL, not blank, at most limit bytes.
func ValidText(field, s string, limit int) error {
	switch {
	case len(s) > limit:
		return fault.Terminal(field, "is %d bytes long, want at most %d", len(s), limit)
	case !utf8.ValidString(s):
		return fault.Terminal(field, "is not valid UTF-8")
	case strings.ContainsRune(s, 0):
		return fault.Terminal(field, "contains a NUL character")
	case strings.TrimSpace(s) == "":
		return fault.Terminal(field, "is empty, want 1 to %d bytes", limit)
	}
	return nil
}

// CanonicalID returns the canonical form of an identifier, for all interfaces. A UUID gets lower-case digits.
// Another identifier stays unchanged.
func CanonicalID(id string) string {
	if parsed, err := uuid.Parse(id); err == nil && len(id) == len(parsed.String()) {
		return parsed.String()
	}
	return id
}

// ValidID checks an identifier as DeriveID makes it. Stores compare identifiers as text, so other spellings of a
// UUID are invalid.
func ValidID(field, id string) error {
	if parsed, err := uuid.Parse(id); err != nil || parsed.String() != id {
		return fault.Terminal(field, "is not a UUID, want 32 lower-case hexadecimal digits in five groups")
	}
	return nil
}

// maxShownRole bounds the part of a wrong role in an error, in bytes.
const maxShownRole = 20

// ValidMessages checks the messages that come with a query.
func ValidMessages(messages []Message) error {
	if n := len(messages); n > MaxMessages {
		return fault.Terminal("messages", "are %d, want at most %d: the last ones", n, MaxMessages)
	}
	for i, m := range messages {
		switch m.Role {
		case RoleUser, RoleAssistant, RoleTool:
		default:
			shown := m.Role[:min(len(m.Role), maxShownRole)]
			return fault.Terminal(fmt.Sprintf("messages[%d].role", i), "is %q, want user, assistant or tool", shown)
		}
		if err := ValidText(fmt.Sprintf("messages[%d].content", i), m.Content, MaxMessageBytes); err != nil {
			return err
		}
	}
	return nil
}

// ValidTime checks that a time lies between 1970 and one day after now.
func ValidTime(field string, t, now time.Time) error {
	if t.Before(earliest) || t.After(now.Add(24*time.Hour)) {
		return fault.Terminal(field, "is in the year %d, want between 1970-01-01 and one day from now", t.Year())
	}
	return nil
}
