// Package redisstore is what the stores in Redis have in common: names of keys, deadlines, errors, and the fence against writes of
// requests that began before an erasure. A store embeds a Space and keeps its own scripts.
package redisstore

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Space is the part of a Redis that belongs to one store. It is safe for concurrent use.
type Space struct {
	// Redis stays the caller's to close. It should heed contexts (ContextTimeoutEnabled).
	Redis goredis.UniversalClient
	// Name begins errors.
	Name string
	// Prefix begins all keys.
	Prefix string
	// Timeout bounds each call to Redis.
	Timeout time.Duration
}

// Key names a key of a tenant. All keys of a tenant are in one slot of a cluster, so that one script can use several.
func (s Space) Key(tenant, rest string) string { return s.Prefix + "{" + tenant + "}:" + rest }

// UserKey names a key of a user by a hash of the user's id.
func (s Space) UserKey(scope memory.Scope, what string) string {
	return s.Key(scope.Tenant, what+":"+Hash(scope.User))
}

// Do calls Redis within the timeout. It returns goredis.Nil as it is; other errors wrap fault.ErrUnavailable. what names the operation.
func (s Space) Do(ctx context.Context, what string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	err := do(ctx)
	if err == nil || errors.Is(err, goredis.Nil) {
		return err
	}
	return fmt.Errorf("%s: %s: %w: %w", s.Name, what, fault.ErrUnavailable, err)
}

// Pipelined sends several commands in one round trip, as Do.
func (s Space) Pipelined(ctx context.Context, what string, commands func(context.Context, goredis.Pipeliner)) error {
	return s.Do(ctx, what, func(ctx context.Context) error {
		_, err := s.Redis.Pipelined(ctx, func(p goredis.Pipeliner) error {
			commands(ctx, p)
			return nil
		})
		return err
	})
}

// Eval runs a script, as Do.
func (s Space) Eval(ctx context.Context, what string, script *goredis.Script, keys []string, args ...any) (*goredis.Cmd, error) {
	var out *goredis.Cmd
	err := s.Do(ctx, what, func(ctx context.Context) error {
		out = script.Run(ctx, s.Redis, keys, args...)
		return out.Err()
	})
	return out, err
}

// hashBytes is how much of a hash names something in a key.
const hashBytes = 18

// Hash stands for a name in a key: the name cannot be read from it.
func Hash(name string) string {
	sum := sha256.Sum256([]byte(name))
	return base64.RawURLEncoding.EncodeToString(sum[:hashBytes])
}

// Digest hashes a list of texts so that different lists have different digests.
func Digest(texts ...string) []byte {
	h := sha256.New()
	for _, t := range texts {
		h.Write([]byte(strconv.Itoa(len(t)) + ":" + t)) // never fails
	}
	return h.Sum(nil)
}

// Day is the length of a day in UTC.
const Day = 24 * time.Hour

// Dates returns the dates on which something was written that is kept for so long, today's first.
func Dates(now time.Time, keep time.Duration) []string {
	out := []string{now.UTC().Format(time.DateOnly)}
	for back := Day; back < keep+Day; back += Day {
		out = append(out, now.UTC().Add(-back).Format(time.DateOnly))
	}
	return out
}

// Or returns a value, or the standard one where it is zero or less.
func Or[T ~int | ~int64](value, standard T) T {
	if value <= 0 {
		return standard
	}
	return value
}
