package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	goredis "github.com/redis/go-redis/v9"
)

const nameRedisServer = "redis-server"

// RedisServer is a running redis-server process. See the package comment for Stop, Kill, Restart, Done and Err.
type RedisServer struct{ *process }

// StartRedisServer starts the redis-server found in PATH (or Options.Binary) on the directory, with its append-only
// file on: acknowledged writes survive a kill -9. Where the program is missing the error is [ErrMissingTool].
func StartRedisServer(ctx context.Context, o Options) (*RedisServer, error) {
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
	p, err := startProcess(ctx, spec{
		name:  nameRedisServer,
		opts:  o,
		roles: []string{roleRedis},
		prepare: func(context.Context, ports) error {
			if err := os.MkdirAll(data, 0o755); err != nil {
				return fmt.Errorf("prepare redis-server: %w", err)
			}
			return nil
		},
		command: func(p ports) command {
			return command{path: binary, dir: data, args: []string{
				"--bind", loopback, "--port", p.text(roleRedis), "--dir", data,
				"--save", "", "--appendonly", "yes", "--daemonize", "no",
			}}
		},
		ready: func(ctx context.Context, p ports) error { return redisAnswers(ctx, p.addr(roleRedis)) },
	})
	if err != nil {
		return nil, err
	}
	return &RedisServer{p}, nil
}

// Addr is the host:port of the server.
func (r *RedisServer) Addr() string { return r.ports.addr(roleRedis) }

// redisAnswers is nil when the server has loaded its data.
func redisAnswers(ctx context.Context, addr string) error {
	client := goredis.NewClient(&goredis.Options{Addr: addr, MaxRetries: -1})
	defer client.Close()
	return client.Ping(ctx).Err()
}
