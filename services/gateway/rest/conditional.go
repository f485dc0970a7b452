package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"
)

// conditional is an answer of a single thing, without a body where the client has it already.
func conditional[T any](body T, ifNone etagHeader) (*read[T], error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	sum := sha256.Sum256(text)
	out := &read[T]{Status: http.StatusOK, ETag: `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`, Body: body}
	if has(string(ifNone), out.ETag) {
		out.Status = http.StatusNotModified
	}
	return out, nil
}

// has reports whether a list of ETags has one, weak or not.
func has(list, etag string) bool {
	for tag := range strings.SplitSeq(list, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
			return true
		}
	}
	return false
}

// newCursor is a place to go on from, as clients are told it; an empty one stays empty.
func newCursor(place []byte) string { return base64.RawURLEncoding.EncodeToString(place) }

// openCursor is the place that a cursor stands for.
func openCursor(c cursor) ([]byte, error) {
	place, err := base64.RawURLEncoding.Strict().DecodeString(string(c))
	if err != nil || !utf8.Valid(place) {
		return nil, invalid(inQuery, "cursor", "is not a cursor of an answer")
	}
	return place, nil
}
