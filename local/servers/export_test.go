package servers

import (
	"context"
	"time"
)

// WritePid records a process as a child of an earlier run.
func WritePid(file string, pid int) error { return writePid(file, pid) }

// StartRewritingRedis starts an embedded Redis that rewrites its journal at other bounds than the usual ones.
func StartRewritingRedis(ctx context.Context, o Options, bytes int64, every time.Duration) (*Redis, error) {
	return startEmbeddedRedis(ctx, o, journalBounds{bytes: bytes, every: every})
}
