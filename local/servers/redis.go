package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mneme-memory/mneme/local/process"
)

const (
	nameRedis       = "redis"
	nameRedisServer = "redis-server"
	roleRedis       = "redis"
)

// Redis is a running Redis server.
type Redis struct {
	*process.Server
	// appendOnly is the folder with the append-only file of a redis-server; empty for the embedded server.
	appendOnly string
	// log receives a line when that file cannot be rewritten.
	log io.Writer
}

// Addr is the host:port of the server.
func (r *Redis) Addr() string { return r.AddrOf(roleRedis) }

// StartRedis starts the redis-server in PATH, or the embedded one without it. A directory stays with its first
// server, because neither server reads the other's data.
func StartRedis(ctx context.Context, o process.Options) (*Redis, error) {
	if exists(filepath.Join(o.Dir, journalFile)) {
		return StartEmbeddedRedis(ctx, o)
	}
	r, err := StartRedisServer(ctx, o)
	if errors.Is(err, process.ErrMissingTool) && !exists(filepath.Join(o.Dir, nameRedisServer)) {
		return StartEmbeddedRedis(ctx, o)
	}
	return r, err
}

// StartRedisServer starts the redis-server in PATH (or Options.Binary) on the directory. Its append-only file is
// synced before each answer, so acknowledged writes survive a kill -9. A sync per second would not be enough: during
// a slow sync, Redis acknowledges writes that it has not handed to the system. If the program is missing, the error
// is [process.ErrMissingTool].
func StartRedisServer(ctx context.Context, o process.Options) (*Redis, error) {
	o, err := o.Prepare()
	if err != nil {
		return nil, err
	}
	binary := o.Binary
	if binary == "" {
		if binary, err = process.FindTool(nameRedisServer, "install Redis 7 or later"); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(o.Dir, nameRedisServer)
	s, err := process.StartChild(ctx, nameRedisServer, o, process.Spec{
		Roles: []string{roleRedis},
		Prepare: func(context.Context, process.Ports) error {
			if err := os.MkdirAll(data, 0o755); err != nil {
				return fmt.Errorf("prepare redis-server: %w", err)
			}
			return nil
		},
		Command: func(p process.Ports) process.Command {
			return process.Command{Path: binary, Dir: data, Args: []string{
				"--bind", process.Loopback, "--port", p.Text(roleRedis), "--dir", data,
				"--save", "", "--appendonly", "yes", "--appendfsync", "always", "--daemonize", "no",
			}}
		},
		Ready: func(ctx context.Context, p process.Ports) error { return PingRedis(ctx, p.Addr(roleRedis)) },
	})
	if err != nil {
		return nil, err
	}
	return &Redis{Server: s, appendOnly: filepath.Join(data, "appendonlydir"), log: o.Log}, nil
}

// PingRedis returns nil when the Redis at an address answers. A driver's client would print the errors of failed
// attempts.
func PingRedis(ctx context.Context, addr string) error { return sendRedis(ctx, addr, "PING", "+PONG") }
