package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	nameSentinel = "redis-sentinel"

	// SentinelMaster is the master's name in the Sentinels.
	SentinelMaster = "mneme"
	// sentinelDown is the time without an answer after which the Sentinels count a server as dead.
	sentinelDown = 3 * time.Second
)

// RedisSentinels is Redis as operators run it without a cluster. It has three servers, one master with two replicas,
// and three Sentinels. The Sentinels promote a replica when the master dies. The first server is the first master. A
// write is acknowledged before it is copied. But the master accepts no write without any replica
// (min-replicas-to-write).
type RedisSentinels struct {
	Servers, Sentinels []*Redis
}

// StartRedisSentinels starts the six processes with the redis-server in PATH. If the program is missing, the error is
// [ErrMissingTool].
func StartRedisSentinels(ctx context.Context, o Options) (_ *RedisSentinels, err error) {
	binary, err := findTool(nameRedisServer, "install Redis 7 or later")
	if err != nil {
		return nil, err
	}
	data, err := placeNodes(o, nameRedisServer, redisNodes, roleRedis)
	if err != nil {
		return nil, err
	}
	watching, err := placeNodes(o, nameSentinel, redisNodes, roleRedis)
	if err != nil {
		return nil, err
	}
	first := data[0].ports
	r := &RedisSentinels{}
	r.Servers, err = startNodes(data, func(i int, n node) (*Redis, error) {
		config := fmt.Sprintf("bind %s\nport %d\ndir %q\nsave \"\"\nappendonly yes\nappendfsync everysec\n"+
			"min-replicas-to-write 1\nmin-replicas-max-lag 10\nrepl-diskless-sync-delay 0\n",
			loopback, n.ports[roleRedis], n.Dir)
		if i > 0 {
			config += fmt.Sprintf("replicaof %s %d\n", loopback, first[roleRedis])
		}
		return startConfigured(ctx, binary, nameRedisServer, n, config)
	})
	if err != nil {
		return nil, err
	}
	r.Sentinels, err = startNodes(watching, func(_ int, n node) (*Redis, error) {
		config := fmt.Sprintf("bind %s\n"+
			"port %d\n"+
			"dir %q\n"+
			"sentinel monitor %s %s %d 2\n"+
			"sentinel down-after-milliseconds %[4]s %[7]d\n"+
			"sentinel failover-timeout %[4]s 10000\n",
			loopback, n.ports[roleRedis], n.Dir, SentinelMaster, loopback, first[roleRedis], sentinelDown.Milliseconds())
		return startConfigured(ctx, binary, nameSentinel, n, config, "--sentinel")
	})
	if err != nil {
		return nil, errors.Join(err, r.Stop(ctx))
	}
	return r, nil
}

// redisNodes is the number of servers, and the number of Sentinels.
const redisNodes = 3

// startConfigured starts a server with a settings file. The server writes the Sentinels' changes to this file.
func startConfigured(ctx context.Context, binary, name string, n node, config string, args ...string) (*Redis, error) {
	file := filepath.Join(n.Dir, name+".conf")
	s, err := startChild(ctx, name, n.Options, spec{
		prepare: func(context.Context, ports) error {
			if exists(file) {
				return nil
			}
			return os.WriteFile(file, []byte(config), 0o600)
		},
		command: func(ports) command { return command{path: binary, dir: n.Dir, args: append([]string{file}, args...)} },
		ready:   func(ctx context.Context, p ports) error { return ping(ctx, p.addr(roleRedis)) },
	}, roleRedis)
	if err != nil {
		return nil, err
	}
	return &Redis{server: s}, nil
}

// Addrs are the addresses of the Sentinels.
func (r *RedisSentinels) Addrs() []string {
	var out []string
	for _, s := range r.Sentinels {
		out = append(out, s.Addr())
	}
	return out
}

// Stop ends all processes.
func (r *RedisSentinels) Stop(ctx context.Context) error {
	return each(append(r.Sentinels, r.Servers...), func(_ int, s *Redis) error { return s.Stop(ctx) })
}
