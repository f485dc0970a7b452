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
	// MaxObject is the maximum size of an object, in bytes of compact JSON.
	MaxObject = 256 << 10
	// MaxLabels is the maximum number of labels in a namespace. MaxLabel is the maximum length of a label, and MaxKey
	// of a key, in bytes.
	MaxLabels = 16
	MaxLabel  = 256
	MaxKey    = 1024
	// MaxItems is the maximum number of items per user.
	MaxItems = 10_000
	// MinTTL is the shortest lifetime of an item that expires, and MaxTTL is the longest.
	MinTTL = time.Second
	MaxTTL = 10 * 365 * 24 * time.Hour
	// MaxFound is the maximum number of items per search, MaxListed of namespaces per listing, and MaxOffset of
	// skipped results.
	MaxFound  = 100
	MaxListed = 1000
	MaxOffset = 1_000_000
	// MaxScan is the maximum size of the items that a search compares with a filter or a query, in bytes.
	MaxScan = 64 << 20
	// MaxSessionItems is the maximum number of items per session, and MaxSessions of sessions per user. MaxAppended is
	// the maximum number of items per append, and MaxLatest per read of a session.
	MaxSessionItems = 10_000
	MaxSessions     = 1000
	MaxAppended     = 1000
	MaxLatest       = MaxSessionItems
	// MaxAnswer is the maximum size of the items in one read, in bytes.
	MaxAnswer = 16 << 20
)

// Object is a JSON object without white space between its tokens, otherwise unchanged. NewObject creates it.
type Object []byte

// NewObject creates an object from a valid JSON text. Its error is a problem without a field.
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

// Namespace is the place of an item: labels, from the outermost to the innermost.
type Namespace []string

// Name names an item of a user.
type Name struct {
	Namespace Namespace
	Key       string
}

// Check checks the limits of a name. Its errors are problems that name the field ("namespace[1]").
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

// member returns the name in Redis. Labels are not empty and have no dot. So the first two dots end the namespace,
// whatever the key is.
func (n Name) member() string { return strings.Join(n.Namespace, ".") + ".." + n.Key }

// nameOf parses a member.
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
			return fault.Terminal(at, "has a dot, want a label without one")
		}
	}
	return nil
}

// Put is an item to store.
type Put struct {
	Name
	Value Object
	// TTL is the lifetime of the item; 0 means for ever.
	TTL time.Duration
}

// Check checks the limits of a put, and checks the name as a new name (memory.ValidNewID). Its errors are problems
// that name the field.
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
		return fault.Terminal("ttl_seconds", "is out of range, want %.0f to %.0f", MinTTL.Seconds(), MaxTTL.Seconds())
	}
	return nil
}

// Item is a stored item.
type Item struct {
	Name
	Value Object
	// CreatedAt is the time of the first put, UpdatedAt of the last.
	CreatedAt, UpdatedAt time.Time
	// Score is the share of the query in the value, from 0 to 1. It is 0 without a query.
	Score float64
}

// itemOf parses the result of a script for an item: its update time in µs, and the stored value.
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

// momentOf parses a time in µs.
func momentOf(text string) (time.Time, error) {
	us, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("a time of an item: %w", err)
	}
	return time.UnixMicro(us).UTC(), nil
}

// Search is a request for items of a user.
type Search struct {
	// Prefix is the beginning of their namespaces. An empty prefix matches all.
	Prefix Namespace
	Filter Filter
	// Query is a text about the values. An empty query requests all items, last updated first.
	Query string
	// Limit is the maximum number of items, and Offset is the number of skipped items before them.
	Limit, Offset int
}

// Check checks the limits of a search. Its errors are problems that name the field.
func (q Search) Check() error {
	if err := checkLabels("namespace_prefix", q.Prefix); err != nil {
		return err
	}
	if len(q.Query) > memory.MaxQueryBytes {
		return fault.Terminal("query", "is %d bytes long, want at most %d", len(q.Query), memory.MaxQueryBytes)
	}
	return checkPage(q.Limit, q.Offset, MaxFound)
}

// Listing is a request for namespaces of a user's items.
type Listing struct {
	// Prefix and Suffix are the beginning and the end of the namespaces. The label "*" matches any label.
	Prefix, Suffix Namespace
	// MaxDepth is the maximum number of labels in the result; 0 means all.
	MaxDepth int
	// Limit is the maximum number of namespaces, and Offset is the number of skipped ones before them.
	Limit, Offset int
}

// Check checks the limits of a listing. Its errors are problems that name the field.
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

// page returns the part of a list after an offset.
func page[T any](list []T, offset, limit int) []T {
	list = list[min(offset, len(list)):]
	return list[:min(limit, len(list))]
}

// list returns the requested namespaces, in order.
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
