package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
)

const (
	nameRedisServer = "redis-server"
	nameSentinel    = "redis-sentinel"
	roleRedis       = "redis"

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
	Servers, Sentinels []*RedisNode
}

// RedisNode is a server or a Sentinel.
type RedisNode struct{ *process.Server }

// Addr is the host:port of the node.
func (r *RedisNode) Addr() string { return r.AddrOf(roleRedis) }

// StartRedisSentinels starts the six processes with the redis-server in PATH. If the program is missing, the error is
// [process.ErrMissingTool].
func StartRedisSentinels(ctx context.Context, o process.Options) (_ *RedisSentinels, err error) {
	binary, err := process.FindTool(nameRedisServer, "install Redis 7 or later")
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
	r.Servers, err = startNodes(data, func(i int, n node) (*RedisNode, error) {
		config := fmt.Sprintf("bind %s\nport %d\ndir %q\nsave \"\"\nappendonly yes\nappendfsync everysec\n"+
			"min-replicas-to-write 1\nmin-replicas-max-lag 10\nrepl-diskless-sync-delay 0\n",
			process.Loopback, n.ports[roleRedis], n.Dir)
		if i > 0 {
			config += fmt.Sprintf("replicaof %s %d\n", process.Loopback, first[roleRedis])
		}
		return startConfigured(ctx, binary, nameRedisServer, n, config)
	})
	if err != nil {
		return nil, err
	}
	r.Sentinels, err = startNodes(watching, func(_ int, n node) (*RedisNode, error) {
		config := fmt.Sprintf("bind %s\n"+
			"port %d\n"+
			"dir %q\n"+
			"sentinel monitor %s %s %d 2\n"+
			"sentinel down-after-milliseconds %[4]s %[7]d\n"+
			"sentinel failover-timeout %[4]s 10000\n",
			process.Loopback, n.ports[roleRedis], n.Dir, SentinelMaster, process.Loopback, first[roleRedis],
			sentinelDown.Milliseconds())
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
func startConfigured(
	ctx context.Context, binary, name string, n node, config string, args ...string,
) (*RedisNode, error) {
	file := filepath.Join(n.Dir, name+".conf")
	s, err := process.StartChild(ctx, name, n.Options, process.Spec{
		Roles: []string{roleRedis},
		Prepare: func(context.Context, process.Ports) error {
			if exists(file) {
				return nil
			}
			return os.WriteFile(file, []byte(config), 0o600)
		},
		Command: func(process.Ports) process.Command {
			return process.Command{Path: binary, Dir: n.Dir, Args: append([]string{file}, args...)}
		},
		Ready: func(ctx context.Context, p process.Ports) error { return servers.PingRedis(ctx, p.Addr(roleRedis)) },
	})
	if err != nil {
		return nil, err
	}
	return &RedisNode{s}, nil
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
	return each(append(r.Sentinels, r.Servers...), func(_ int, s *RedisNode) error { return s.Stop(ctx) })
}
