package redisstore

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/memory"
)

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
