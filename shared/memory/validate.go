package memory

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
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

// ValidNewUser checks the id of a user who may be new. Reads and erasures check with ValidUser, so that older ids
// stay reachable.
func ValidNewUser(id string) error { return ValidNewID("user_id", id, MaxUserBytes) }

// ValidNewID checks an identifier that a caller chooses, of at most limit bytes. It must be a text that ValidText
// accepts, in one line, with only visible characters. Ingestion and creation check with it. Reads and erasures do
// not, because they must reach ids that older versions accepted.
func ValidNewID(field, id string, limit int) error {
	switch {
	case id == "." || id == "..":
		return fault.Terminal(field, "is %q, which has a meaning in paths, want another name", id)
	case hasHidden(id):
		return fault.Terminal(field, "contains a control or invisible character")
	}
	return ValidText(field, id, limit)
}

// Invisible characters that join others.
const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
	blackFlag          = '\U0001f3f4' // begins the flags of regions, which tags spell
)

var (
	// blanks are invisible although their categories are letters and symbols.
	blanks = &unicode.RangeTable{R16: []unicode.Range16{
		{Lo: 0x034f, Hi: 0x034f, Stride: 1}, {Lo: 0x115f, Hi: 0x1160, Stride: 1}, {Lo: 0x17b4, Hi: 0x17b5, Stride: 1},
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, {Lo: 0x3164, Hi: 0x3164, Stride: 1}, {Lo: 0xffa0, Hi: 0xffa0, Stride: 1},
	}}
	// tags spell the flags of regions.
	tags = &unicode.RangeTable{R32: []unicode.Range32{{Lo: 0xe0020, Hi: 0xe007f, Stride: 1}}}
	// emojiStyle are the variation selectors of symbols.
	emojiStyle = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0xfe0e, Hi: 0xfe0f, Stride: 1}}}
	// joining are the scripts that use the joiners in the spelling of words.
	joining = []*unicode.RangeTable{
		unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Devanagari, unicode.Bengali,
		unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada,
		unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
	}
	// symbols are the categories of the characters in emoji.
	symbols = []*unicode.RangeTable{unicode.So, unicode.Sm, unicode.Sk}
)

// hasHidden reports whether an identifier contains an invisible character. Examples are a control character, an end
// of a line, and a zero-width character. Joiners and variation selectors pass as part of an emoji or of the
// spelling of a word.
func hasHidden(id string) bool {
	runes := []rune(id)
	for i, c := range runes {
		var before, after rune
		if i > 0 {
			before = runes[i-1]
		}
		if i+1 < len(runes) {
			after = runes[i+1]
		}
		if hides(c) && !belongs(c, before, after) {
			return true
		}
	}
	return false
}

// hides reports whether a character is invisible by itself. Characters of private use have no form of their own.
func hides(c rune) bool {
	return unicode.In(c, unicode.Cc, unicode.Co, unicode.Zl, unicode.Zp, unicode.Variation_Selector, blanks,
		unicode.Other_Default_Ignorable_Code_Point) ||
		unicode.Is(unicode.Cf, c) && !unicode.Is(unicode.Prepended_Concatenation_Mark, c)
}

// belongs reports whether an invisible character is part of its neighbours' visible form.
func belongs(c, before, after rune) bool {
	switch {
	case c == zeroWidthJoiner && (unicode.In(before, symbols...) || unicode.Is(emojiStyle, before)) &&
		unicode.In(after, symbols...):
		return true // an emoji of several
	case c == zeroWidthJoiner || c == zeroWidthNonJoiner:
		return unicode.In(before, joining...) && unicode.In(after, joining...)
	case unicode.Is(tags, c):
		return before == blackFlag || unicode.Is(tags, before)
	case unicode.Is(emojiStyle, c) && (unicode.In(before, symbols...) || unicode.In(before, unicode.P, unicode.Nd) ||
		before == 'ℹ'):
		return true
	case unicode.Is(unicode.Variation_Selector, c): // other shapes of a Chinese character, or a Mongolian letter
		return unicode.In(before, unicode.Han, unicode.Mongolian)
	}
	return false
}
