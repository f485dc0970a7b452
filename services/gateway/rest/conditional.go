package rest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
)

// conditional is an answer of a single thing, without a body where the client has it already.
func conditional[T any](body T, ifNone etagHeader) (*read[T], error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	sum := sha256.Sum256(text)
	out := &read[T]{Status: http.StatusOK, ETag: `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`, Body: body}
	if has(string(ifNone), out.ETag, true) {
		out.Status = http.StatusNotModified
	}
	return out, nil
}

// has reports whether a list of ETags has one; weak says that a weak one counts, too.
func has(list, etag string, weak bool) bool {
	for tag := range strings.SplitSeq(list, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || tag == etag || weak && tag == "W/"+etag {
			return true
		}
	}
	return false
}

// unchanged returns a problem unless the memory's ETag is one of the client's. Without an ETag from the client, any
// memory is fine. If the memory changes meanwhile, the user's writer refuses changes that no longer apply.
func (a *API) unchanged(ctx context.Context, in OfMemory) error {
	if in.Match == "" {
		return nil
	}
	is, err := a.getMemory(ctx, &readMemory{User: in.User, Memory: in.Memory})
	if err == nil && !has(string(in.Match), is.ETag, false) {
		return located{problem.Problem{
			Status: http.StatusPreconditionFailed, Code: problem.CodePrecondition, Field: "If-Match",
			Detail: "is not the ETag of the memory: it was changed, read it again",
		}, inHeader}
	}
	return err
}

// list is the context of cursors: a hash of the list's owner and of its parameters. With it, a cursor works only
// for its own list. It is not a secret.
type list [6]byte

// listOf returns a list of the caller's tenant, by its name and its other distinguishing values.
func listOf(ctx context.Context, name string, of ...string) (l list) {
	p, _ := access.FromContext(ctx) // admit has checked
	sum := sha256.New()
	for _, part := range append([]string{p.Tenant.ID, name}, of...) {
		_, _ = fmt.Fprintf(sum, "%d %s", len(part), part) // never fails
	}
	copy(l[:], sum.Sum(nil))
	return l
}

// cursor returns the client's form of a place to continue from. An empty place stays empty.
func (l list) cursor(place []byte) string {
	if len(place) == 0 {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append(l[:], place...))
}

// place returns the place of a cursor. An empty cursor is the beginning.
func (l list) place(c cursor) ([]byte, error) {
	if c == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(string(c))
	place, ours := bytes.CutPrefix(text, l[:])
	if err != nil || !ours || len(place) == 0 || !utf8.Valid(place) {
		return nil, invalid(inQuery, "cursor", "is not a cursor of this request: want the same user and filters as before")
	}
	return place, nil
}
