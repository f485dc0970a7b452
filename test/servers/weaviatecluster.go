package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
)

// lookEvery is the pause between two searches for running nodes.
const lookEvery = 50 * time.Millisecond

// StartWeaviateCluster starts the nodes of a cluster, each in a separate folder.
func StartWeaviateCluster(ctx context.Context, o process.Options, count int) ([]*servers.Weaviate, error) {
	if o.Binary != "" {
		return nil, errors.New("clusters run the cached build: Options.Binary must be empty")
	}
	binary, err := servers.Binary(ctx, o.Log, servers.NameWeaviate)
	if err != nil {
		return nil, err
	}
	nodes, err := placeNodes(o, servers.NameWeaviate, count, servers.WeaviateSpec(binary, "", "").Roles...)
	if err != nil {
		return nil, err
	}
	var raft []string
	for i, n := range nodes {
		raft = append(raft, fmt.Sprintf("node%d:%d", i+1, n.ports[servers.RoleRaft]))
	}
	return startNodes(nodes, func(i int, n node) (*servers.Weaviate, error) {
		spec := servers.WeaviateSpec(binary, n.Dir, fmt.Sprint("node", i+1))
		// The first node starts alone and the others join it. A node that comes back joins any running node.
		var there []string
		spec.Prepare = func(ctx context.Context, _ process.Ports) (err error) {
			there, err = running(ctx, nodes, i)
			return err
		}
		alone := spec.Command
		spec.Command = func(p process.Ports) process.Command {
			c := alone(p)
			c.Env = append(c.Env, "CLUSTER_IN_LOCALHOST=true", "CLUSTER_JOIN="+strings.Join(there, ","),
				"RAFT_JOIN="+strings.Join(raft, ","), fmt.Sprint("RAFT_BOOTSTRAP_EXPECT=", count),
				// By default, replicas are compared every half minute, and younger data waits for the next
				// comparison.
				"ASYNC_REPLICATION_FREQUENCY=5s", "ASYNC_REPLICATION_PROPAGATION_DELAY=5s")
			return c
		}
		s, err := process.StartChild(ctx, servers.NameWeaviate, n.Options, spec)
		if err != nil {
			return nil, err
		}
		return &servers.Weaviate{Server: s}, nil
	})
}

// running returns the gossip addresses of the running nodes, without one node. Unless that node is the first, it waits
// for another one.
func running(ctx context.Context, nodes []node, except int) (there []string, err error) {
	for {
		for i, n := range nodes {
			if addr := n.ports.Addr(servers.RoleGossip); i != except && listens(ctx, addr) {
				there = append(there, addr)
			}
		}
		if except == 0 || len(there) > 0 {
			return there, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lookEvery):
		}
	}
}

func listens(ctx context.Context, addr string) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	return err == nil && conn.Close() == nil
}
