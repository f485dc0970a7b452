package verbatim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Limits.
const (
	// MaxObject bounds an object, in bytes of compact JSON.
	MaxObject = 256 << 10
	// MaxLabels bounds a namespace, MaxLabel each of its labels, in bytes, and MaxKey a key, in bytes.
	MaxLabels = 16
	MaxLabel  = 256
	MaxKey    = 1024
	// MaxItems bounds the items of a user.
	MaxItems = 10_000
	// MaxTTL bounds how long an item is kept that is not kept for ever; the least is MinTTL.
	MinTTL = time.Second
	MaxTTL = 10 * 365 * 24 * time.Hour
	// MaxFound bounds the items that a search returns, MaxListed the namespaces of a listing, and MaxOffset where either begins.
	MaxFound  = 100
	MaxListed = 1000
	MaxOffset = 1_000_000
	// MaxScan bounds the items that a search holds against a filter or a query, in bytes.
	MaxScan = 64 << 20
	// MaxSessionItems bounds the items of a session, MaxSessions the sessions of a user, MaxAppended what is appended, and MaxLatest what is
	// read of a session at once.
	MaxSessionItems = 10_000
	MaxSessions     = 1000
	MaxAppended     = 1000
	MaxLatest       = MaxSessionItems
	// MaxAnswer bounds the items that are read at once, in bytes.
	MaxAnswer = 16 << 20
)

// Object is a JSON object as it came, without the white space between its tokens. NewObject makes it.
type Object []byte

// NewObject makes an object of a valid JSON text. Its error is a problem without a field.
func NewObject(text []byte) (Object, error) {
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil || !bytes.HasPrefix(out.Bytes(), []byte("{")) {
		return nil, fault.Terminal("", "is not an object")
	}
	if out.Len() > MaxObject {
		return nil, fault.Terminal("", "is %d bytes long, want at most %d", out.Len(), MaxObject)
	}
	return out.Bytes(), nil
}

// Namespace is where an item is: labels, from the outermost to the innermost.
type Namespace []string

// Name names an item of a user.
type Name struct {
	Namespace Namespace
	Key       string
}

// Check holds a name against the limits. Its errors are problems that name the field ("namespace[1]").
func (n Name) Check() error {
	if len(n.Namespace) == 0 {
		return fault.Terminal("namespace", "has no label, want 1 to %d", MaxLabels)
	}
	if err := checkLabels("namespace", n.Namespace); err != nil {
		return err
	}
	if n.Key == "" || len(n.Key) > MaxKey {
		return fault.Terminal("key", "is %d bytes long, want 1 to %d", len(n.Key), MaxKey)
	}
	return nil
}

// member is the name in Redis. Labels are not empty and have no dot, so that the first two dots end the namespace, whatever the key is.
func (n Name) member() string { return strings.Join(n.Namespace, ".") + ".." + n.Key }

// nameOf reads a member.
func nameOf(member string) Name {
	namespace, key, _ := strings.Cut(member, "..")
	return Name{strings.Split(namespace, "."), key}
}

func checkLabels(field string, labels []string) error {
	if len(labels) > MaxLabels {
		return fault.Terminal(field, "has %d labels, want at most %d", len(labels), MaxLabels)
	}
	for i, label := range labels {
		at := fmt.Sprintf("%s[%d]", field, i)
		if label == "" || len(label) > MaxLabel {
			return fault.Terminal(at, "is %d bytes long, want 1 to %d", len(label), MaxLabel)
		}
		if strings.Contains(label, ".") {
			return fault.Terminal(at, "has a dot, which no label has")
		}
	}
	return nil
}

// Put is an item that is to be kept.
type Put struct {
	Name
	Value Object
	// TTL is how long it is kept; 0 is for ever.
	TTL time.Duration
}

// Check holds a put against the limits, and its name against what a new name may be (memory.ValidNewID). Its errors are problems that
// name the field.
func (p Put) Check() error {
	if err := p.Name.Check(); err != nil {
		return err
	}
	for i, label := range p.Namespace {
		if err := memory.ValidNewID(fmt.Sprintf("namespace[%d]", i), label, MaxLabel); err != nil {
			return err
		}
	}
	if err := memory.ValidNewID("key", p.Key, MaxKey); err != nil {
		return err
	}
	if p.TTL != 0 && (p.TTL < MinTTL || p.TTL > MaxTTL) {
		return fault.Terminal("ttl_seconds", "is not of %.0f to %.0f", MinTTL.Seconds(), MaxTTL.Seconds())
	}
	return nil
}

