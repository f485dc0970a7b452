package structured

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Decode reads an answer into out, a pointer to a struct, and checks it against the schema. Models wrap JSON in
// prose or code fences. So Decode searches an answer that is not JSON as a whole for the balanced object that fits.
// If no object fits fully, an object with faults only in an Item counts. Several different objects that fit are an
// error, because one may be a draft or a quotation of a user. Errors quote nothing of the answer.
func Decode(schema Schema, answer string, out any) error {
	candidates := [][]byte{[]byte(strings.TrimSpace(answer))}
	if !json.Valid(candidates[0]) {
		candidates = objects(answer)
	}
	if len(candidates) == 0 {
		return Faultf("the answer holds no complete JSON object")
	}
	var first error
	for _, strict := range []bool{true, false} {
		var fitting json.RawMessage
		first = nil
		for _, c := range candidates {
			f, err := fit(schema, c, strict)
			switch {
			case err == nil && fitting != nil && !bytes.Equal(f, fitting):
				return Faultf("the answer holds several JSON objects that fit, and which one is meant is not clear; give one alone")
			case err == nil:
				fitting = f
			case first == nil:
				first = err
			}
		}
		if fitting == nil {
			continue
		}
		if err := json.Unmarshal(fitting, out); err != nil {
			return Faultf("the answer does not fit the schema")
		}
		return nil
	}
	return first
}

// fit returns the part of the data that fits the schema, encoded anew. Otherwise encoding/json's struct decoder
// would read a duplicate key or a key in another case differently from the checked value.
func fit(schema Schema, data []byte, strict bool) (json.RawMessage, error) {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, Faultf("the answer is no readable JSON")
	}
	v, err := schema.root.fit("$", v, strict)
	if err != nil {
		return nil, err
	}
	return mustJSON(v), nil
}

// maxSearch bounds the bytes scanned for objects, because every opening brace may cost a pass over the rest of the
// answer.
const maxSearch = 1 << 20

// objects returns the outermost JSON objects in s, in order.
func objects(s string) [][]byte {
	var out [][]byte
	for at, scanned := 0, 0; scanned < maxSearch; at++ {
		start := strings.IndexByte(s[at:], '{')
		if start < 0 {
			break
		}
		at += start
		var object json.RawMessage
		var bad *json.SyntaxError
		switch err := json.NewDecoder(strings.NewReader(s[at:])).Decode(&object); {
		case err == nil:
			out = append(out, object)
			scanned += len(object)
			at += len(object) - 1
		case errors.As(err, &bad):
			scanned += int(bad.Offset)
		default:
			scanned += len(s) - at
		}
	}
	return out
}

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
