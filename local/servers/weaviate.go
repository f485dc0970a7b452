package servers

import (
	"context"
	"path/filepath"

	"github.com/mneme-memory/mneme/local/process"
)

// Weaviate is a running Weaviate server: one node, anonymous access, no vectorizer modules.
type Weaviate struct{ *process.Server }

// Ports of a Weaviate node. All but the first two connect nodes. On one machine, a node's RPC port must follow its
// raft port.
const (
	roleHTTP = "http"
	roleGRPC = "grpc"
	// RoleGossip names the port by which nodes find each other.
	RoleGossip = "gossip"
	roleData   = "data"
	// RoleRaft names the port by which nodes agree on collections.
	RoleRaft     = "raft"
	roleRaftRPC  = "raft-rpc"
	roleProfiler = "profiler"
)

// BackupFolder is the folder of "filesystem" backups in a Weaviate's directory.
const BackupFolder = "backups"

// StartWeaviate starts Weaviate on the directory and returns when it is ready for requests, in 2-7 seconds. The very
// first call builds the server, which takes minutes. All its ports are on loopback.
func StartWeaviate(ctx context.Context, o process.Options) (*Weaviate, error) {
	o, err := o.Prepare()
	if err != nil {
		return nil, err
	}
	binary, err := programOf(ctx, o, NameWeaviate)
	if err != nil {
		return nil, err
	}
	s, err := process.StartChild(ctx, NameWeaviate, o, WeaviateSpec(binary, o.Dir, "node1"))
	if err != nil {
		return nil, err
	}
	return &Weaviate{s}, nil
}

// WeaviateSpec describes a single node with a name and with its data in a directory. A node of a cluster needs more
// settings.
func WeaviateSpec(binary, dir, node string) process.Spec {
	return process.Spec{
		Roles: []string{roleHTTP, roleGRPC, RoleGossip, roleData, RoleRaft, roleRaftRPC, roleProfiler},
		Command: func(p process.Ports) process.Command {
			return process.Command{
				Path: binary,
				Args: []string{"--host", process.Loopback, "--port", p.Text(roleHTTP), "--scheme", "http"},
				Env:  weaviateEnv(filepath.Join(dir, NameWeaviate), node, p),
				Dir:  dir,
			}
		},
		Ready: func(ctx context.Context, p process.Ports) error {
			return process.GetOK(ctx, "http://"+p.Addr(roleHTTP)+"/v1/.well-known/ready", nil)
		},
	}
}

// HTTP is the host:port of the REST and GraphQL interface.
func (w *Weaviate) HTTP() string { return w.AddrOf(roleHTTP) }

// GRPC is the host:port of the gRPC interface.
func (w *Weaviate) GRPC() string { return w.AddrOf(roleGRPC) }

// weaviateEnv configures one small node that starts fast. Short timeouts are right for a cluster of one node. An
// early flush of the memtable keeps fresh objects fast to search, and tenants need few file descriptors.
func weaviateEnv(data, name string, p process.Ports) []string {
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
		"CLUSTER_ADVERTISE_ADDR=" + process.Loopback,
		"CLUSTER_BIND_ADDR=" + process.Loopback,
		"CLUSTER_GOSSIP_BIND_PORT=" + p.Text(RoleGossip),
		"CLUSTER_DATA_BIND_PORT=" + p.Text(roleData),
		"RAFT_PORT=" + p.Text(RoleRaft),
		"RAFT_INTERNAL_RPC_PORT=" + p.Text(roleRaftRPC),
		"RAFT_BOOTSTRAP_EXPECT=1",
		"RAFT_TIMEOUTS_MULTIPLIER=1",
		"GRPC_PORT=" + p.Text(roleGRPC),
		"GO_PROFILING_DISABLE=true",
		"GO_PROFILING_PORT=" + p.Text(roleProfiler),

		"PERSISTENCE_MEMTABLES_FLUSH_DIRTY_AFTER_SECONDS=3",
		"PERSISTENCE_MAX_REUSE_WAL_SIZE=0",

		// Block-max search of this version loses unflushed matches once a result is full (weaviate/weaviate#11780). A
		// collection's creation fixes the choice.
		"USE_INVERTED_SEARCHABLE=false",
	}
}
