package weaviate

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
)

// An entry has one token per value of each field, and filters become filters over tokens. A token is a hash of user,
// field and value, so each index row belongs to one user and has no text. A number has a token per prefix of its
// order-preserving encoding, so a range is a few prefixes. A date is a number of seconds.

const (
	// maxTokens is the maximum number of tokens per entry. An entry with more has tokenUnlisted instead.
	maxTokens = 1000
	// tokenBytes is the number of hash bytes in a token.
	tokenBytes = 12
	// numberBits is the number of encoded bits with tokens. Numbers that differ by less than a millionth may share a
	// token.
	numberBits = 32
	// levelBits is the number of bits that each prefix adds.
	levelBits = 4
	levels    = numberBits / levelBits
)

// Kinds of tokens.
const (
	tokenListed   = "listed"   // on every entry written with tokens
	tokenUnlisted = "unlisted" // on an entry with too many tokens
	tokenThere    = "there"    // the field has a value
	tokenText     = "text"     // the field is a text, alone or in a list
	tokenWhole    = "whole"    // the field is a text, not in a list
	tokenBool     = "bool"
	tokenNumber   = "number"
	tokenOrder    = "order"
	tokenDate     = "date"
)

// token creates the tokens of one user.
type token string

func (user token) encode(parts ...string) string {
	h := sha256.New()
	for _, part := range append([]string{string(user)}, parts...) {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:tokenBytes])
}

// equal returns the token of a field's value that is not a date.
func (user token) equal(field string, value any) string {
	switch v := value.(type) {
	case string:
		return user.encode(tokenText, field, v)
	case bool:
		return user.encode(tokenBool, field, strconv.FormatBool(v))
	case float64:
		return user.encode(tokenNumber, field, strconv.FormatFloat(v+0, 'g', -1, 64)) // no negative zero
	}
	return user.encode(tokenThere, field)
}

// prefix returns the token of the first bits of an encoded number, in levels. The token of level 0 means that the
// field has such a value.
func (user token) prefix(sort, field string, level int, bits uint64) string {
	return user.encode(sort, field, strconv.Itoa(level), strconv.FormatUint(bits, 16))
}

// encodeNumber encodes a number and keeps the order.
func encodeNumber(v float64) uint64 {
	bits := math.Float64bits(v + 0)
	if bits>>63 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	return bits >> (64 - numberBits)
}

// seconds converts a date to a number.
func seconds(at time.Time) float64 { return float64(at.UnixMicro()) / 1e6 }

// tokensOf returns the tokens of an entry, sorted.
func tokensOf(userID string, m memory.Memory) []string {
	user := token(userID)
	set := map[string]bool{user.encode(tokenListed): true}
	number := func(sort, field string, v float64) {
		bits := encodeNumber(v)
		for level := range levels + 1 {
			set[user.prefix(sort, field, level, bits>>(numberBits-level*levelBits))] = true
		}
	}
	for leaf := range m.Leaves() {
		if len(set) > maxTokens {
			break
		}
		set[user.encode(tokenThere, leaf.Field)] = true
		if leaf.Value == nil {
			continue
		}
		if at, ok := memory.DateOf(leaf.Value); ok {
			number(tokenDate, leaf.Field, seconds(at))
		}
		switch v := leaf.Value.(type) {
		case string:
			if set[user.equal(leaf.Field, v)] = true; !leaf.Item {
				set[user.encode(tokenWhole, leaf.Field)] = true
			}
		case float64:
			set[user.equal(leaf.Field, v)] = true
			number(tokenOrder, leaf.Field, v)
		case bool:
			set[user.equal(leaf.Field, v)] = true
		}
	}
	if len(set) > maxTokens {
		return []string{user.encode(tokenListed), user.encode(tokenUnlisted)}
	}
	return slices.Sorted(maps.Keys(set))
}

// rangeTokens returns the tokens that cover the encoded numbers from low to high.
func (user token) rangeTokens(sort, field string, low, high uint64) []string {
	var out []string
	for low <= high {
		span := 0 // levels that the block at low leaves open
		for span < levels {
			size := uint64(1) << ((span + 1) * levelBits)
			if low%size != 0 || low+size-1 > high {
				break
			}
			span++
		}
		out = append(out, user.prefix(sort, field, levels-span, low>>(span*levelBits)))
		low += uint64(1) << (span * levelBits)
	}
	return out
}
