package bank

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Limits and defaults of reads.
const (
	// DefaultLimit is the page size if ListOptions.Limit is 0.
	DefaultLimit = 100
	// MaxLimit is the largest page.
	MaxLimit = 1000
	// DefaultK is the number of search results if Query.K is 0.
	DefaultK = 20
	// MaxK is the maximum number of search results.
	MaxK = 200
)

// CheckScope returns a terminal error for a scope that no bank accepts.
func CheckScope(scope memory.Scope) error {
	if err := memory.ValidTenant(scope.Tenant); err != nil {
		return err
	}
	return memory.ValidUser(scope.User)
}

// Checked sets the defaults of o and decodes its token. The token is the zero value on the first page. A value
// outside the limits is a terminal error.
func (o ListOptions) Checked() (ListOptions, PageToken, error) {
	o.Limit = cmp.Or(o.Limit, DefaultLimit)
	if o.Limit < 0 || o.Limit > MaxLimit {
		return o, PageToken{}, fault.Terminal("page_size", "is %d, want 1 to %d, or 0 for %d", o.Limit, MaxLimit,
			DefaultLimit)
	}
	if err := checkStatuses(o.Statuses); err != nil {
		return o, PageToken{}, err
	}
	if err := checkTiers(o.Tiers); err != nil {
		return o, PageToken{}, err
	}
	if err := o.Filter.Validate(); err != nil {
		return o, PageToken{}, err
	}
	token, err := ParsePageToken(o.Token)
	return o, token, err
}

// Checked sets the defaults of o. A value outside the limits is a terminal error.
func (o PageOptions) Checked() (PageOptions, error) {
	checked, _, err := ListOptions{Limit: o.Limit}.Checked()
	o.Limit = checked.Limit
	return o, err
}

// Checked sets the defaults of q. A value outside the limits is a terminal error, and so is a vector of another
// dimension than the bank's.
func (q Query) Checked(dimension int) (Query, error) {
	q.K = cmp.Or(q.K, DefaultK)
	if len(q.Statuses) == 0 {
		q.Statuses = []memory.Status{memory.StatusActive}
	}
	switch {
	case q.K < 0 || q.K > MaxK:
		return q, fault.Terminal("query.k", "is %d, want 1 to %d, or 0 for %d", q.K, MaxK, DefaultK)
	case !(q.Alpha >= 0 && q.Alpha <= 1): // NaN too
		return q, fault.Terminal("query.alpha", "is %g, want 0 to 1", q.Alpha)
	case !utf8.ValidString(q.Text):
		return q, fault.Terminal("query.text", "is not valid UTF-8")
	}
	if q.Vector != nil {
		if err := checkVector("query.vector", q.Vector, dimension); err != nil {
			return q, err
		}
	}
	if err := q.Filter.Validate(); err != nil {
		return q, err
	}
	return q, checkStatuses(q.Statuses)
}

// CheckWrite returns a terminal error for a Write that no bank of that dimension may apply. Examples are an entry
// without id, content or RecordedAt, a repeated entry, a vector of another length, and a closing without a target.
func CheckWrite(w memory.Write, dimension int) error {
	seen := make(map[string]bool, len(w.Put))
	for _, m := range w.Put {
		if err := checkEntry(m, dimension); err != nil {
			return err
		}
		if seen[m.ID] {
			return fault.Terminal("write.put.id", "%s is written twice", m.ID)
		}
		seen[m.ID] = true
	}
	for _, c := range w.Close {
		if c.Status != memory.StatusSuperseded && c.Status != memory.StatusRetracted {
			return fault.Terminal("write.close.status", "of %s is %q, want superseded or retracted", c.ID, c.Status)
		}
	}
	for _, r := range w.Release {
		if r.Status != memory.StatusActive && r.Status != memory.StatusSuperseded {
			return fault.Terminal("write.release.status", "of %s is %q, want active or superseded", r.ID, r.Status)
		}
	}
	for _, t := range w.Turns {
		if t.ID == "" {
			return fault.Terminal("write.turns.id", "is empty")
		}
		if err := t.Attributes.Validate("write.turns."); err != nil {
			return err
		}
	}
	if w.Core != nil && !w.Core.Valid() {
		return fault.Terminal("write.core",
			"is version %d of %d characters, want at least 1 and at most %d characters, and lines with their evidence",
			w.Core.Version, w.Core.Length(), memory.CoreCapacity)
	}
	if w.Session != nil && w.Session.SessionID == "" {
		return fault.Terminal("write.session.session_id", "is empty")
	}
	return nil
}

// Targets returns the ids of the entries that a Write closes or releases.
func Targets(w memory.Write) []string {
	ids := make([]string, 0, len(w.Close)+len(w.Release))
	for _, c := range w.Close {
		ids = append(ids, c.ID)
	}
	for _, r := range w.Release {
		ids = append(ids, r.ID)
	}
	return ids
}

// CheckDropped returns a terminal error for decisions that no bank may keep: without a turn, or with values that are
// not numbers.
func CheckDropped(dropped []memory.Dropped) error {
	for _, d := range dropped {
		if d.TurnID == "" {
			return fault.Terminal("dropped.turn_id", "is empty")
		}
		if !finite(d.Score) || !finite(d.Threshold) {
			return fault.Terminal("dropped.score", "of %s, or its threshold, is not a finite number", d.TurnID)
		}
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func checkEntry(m memory.Memory, dimension int) error {
	switch {
	case m.ID == "":
		return fault.Terminal("write.put.id", "is empty")
	case m.Content == "":
		return fault.Terminal("write.put.content", "of %s is empty", m.ID)
	case !utf8.ValidString(m.Content):
		return fault.Terminal("write.put.content", "of %s is not valid UTF-8", m.ID)
	case m.RecordedAt.IsZero():
		return fault.Terminal("write.put.recorded_at", "of %s is not set", m.ID)
	}
	if err := checkVector("write.put.vector", m.Vector, dimension); err != nil {
		return err
	}
	if err := m.Attributes.Validate("write.put."); err != nil {
		return err
	}
	if err := checkTiers([]memory.Tier{m.Tier}); err != nil {
		return err
	}
	return checkStatuses([]memory.Status{m.Status})
}

func checkVector(field string, v []float32, dimension int) error {
	if len(v) != dimension {
		return fault.Terminal(field, "has %d dimensions, want %d", len(v), dimension)
	}
	for i, x := range v {
		if !finite(float64(x)) {
			return fault.Terminal(field, "is not a finite number at position %d", i)
		}
	}
	return nil
}

func checkStatuses(statuses []memory.Status) error {
	known := append(memory.Recallable(), memory.StatusQuarantined)
	for _, s := range statuses {
		if !slices.Contains(known, s) {
			return fault.Terminal("status", "is %q, want active, superseded, retracted or quarantined", s)
		}
	}
	return nil
}

func checkTiers(tiers []memory.Tier) error {
	for _, t := range tiers {
		if !t.Valid() {
			return fault.Terminal("tier", "is %q, want talk, or empty for a memory", t)
		}
	}
	return nil
}

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
