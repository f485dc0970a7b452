package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/mneme-memory/mneme/shared/fault"
)

const (
	// maxJSONDepth is how many levels of objects and lists a JSON text may have.
	maxJSONDepth = 64
	// maxShownName is how much of a name an error repeats, in bytes.
	maxShownName = 64
)

// CheckJSONText refuses JSON, or lines of JSON, that decoders change silently. Of a repeated key of an object they drop
// the first value. They replace an escaped half of a surrogate pair ("\ud800") by U+FFFD. It also bounds the depth.
// Errors are terminal and name the place in field, which may be empty. It accepts other texts that are no JSON.
func CheckJSONText(field string, text []byte) error {
	var at place
	var keys [][]byte // of all open objects
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '[':
			if at = append(at, level{list: c == '[', keys: len(keys)}); len(at) > maxJSONDepth {
				return fault.Terminal(field, "is nested too deep, want at most %d levels", maxJSONDepth)
			}
		case '}', ']':
			first := at.top().keys
			at = at[:max(len(at)-1, 0)]
			if key, ok := repeated(keys[first:]); ok {
				return fault.Terminal(strings.TrimPrefix(at.path(field)+"."+shownName(key), "."), "occurs twice")
			}
			keys = keys[:first]
		case '"':
			s := quoted(text[i+1:])
			i += len(s) + 1
			if top := at.top(); len(at) > 0 && !top.list && !top.value {
				top.name = s
				keys = append(keys, unescaped(s))
			}
			if halved(s) {
				return fault.Terminal(at.path(field), `has an escaped half of a surrogate pair (\ud800 to \udfff), which is no character`)
			}
		case ':':
			at.top().value = true
		case ',':
			top := at.top()
			top.entry, top.value = top.entry+1, false
		}
	}
	return nil
}

// repeated returns a key that occurs more than once; ok is false where none does. It sorts the keys.
func repeated(keys [][]byte) (key string, ok bool) {
	slices.SortFunc(keys, bytes.Compare)
	for i := 1; i < len(keys); i++ {
		if bytes.Equal(keys[i-1], keys[i]) {
			return string(keys[i]), true
		}
	}
	return "", false
}

// unescaped returns a key without its escapes. It copies only a key that has some.
func unescaped(key []byte) []byte {
	if bytes.IndexByte(key, '\\') < 0 {
		return key
	}
	var out string // declared here, as it is allocated
	if json.Unmarshal([]byte(`"`+string(key)+`"`), &out) != nil {
		return key
	}
	return []byte(out)
}

func shownName(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), maxShownName)], "")
}

// quoted returns the part of a text before the quote that ends a string.
func quoted(text []byte) []byte {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[:i]
		}
	}
	return text
}

// halved reports whether a string escapes a surrogate outside of a pair.
func halved(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		r := escaped(text[i:])
		switch {
		case !utf16.IsSurrogate(r):
			i++
		case utf16.DecodeRune(r, escaped(text[i+6:])) == '\uFFFD':
			return true
		default:
			i += 11
		}
	}
	return false
}

// escaped returns the code unit of an escape (\u0041) at the beginning of a text; 0 where the text begins otherwise.
func escaped(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	r, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(r)
}

// place is a position in JSON, level by level.
type place []level

// level is an open object or list, with its current field or entry.
type level struct {
	list, value bool // value: the name of the field has been read
	entry       int
	name        []byte
	keys        int // the number of keys of the levels around it
}

// top returns the innermost level; a new one where there is none.
func (p place) top() *level {
	if len(p) == 0 {
		return &level{}
	}
	return &p[len(p)-1]
}

// path returns the place in a field as errors name it ("turns[3].text"). It leaves out a name that is still being read.
func (p place) path(field string) string {
	var out strings.Builder
	out.WriteString(field)
	for _, l := range p {
		var name string
		switch {
		case l.list:
			fmt.Fprintf(&out, "[%d]", l.entry)
		case l.value && json.Unmarshal([]byte(`"`+string(l.name)+`"`), &name) == nil:
			out.WriteString("." + shownName(name))
		}
	}
	return strings.TrimPrefix(out.String(), ".")
}
