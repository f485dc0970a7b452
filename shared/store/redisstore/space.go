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

// Erasable is a store with data of users. Implementations are idempotent and safe for concurrent use.
type Erasable interface {
	// Erase removes all data of a user from before the erasure. A store that can identify later data keeps it, however
	// often the same erasure repeats. An empty id is a new erasure each time.
	Erase(ctx context.Context, scope memory.Scope, erasure string) error
	// Count returns the amount of data that Erase would remove. With an empty id it returns the amount of stored data.
	Count(ctx context.Context, scope memory.Scope, erasure string) (int, error)
}

// eraseTries is how often an erasure lists the data again if a request writes in between.
const eraseTries = 10

// EraseListed calls erase until it returns true. erase lists the stored names, and removes them if no write happened
// in between.
func EraseListed(ctx context.Context, what string, erase func() (bool, error)) error {
	for range eraseTries {
		if done, err := erase(); err != nil || done {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: requests write in between: %w", what, fault.ErrUnavailable)
}

// The fence prevents writes after an erasure by requests that began before it. A store counts the erasures of each
// user, and remembers their ids. A request reads the count at its begin. Its writes are refused if the count has
// changed. A repeated erasure finds its id and removes nothing, because all data was written after it.

// keepFence is how long an erasure is remembered: longer than any request, and longer than the repetitions of an
// erasure.
const keepFence = 7 * Day

// ErrErased means that the user was erased after the request began. Nothing was written.
var ErrErased = errors.New("the user was erased meanwhile, and the request stored nothing")

// Token is the number of a store's erasures of a user at the begin of a request.
type Token string

// FenceKey is the key of a user's erasures in this store.
func (s Space) FenceKey(scope memory.Scope) string { return s.UserKey(scope, "erased") }

// Token returns the token of a request that begins now.
func (s Space) Token(ctx context.Context, scope memory.Scope) (Token, error) {
	tokens, err := s.Tokens(ctx, scope.Tenant, scope.User)
	if err != nil {
		return "", err
	}
	return tokens[0], nil
}

// Tokens returns the tokens of a request about several users of a tenant.
func (s Space) Tokens(ctx context.Context, tenant string, users ...string) ([]Token, error) {
	if len(users) == 0 {
		return nil, nil
	}
	read := make([]*goredis.SliceCmd, len(users))
	err := s.Pipelined(ctx, "begin a request", func(ctx context.Context, p goredis.Pipeliner) {
		for i, user := range users {
			read[i] = ReadToken(ctx, p, s.FenceKey(memory.Scope{Tenant: tenant, User: user}))
		}
	})
	if err != nil {
		return nil, err
	}
	out := make([]Token, len(users))
	for i, cmd := range read {
		out[i] = TokenOf(cmd)
	}
	return out, nil
}

// ReadToken adds the read of a token to a pipeline. TokenOf returns the token.
func ReadToken(ctx context.Context, p goredis.Pipeliner, fence string) *goredis.SliceCmd {
	return p.HMGet(ctx, fence, "n")
}

// TokenOf returns the result of ReadToken.
func TokenOf(cmd *goredis.SliceCmd) Token {
	if read := cmd.Val(); len(read) == 1 && read[0] != nil {
		return Token(fmt.Sprint(read[0]))
	}
	return "0"
}

// Erased reports whether the erasure with an id was carried out. It is false for an empty id.
func (s Space) Erased(ctx context.Context, scope memory.Scope, erasure string) (done bool, err error) {
	if erasure == "" {
		return false, nil
	}
	err = s.Do(ctx, "look up an erasure", func(ctx context.Context) (err error) {
		done, err = s.Redis.HExists(ctx, s.FenceKey(scope), FenceField(erasure)).Result()
		return err
	})
	return done, err
}

// FenceField returns the field of one of a user's erasures. It is empty for an empty id.
func FenceField(erasure string) string {
	if erasure == "" {
		return ""
	}
	return "r:" + base64.RawURLEncoding.EncodeToString(Digest(erasure)[:hashBytes])
}

// KeepFenceMs is keepFence in milliseconds, for scripts.
func KeepFenceMs() int64 { return keepFence.Milliseconds() }

// Fence is Lua code for scripts. overtaken(fence, token) is true if the user was erased after the request began.
// erase_once(fence, field, ms) is false if the erasure was carried out before. Otherwise it counts the erasure, and
// the script removes all data.
const Fence = `
local function overtaken(fence, token)
  return (redis.call('HGET', fence, 'n') or '0') ~= token
end
local function erase_once(fence, field, ms)
  if field ~= '' and redis.call('HSETNX', fence, field, '1') == 0 then return false end
  redis.call('HINCRBY', fence, 'n', 1)
  redis.call('PEXPIRE', fence, ms)
  return true
end
`