// Item is what is kept.
type Item struct {
	Name
	Value Object
	// CreatedAt is when it was put first, UpdatedAt when last.
	CreatedAt, UpdatedAt time.Time
	// Score says how much of a query is in the value, from 0 to 1; 0 without a query.
	Score float64
}

// itemOf reads what scripts return of an item: when it was updated, in µs, and what is kept.
func itemOf(name Name, updated, kept string) (Item, error) {
	created, rest, _ := strings.Cut(kept, " ")
	_, value, found := strings.Cut(rest, " ")
	if !found {
		return Item{}, errForm
	}
	item := Item{Name: name, Value: Object(value)}
	var err error
	if item.CreatedAt, err = momentOf(created); err == nil {
		item.UpdatedAt, err = momentOf(updated)
	}
	return item, err
}

// momentOf reads a time in µs.
func momentOf(text string) (time.Time, error) {
	us, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("a time of an item: %w", err)
	}
	return time.UnixMicro(us).UTC(), nil
}

// Search asks for items of a user.
type Search struct {
	// Prefix begins their namespaces; an empty one begins all.
	Prefix Namespace
	Filter Filter
	// Query is what their values are about; an empty one asks for all, those first that were updated last.
	Query string
	// Limit bounds the items, Offset is how many are left out before them.
	Limit, Offset int
}

// Check holds a search against the limits. Its errors are problems that name the field.
func (q Search) Check() error {
	if err := checkLabels("namespace_prefix", q.Prefix); err != nil {
		return err
	}
	if len(q.Query) > memory.MaxQueryBytes {
		return fault.Terminal("query", "is %d bytes long, want at most %d", len(q.Query), memory.MaxQueryBytes)
	}
	return checkPage(q.Limit, q.Offset, MaxFound)
}

// Listing asks for namespaces of a user's items.
type Listing struct {
	// Prefix begins them and Suffix ends them; the label "*" in these stands for any.
	Prefix, Suffix Namespace
	// MaxDepth is how many of their labels are told; 0 is all.
	MaxDepth int
	// Limit bounds the namespaces, Offset is how many are left out before them.
	Limit, Offset int
}

// Check holds a listing against the limits. Its errors are problems that name the field.
func (l Listing) Check() error {
	if err := checkLabels("prefix", l.Prefix); err != nil {
		return err
	}
	if err := checkLabels("suffix", l.Suffix); err != nil {
		return err
	}
	if l.MaxDepth < 0 || l.MaxDepth > MaxLabels {
		return fault.Terminal("max_depth", "is %d, want 1 to %d", l.MaxDepth, MaxLabels)
	}
	return checkPage(l.Limit, l.Offset, MaxListed)
}

func checkPage(limit, offset, most int) error {
	if limit < 1 || limit > most {
		return fault.Terminal("limit", "is %d, want 1 to %d", limit, most)
	}
	if offset < 0 || offset > MaxOffset {
		return fault.Terminal("offset", "is %d, want 0 to %d", offset, MaxOffset)
	}
	return nil
}

// page is what a list has from an offset on.
func page[T any](list []T, offset, limit int) []T {
	list = list[min(offset, len(list)):]
	return list[:min(limit, len(list))]
}

// list returns the namespaces that are asked for, in order.
func (l Listing) list(names []Name) []Namespace {
	var out []Namespace
	for _, n := range names {
		namespace := n.Namespace
		if !begins(namespace, l.Prefix) || !ends(namespace, l.Suffix) {
			continue
		}
		if l.MaxDepth > 0 {
			namespace = namespace[:min(l.MaxDepth, len(namespace))]
		}
		out = append(out, namespace)
	}
	slices.SortFunc(out, func(a, b Namespace) int { return slices.Compare(a, b) })
	out = slices.CompactFunc(out, func(a, b Namespace) bool { return slices.Equal(a, b) })
	return page(out, l.Offset, l.Limit)
}

// begins reports whether a namespace begins with a pattern.
func begins(n, pattern Namespace) bool {
	return len(n) >= len(pattern) && fits(n[:len(pattern)], pattern)
}

// ends reports whether a namespace ends with a pattern.
func ends(n, pattern Namespace) bool {
	return len(n) >= len(pattern) && fits(n[len(n)-len(pattern):], pattern)
}

func fits(n, pattern Namespace) bool {
	for i, label := range pattern {
		if label != "*" && label != n[i] {
			return false
		}
	}
	return true
}
