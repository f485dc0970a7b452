package bank

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"time"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// tokenFormat is the first byte of every token, to distinguish later formats.
const tokenFormat = 1

// tokenHeader is the format byte, the seconds and the nanoseconds within the second.
const tokenHeader = 1 + 8 + 4

// PageToken is a position in the order of List: the last entry of the previous page. It is a position and not a
// count, so concurrent writes neither repeat nor hide entries.
type PageToken struct {
	// RecordedAt is the time of that entry, to the nanosecond.
	RecordedAt time.Time
	// ID is the id of that entry.
	ID string
}

// TokenAfter returns the token of the page that begins after m.
func TokenAfter(m memory.Memory) PageToken {
	return PageToken{RecordedAt: m.RecordedAt.UTC(), ID: m.ID}
}

// IsZero reports whether the token is the first page's.
func (t PageToken) IsZero() bool { return t.ID == "" }

// Before reports whether m comes after the position, on a later page.
func (t PageToken) Before(m memory.Memory) bool {
	return t.IsZero() || ByRecorded(memory.Memory{ID: t.ID, RecordedAt: t.RecordedAt}, m) < 0
}

// String encodes the token as an opaque text for clients. The token of the first page is "".
func (t PageToken) String() string {
	if t.IsZero() {
		return ""
	}
	raw := binary.BigEndian.AppendUint64([]byte{tokenFormat}, uint64(t.RecordedAt.Unix()))
	raw = binary.BigEndian.AppendUint32(raw, uint32(t.RecordedAt.Nanosecond()))
	return base64.RawURLEncoding.EncodeToString(append(raw, t.ID...))
}

// ParsePageToken decodes the result of String. Any other text is a terminal error about page_token.
func ParsePageToken(s string) (PageToken, error) {
	if s == "" {
		return PageToken{}, nil
	}
	malformed := fault.Terminal("page_token", "is malformed, want the token of the page before")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(raw) <= tokenHeader || raw[0] != tokenFormat || !utf8.Valid(raw[tokenHeader:]) {
		return PageToken{}, malformed
	}
	seconds, nanos := int64(binary.BigEndian.Uint64(raw[1:9])), binary.BigEndian.Uint32(raw[9:tokenHeader])
	if nanos >= uint32(time.Second) {
		return PageToken{}, malformed
	}
	return PageToken{RecordedAt: time.Unix(seconds, int64(nanos)).UTC(), ID: string(raw[tokenHeader:])}, nil
}

// ByRecorded is the order of List: ascending RecordedAt, then ID.
func ByRecorded(a, b memory.Memory) int {
	return cmp.Or(a.RecordedAt.Compare(b.RecordedAt), cmp.Compare(a.ID, b.ID))
}

// ByVersion is the order of History: ascending RecordedAt, then Version, then ID. One write may have several versions
// of an entry.
func ByVersion(a, b memory.Memory) int {
	return cmp.Or(a.RecordedAt.Compare(b.RecordedAt), cmp.Compare(a.Version, b.Version), cmp.Compare(a.ID, b.ID))
}

// ByScore is the order of Search: descending score, then ID, so that equal scores have one order.
func ByScore(a, b Scored) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Memory.ID, b.Memory.ID))
}
