package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const (
	nameRedis       = "redis"
	nameRedisServer = "redis-server"
	roleRedis       = "redis"
)

// Redis is a running Redis server. See the package comment for Stop, Kill, Restart, Done and Err.
type Redis struct {
	*server
	// appendOnly is the folder with the append-only file of a redis-server; empty for the embedded server.
	appendOnly string
}

// Addr is the host:port of the server.
func (r *Redis) Addr() string { return r.addr(roleRedis) }

// StartRedis starts the redis-server in PATH, or the embedded one without it. A directory stays with its first
// server, because neither server reads the other's data.
func StartRedis(ctx context.Context, o Options) (*Redis, error) {
	if exists(o.file(nameRedis, journalSuffix)) {
		return StartEmbeddedRedis(ctx, o)
	}
	r, err := StartRedisServer(ctx, o)
	if errors.Is(err, ErrMissingTool) && !exists(filepath.Join(o.Dir, nameRedisServer)) {
		return StartEmbeddedRedis(ctx, o)
	}
	return r, err
}

// StartRedisServer starts the redis-server in PATH (or Options.Binary) on the directory. Its append-only file is
// synced before each answer, so acknowledged writes survive a kill -9. A sync per second would not be enough: during
// a slow sync, Redis acknowledges writes that it has not handed to the system. If the program is missing, the error
// is [ErrMissingTool].
func StartRedisServer(ctx context.Context, o Options) (*Redis, error) {
	o, err := o.prepare()
	if err != nil {
		return nil, err
	}
	binary := o.Binary
	if binary == "" {
		if binary, err = findTool("redis-server", "install Redis 7 or later"); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(o.Dir, nameRedisServer)
	s, err := startChild(ctx, nameRedisServer, o, spec{
		prepare: func(context.Context, ports) error {
			if err := os.MkdirAll(data, 0o755); err != nil {
				return fmt.Errorf("prepare redis-server: %w", err)
			}
			return nil
		},
		command: func(p ports) command {
			return command{path: binary, dir: data, args: []string{
				"--bind", loopback, "--port", p.text(roleRedis), "--dir", data,
				"--save", "", "--appendonly", "yes", "--appendfsync", "always", "--daemonize", "no",
			}}
		},
		ready: func(ctx context.Context, p ports) error { return ping(ctx, p.addr(roleRedis)) },
	}, roleRedis)
	if err != nil {
		return nil, err
	}
	return &Redis{server: s, appendOnly: filepath.Join(data, "appendonlydir")}, nil
}

// ping checks that a Redis answers. A driver's client would print the errors of failed attempts.
func ping(ctx context.Context, addr string) error { return sendRedis(ctx, addr, "PING", "+PONG") }
