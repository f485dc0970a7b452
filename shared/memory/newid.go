package memory

import (
	"unicode"

	"github.com/mneme-memory/mneme/shared/fault"
)

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
