package structured

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Decode reads an answer into out, a pointer to a struct, and holds it against the schema. An answer that is
// not JSON as a whole is searched for the first balanced object that fits, because models wrap
// theirs in prose or code fences. Errors quote nothing of the answer.
func Decode(schema Schema, answer string, out any) error {
	whole := []byte(strings.TrimSpace(answer))
	if json.Valid(whole) {
		return decodeInto(schema, whole, out)
	}
	candidates := objects(answer)
	if len(candidates) == 0 {
		return Faultf("the answer holds no complete JSON object")
	}
	var first error
	for _, c := range candidates {
		err := decodeInto(schema, c, out)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func decodeInto(schema Schema, data []byte, out any) error {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return Faultf("the answer is no JSON that can be read")
	}
	if err := schema.root.check("$", v); err != nil {
		return err
	}
	// Encoded anew, because a duplicate key or a key in another case would reach encoding/json's struct
	// decoder differently from what was checked.
	clean, err := json.Marshal(schema.root.prune(v))
	if err != nil {
		return Faultf("the answer is no JSON that can be read")
	}
	if err := json.NewDecoder(bytes.NewReader(clean)).Decode(out); err != nil {
		return Faultf("the answer does not fit the schema")
	}
	return nil
}

// prune keeps what the schema knows of a checked value.
func (n *node) prune(v any) any {
	switch n.kind {
	case "object":
		in, _ := v.(map[string]any)
		out := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			if child, ok := in[f.name]; ok && child != nil {
				out[f.name] = f.node.prune(child)
			}
		}
		return out
	case "array":
		in, _ := v.([]any)
		out := make([]any, len(in))
		for i, item := range in {
			out[i] = n.items.prune(item)
		}
		return out
	}
	return v
}

// maxSearch bounds how many bytes are looked at in search of objects, since every opening brace may cost
// a pass over the rest of the answer.
const maxSearch = 1 << 20

// objects returns the outermost balanced JSON objects in s, in order.
func objects(s string) [][]byte {
	var out [][]byte
	at, looked := 0, 0
	for looked < maxSearch {
		start := strings.IndexByte(s[at:], '{')
		if start < 0 {
			break
		}
		at += start
		end := balanced(s[at:])
		if end < 0 {
			looked += len(s) - at
			at++
			continue
		}
		looked += end
		if json.Valid([]byte(s[at : at+end])) {
			out = append(out, []byte(s[at:at+end]))
			at += end
			continue
		}
		at++
	}
	return out
}

// balanced is the length of the object that s begins with, or -1 when it does not end.
func balanced(s string) int {
	depth, inString, escaped := 0, false, false
	for i := range len(s) {
		c := s[i]
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped = c == '\\'
			inString = c != '"'
		case c == '"':
			inString = true
		case c == '{':
			depth++
		case c == '}':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
