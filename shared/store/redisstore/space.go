// Package redisstore is the common part of the stores in Redis: names of keys, timeouts, errors, and the fence
// against writes of requests that began before an erasure. A store embeds a Space and has its own scripts.
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
	// Redis is the client. The caller closes it. It should respect contexts (ContextTimeoutEnabled).
	Redis goredis.UniversalClient
	// Name is the prefix of errors.
	Name string
	// Prefix is the prefix of all keys.
	Prefix string
	// Timeout is the timeout of each call to Redis.
	Timeout time.Duration
}

// Key returns a key of a tenant. All keys of a tenant are in one slot of a cluster, so that one script can use
// several.
func (s Space) Key(tenant, rest string) string { return s.Prefix + "{" + tenant + "}:" + rest }

// UserKey returns a key of a user with a hash of the user's id.
func (s Space) UserKey(scope memory.Scope, what string) string {
	return s.Key(scope.Tenant, what+":"+Hash(scope.User))
}

// Do calls Redis within the timeout. It returns goredis.Nil unchanged. Other errors wrap fault.ErrUnavailable. what
// names the operation.
func (s Space) Do(ctx context.Context, what string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	err := do(ctx)
	if err == nil || errors.Is(err, goredis.Nil) {
		return err
	}
	return fmt.Errorf("%s: %s: %w: %w", s.Name, what, fault.ErrUnavailable, err)
}

// Pipelined sends several commands in one round trip. Its timeout and errors are as in Do.
func (s Space) Pipelined(ctx context.Context, what string, commands func(context.Context, goredis.Pipeliner)) error {
	return s.Do(ctx, what, func(ctx context.Context) error {
		_, err := s.Redis.Pipelined(ctx, func(p goredis.Pipeliner) error {
			commands(ctx, p)
			return nil
		})
		return err
	})
}

// Members returns the members of a set. Its timeout and errors are as in Do.
func (s Space) Members(ctx context.Context, what, key string) (members []string, err error) {
	err = s.Do(ctx, what, func(ctx context.Context) (err error) {
		members, err = s.Redis.SMembers(ctx, key).Result()
		return err
	})
	return members, err
}

// Fields returns a hash. Its timeout and errors are as in Do.
func (s Space) Fields(ctx context.Context, what, key string) (fields map[string]string, err error) {
	err = s.Do(ctx, what, func(ctx context.Context) (err error) {
		fields, err = s.Redis.HGetAll(ctx, key).Result()
		return err
	})
	return fields, err
}

// Field returns a field of a hash. Its timeout and errors are as in Do.
func (s Space) Field(ctx context.Context, what, key, field string) (value string, err error) {
	err = s.Do(ctx, what, func(ctx context.Context) (err error) {
		value, err = s.Redis.HGet(ctx, key, field).Result()
		return err
	})
	return value, err
}

// Eval runs a script. Its timeout and errors are as in Do.
func (s Space) Eval(
	ctx context.Context, what string, script *goredis.Script, keys []string, args ...any,
) (*goredis.Cmd, error) {
	var out *goredis.Cmd
	err := s.Do(ctx, what, func(ctx context.Context) error {
		out = script.Run(ctx, s.Redis, keys, args...)
		return out.Err()
	})
	return out, err
}

// hashBytes is the number of hash bytes in a key.
const hashBytes = 18

// Hash replaces a name in a key. The hash does not reveal the name.
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

// Dates returns the dates of writes that are still kept, today's first.
func Dates(now time.Time, keep time.Duration) []string {
	out := []string{now.UTC().Format(time.DateOnly)}
	for back := Day; back < keep+Day; back += Day {
		out = append(out, now.UTC().Add(-back).Format(time.DateOnly))
	}
	return out
}

// Or returns a value, or the standard value if it is zero or less.
func Or[T ~int | ~int64](value, standard T) T {
	if value <= 0 {
		return standard
	}
	return value
}
