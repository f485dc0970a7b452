package door

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// maxName is how much of a name in a body a problem repeats, in bytes.
const maxName = 64

// CheckEscapes returns a problem that names the field where a body of JSON, or of lines of it, escapes half of a surrogate pair ("\ud800"),
// which is no character: a decoder would put U+FFFD in its place without a word. It copies nothing of the body.
func CheckEscapes(body []byte) error {
	if !bytes.Contains(body, []byte(`\ud`)) && !bytes.Contains(body, []byte(`\uD`)) {
		return nil
	}
	var at place
	for i := 0; i < len(body); i++ {
		switch c := body[i]; c {
		case '{', '[':
			if at = append(at, level{list: c == '['}); len(at) > maxDepth { // of lines, whose depth nobody has looked at
				return Malformed("", "the body is nested too deep")
			}
		case '}', ']':
			at = at[:max(len(at)-1, 0)]
		case '"':
			text := quoted(body[i+1:])
			i += len(text) + 1
			if top := at.top(); !top.list && !top.value {
				top.name = text
			}
			if halved(text) {
				return Malformed(at.String(), `has an escaped half of a surrogate pair (\ud800 to \udfff), which is no character`)
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

// quoted is what of a text stands before the quote that ends a string.
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

// halved reports whether a string escapes a surrogate that is not the half of a pair.
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

// escaped is the code unit that a text begins with as \u0000 escapes it; 0 where it begins otherwise.
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

// place is where in JSON something is, level by level.
type place []level

// level is an object or a list: which of its fields or entries it is about.
type level struct {
	list, value bool // value says that the name of the field has been read
	entry       int
	name        []byte
}

// top is the innermost level; one of its own where there is none.
func (p place) top() *level {
	if len(p) == 0 {
		return &level{}
	}
	return &p[len(p)-1]
}

// String is the place as problems name it ("turns[3].text"); a name that is itself at fault is left out.
func (p place) String() string {
	var out strings.Builder
	for _, l := range p {
		var name string
		switch {
		case l.list:
			fmt.Fprintf(&out, "[%d]", l.entry)
		case l.value && json.Unmarshal([]byte(`"`+string(l.name)+`"`), &name) == nil:
			out.WriteString("." + strings.ToValidUTF8(name[:min(len(name), maxName)], ""))
		}
	}
	return strings.TrimPrefix(out.String(), ".")
}
