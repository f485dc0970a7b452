// Package access identifies callers and their permissions: API keys with scopes. A key belongs to a tenant, and
// perhaps to one user of the tenant. The package is pure. Package shared/store/directory stores the keys.
package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// ErrForbidden says that a known caller lacks the permission for its call. Errors that wrap it name the missing
// permission.
var ErrForbidden = errors.New("not allowed")

// Scope is a kind of call that a key may make.
type Scope string

// The scopes.
const (
	// Ingest adds turns.
	Ingest Scope = "ingest"
	// Recall requests profiles and answers, and reports citations.
	Recall Scope = "recall"
	// Read reads memories, their history, working memory, the core block, and streams of changes.
	Read Scope = "read"
	// Erase changes and removes memories, and erases, exports and imports users.
	Erase Scope = "erase"
	// Admin manages the tenant's keys, webhooks (with Read), dead letters and weights.
	Admin Scope = "admin"
)

// Scopes returns all scopes.
func Scopes() []Scope { return []Scope{Ingest, Recall, Read, Erase, Admin} }

// RevokedWithin is the maximum time for which a service still accepts a revoked key. It applies to new calls and open
// streams. It holds while the directory of keys is reachable. OpenAPI, the command line and the documents state it.
const RevokedWithin = 5 * time.Second

// Limits of a key.
const (
	MaxNameBytes = 128
	idBytes      = 10 // random bytes in a key's public id
	secretBytes  = 20 // random bytes in its secret
	maxYear      = 9999
)

// Hash is the SHA-256 of a key's text. Services store only the hash. Keys are long and random, so a plain hash is
// enough.
type Hash = [sha256.Size]byte

// HashOf is the hash of a key's text.
func HashOf(text string) Hash { return sha256.Sum256([]byte(text)) }

// Key is an API key without its secret.
type Key struct {
	// ID is public. It is the beginning of the key's text: mneme_ID_SECRET.
	ID string
	// Hash is the hash of the key's text, for finding the key.
	Hash Hash
	// Tenant is the tenant that owns the key.
	Tenant string
	// User is the end user that the key is limited to, such as the user of a browser. It is empty for all users of
	// the tenant.
	User string
	// Name is a display name. It may be empty.
	Name string
	// Scopes are the kinds of calls that the key may make.
	Scopes []Scope
	// CreatedAt, ExpiresAt and LastUsedAt are in UTC. ExpiresAt is zero for a key without an expiry. LastUsedAt is
	// zero for an unused key.
	CreatedAt, ExpiresAt, LastUsedAt time.Time
}

var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewKey makes a key and its text. The text is shown once and not stored. The argument k has the tenant and the
// optional fields. A key without scopes gets all scopes but Admin. For a single user it gets all but Admin and
// Erase. A terminal error names the fault of k.
func NewKey(k Key, now time.Time) (Key, string, error) {
	var chance [idBytes + secretBytes]byte
	if _, err := rand.Read(chance[:]); err != nil {
		return Key{}, "", fmt.Errorf("API key: %w", err)
	}
	k.ID, k.CreatedAt, k.LastUsedAt = encoding.EncodeToString(chance[:idBytes]), now.UTC().Truncate(time.Second),
		time.Time{}
	if len(k.Scopes) == 0 {
		k.Scopes = []Scope{Ingest, Recall, Read}
		if k.User == "" {
			k.Scopes = append(k.Scopes, Erase)
		}
	}
	if err := k.check(now); err != nil {
		return Key{}, "", err
	}
	text := "mneme_" + k.ID + "_" + encoding.EncodeToString(chance[idBytes:])
	k.Hash = HashOf(text)
	return k, text, nil
}

func (k Key) check(now time.Time) error {
	if err := memory.ValidTenant(k.Tenant); err != nil {
		return err
	}
	if k.User != "" {
		if err := memory.ValidNewUser(k.User); err != nil {
			return err
		}
	}
	if k.Name != "" {
		if err := memory.ValidText("name", k.Name, MaxNameBytes); err != nil {
			return err
		}
	}
	for i, s := range k.Scopes {
		if !slices.Contains(Scopes(), s) {
			return fault.Terminal("scopes", "has %q, want some of %s", string(s), names(Scopes()))
		}
		if slices.Contains(k.Scopes[:i], s) {
			return fault.Terminal("scopes", "has %q twice", string(s))
		}
	}
	if k.User != "" && slices.Contains(k.Scopes, Admin) {
		return fault.Terminal("scopes", "has %q, which a key for a single user cannot have", string(Admin))
	}
	if !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(now) {
		return fault.Terminal("expires_at", "is not in the future")
	}
	if k.ExpiresAt.UTC().Year() > maxYear {
		return fault.Terminal("expires_at", "is after the year %d", maxYear)
	}
	return nil
}

// Expired reports whether the key has expired.
func (k Key) Expired(now time.Time) bool { return !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt) }

func names(scopes []Scope) string {
	out := make([]string, len(scopes))
	for i, s := range scopes {
		out[i] = string(s)
	}
	return strings.Join(out, ", ")
}

// Principal is the caller of an operation: a tenant, with one of its keys.
type Principal struct {
	Tenant tenant.Tenant
	// KeyID is the public id of the key. For a key in the tenants file it is derived from the hash.
	KeyID string
	// User is the end user that the key is limited to. It is empty for all users.
	User   string
	Scopes []Scope
}

// Allow returns nil where the principal may make calls of a scope for a user. An empty user means the whole tenant.
// Otherwise it returns an error that wraps ErrForbidden.
func (p Principal) Allow(s Scope, user string) error {
	if !slices.Contains(p.Scopes, s) {
		return fmt.Errorf("%w: the API key lacks the scope %s", ErrForbidden, s)
	}
	if p.User != "" && p.User != user {
		return fmt.Errorf("%w: the API key is for another user", ErrForbidden)
	}
	return nil
}

type contextKey struct{}

// NewContext returns ctx with the caller.
func NewContext(ctx context.Context, p Principal) context.Context {
	return context.WithValue(tenant.NewContext(ctx, p.Tenant), contextKey{}, p)
}

// FromContext returns the caller. The result ok is false for an unauthenticated call.
func FromContext(ctx context.Context) (p Principal, ok bool) {
	p, ok = ctx.Value(contextKey{}).(Principal)
	return p, ok
}
