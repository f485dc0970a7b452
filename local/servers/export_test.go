package servers

import (
	"context"
	"time"
)

// WritePid records a process as a child of an earlier run.
func WritePid(file string, pid int) error { return writePid(file, pid) }

// StartRewritingRedis starts an embedded Redis with changed bounds for rewrites of its journal.
func StartRewritingRedis(ctx context.Context, o Options, bytes int64, every time.Duration) (*Redis, error) {
	return startEmbeddedRedis(ctx, o, journalBounds{bytes: bytes, every: every})
}
