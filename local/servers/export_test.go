package servers

import (
	"context"
	"time"

	"github.com/mneme-memory/mneme/local/process"
)

// StartRewritingRedis starts an embedded Redis with changed bounds for rewrites of its journal.
func StartRewritingRedis(ctx context.Context, o process.Options, bytes int64, every time.Duration) (*Redis, error) {
	return startEmbeddedRedis(ctx, o, journalBounds{bytes: bytes, every: every})
}
