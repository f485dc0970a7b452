package servers

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// Weaviate is a running Weaviate server: one node, anonymous access, no vectorizer modules. See the package comment
// for Stop, Kill, Restart, Done and Err.
type Weaviate struct{ *server }

// Ports of a Weaviate node. All but the first two connect nodes. On one machine, a node's RPC port must follow its
// raft port.
const (
	roleHTTP     = "http"
	roleGRPC     = "grpc"
	roleGossip   = "gossip"
	roleData     = "data"
	roleRaft     = "raft"
	roleRaftRPC  = "raft-rpc"
	roleProfiler = "profiler"
)

// BackupFolder is the folder of "filesystem" backups in a Weaviate's directory.
const BackupFolder = "backups"

var weaviateRoles = []string{roleHTTP, roleGRPC, roleGossip, roleData, roleRaft, roleRaftRPC, roleProfiler}

// StartWeaviate starts Weaviate on the directory and returns when it is ready for requests, in 2-7 seconds. The very
// first call builds the server, which takes minutes. All its ports are on loopback.
func StartWeaviate(ctx context.Context, o Options) (*Weaviate, error) {
	o, err := o.prepare()
	if err != nil {
		return nil, err
	}
	binary, err := o.binary(ctx, NameWeaviate)
	if err != nil {
		return nil, err
	}
	return startWeaviate(ctx, binary, o, nil, func(p ports) []string {
		return weaviateEnv(filepath.Join(o.Dir, NameWeaviate), "node1", p)
	})
}

// StartWeaviateCluster starts the nodes of a cluster, each in a separate folder.
func StartWeaviateCluster(ctx context.Context, o Options, count int) ([]*Weaviate, error) {
	binary, err := o.binary(ctx, NameWeaviate)
	if err != nil {
		return nil, err
	}
	nodes, err := placeNodes(o, NameWeaviate, count, weaviateRoles...)
	if err != nil {
		return nil, err
	}
	var raft []string
	for i, n := range nodes {
		raft = append(raft, fmt.Sprintf("node%d:%d", i+1, n.ports[roleRaft]))
	}
	return startNodes(nodes, func(i int, n node) (*Weaviate, error) {
		// The first node starts alone and the others join it. A node that comes back joins any running node.
		var there []string
		look := func(ctx context.Context, _ ports) error {
			for there = nil; ; {
				for k, other := range nodes {
					if k != i && listens(ctx, other.ports.addr(roleGossip)) {
						there = append(there, other.ports.addr(roleGossip))
					}
				}
				if i == 0 || len(there) > 0 {
					return nil
				}
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(probeEvery):
				}
			}
		}
		return startWeaviate(ctx, binary, n.Options, look, func(p ports) []string {
			return append(weaviateEnv(filepath.Join(n.Dir, NameWeaviate), fmt.Sprint("node", i+1), p),
				"CLUSTER_IN_LOCALHOST=true", "CLUSTER_JOIN="+strings.Join(there, ","),
				"RAFT_JOIN="+strings.Join(raft, ","), fmt.Sprint("RAFT_BOOTSTRAP_EXPECT=", count),
				// By default, replicas are compared every half minute, and younger data waits for the next
				// comparison.
				"ASYNC_REPLICATION_FREQUENCY=5s", "ASYNC_REPLICATION_PROPAGATION_DELAY=5s")
		})
	})
}

func listens(ctx context.Context, addr string) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	return err == nil && conn.Close() == nil
}

func startWeaviate(
	ctx context.Context, binary string, o Options, prepare func(context.Context, ports) error, env func(ports) []string,
) (*Weaviate, error) {
	s, err := startChild(ctx, NameWeaviate, o, spec{
		prepare: prepare,
		command: func(p ports) command {
			return command{
				path: binary,
				args: []string{"--host", loopback, "--port", p.text(roleHTTP), "--scheme", "http"},
				env:  env(p),
				dir:  o.Dir,
			}
		},
		ready: func(ctx context.Context, p ports) error {
			return getOK(ctx, "http://"+p.addr(roleHTTP)+"/v1/.well-known/ready", nil)
		},
	}, weaviateRoles...)
	if err != nil {
		return nil, err
	}
	return &Weaviate{s}, nil
}

// HTTP is the host:port of the REST and GraphQL interface.
func (w *Weaviate) HTTP() string { return w.addr(roleHTTP) }

// GRPC is the host:port of the gRPC interface.
func (w *Weaviate) GRPC() string { return w.addr(roleGRPC) }

// binary returns the configured server, or the built one.
func (o Options) binary(ctx context.Context, name string) (string, error) {
	if o.Binary != "" {
		return o.Binary, nil
	}
	return Binary(ctx, o.Log, name)
}

// weaviateEnv configures one small node that starts fast. Short timeouts are right for a cluster of one node. An
// early flush of the memtable keeps fresh objects fast to search, and tenants need few file descriptors.
func weaviateEnv(data, name string, p ports) []string {
	return []string{
		"PERSISTENCE_DATA_PATH=" + data,
		"AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED=true",
		"DISABLE_TELEMETRY=true",
		"DEFAULT_VECTORIZER_MODULE=none",
		"ENABLE_MODULES=backup-filesystem",
		"BACKUP_FILESYSTEM_PATH=" + filepath.Join(filepath.Dir(data), BackupFolder),
		"AUTOSCHEMA_ENABLED=false",
		"LOG_LEVEL=warning",
		"QUERY_DEFAULTS_LIMIT=25",

		"CLUSTER_HOSTNAME=" + name,
		"CLUSTER_ADVERTISE_ADDR=" + loopback,
		"CLUSTER_BIND_ADDR=" + loopback,
		"CLUSTER_GOSSIP_BIND_PORT=" + p.text(roleGossip),
		"CLUSTER_DATA_BIND_PORT=" + p.text(roleData),
		"RAFT_PORT=" + p.text(roleRaft),
		"RAFT_INTERNAL_RPC_PORT=" + p.text(roleRaftRPC),
		"RAFT_BOOTSTRAP_EXPECT=1",
		"RAFT_TIMEOUTS_MULTIPLIER=1",
		"GRPC_PORT=" + p.text(roleGRPC),
		"GO_PROFILING_DISABLE=true",
		"GO_PROFILING_PORT=" + p.text(roleProfiler),

		"PERSISTENCE_MEMTABLES_FLUSH_DIRTY_AFTER_SECONDS=3",
		"PERSISTENCE_MAX_REUSE_WAL_SIZE=0",

		// Block-max search of this version loses unflushed matches once a result is full (weaviate/weaviate#11780). A
		// collection's creation fixes the choice.
		"USE_INVERTED_SEARCHABLE=false",
	}
}

// getOK is nil when a GET of the address answers 200. trust is for https addresses.
func getOK(ctx context.Context, url string, trust *tls.Config) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: trust}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	return nil
}
