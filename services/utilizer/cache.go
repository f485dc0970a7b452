package utilizer

import (
	"context"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2/expirable"

	"github.com/mneme-memory/mneme/shared/bank"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Cache keeps what the bank answered, per user, until the user's memory changes. The time to
// live bounds how long an answer outlives a change whose announcement is late.
type Cache struct {
	users *lru.LRU[string, *userCache]
}

type userCache struct {
	mu      sync.Mutex
	answers map[asked][]bank.Scored
}

// asked is what an answer of the bank depends on. Whether a query is about the past depends on the day it is asked on.
type asked struct {
	query      string
	candidates int
	past       bool
}

// maxQueriesPerUser bounds a user's part of the cache.
const maxQueriesPerUser = 32

// NewCache makes a cache for so many users; zero users or time to live means no caching.
func NewCache(users int, ttl time.Duration) *Cache {
	if users <= 0 || ttl <= 0 {
		return &Cache{}
	}
	return &Cache{users: lru.NewLRU[string, *userCache](users, nil, ttl)}
}

// Search returns the cached answer, or asks and keeps it. Errors are not kept. An answer that was on its
// way while the user was dropped is returned, but not kept.
func (c *Cache) Search(ctx context.Context, scope memory.Scope, q Request, past bool, ask func(context.Context) ([]bank.Scored, error)) ([]bank.Scored, error) {
	if c.users == nil {
		return ask(ctx)
	}
	key := scope.Key()
	u, ok := c.users.Get(key)
	if !ok {
		u = &userCache{answers: map[asked][]bank.Scored{}}
		c.users.Add(key, u)
	}
	question := asked{query: q.Query, candidates: q.Candidates, past: past}
	u.mu.Lock()
	found, hit := u.answers[question]
	u.mu.Unlock()
	if hit {
		return found, nil
	}
	found, err := ask(ctx)
	if err != nil {
		return nil, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.answers) >= maxQueriesPerUser {
		clear(u.answers)
	}
	u.answers[question] = found
	return found, nil
}

// Drop forgets a user.
func (c *Cache) Drop(scope memory.Scope) {
	if c.users != nil {
		c.users.Remove(scope.Key())
	}
}
