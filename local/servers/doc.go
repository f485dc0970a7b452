// Package servers starts the real servers behind the services, for local runs and tests. Weaviate and Temporal are
// child processes built from pinned modules. A Kafka broker runs in this process. Redis is a child process if
// redis-server is installed, and runs in this process otherwise. Apache Kafka itself is available if Java is
// installed. Production uses clusters instead and does not import this package.
//
// All servers keep their state below [Options.Dir] and may share one directory. A server called x owns x/ (data),
// x.log, x.pid, x.lock and x.ports.json in it. They listen on 127.0.0.1 at free ports. The directory stores the
// ports, so the addresses in clients and clusters stay valid in a later run. Where a server has no setting, the build
// changes its code. Without a change, Weaviate's gRPC and cluster data ports would listen on all interfaces. The build
// also leaves out parts that need minutes to compile and are never used: Weaviate's modules for models and clouds, and
// Temporal's workers and archives in clouds.
//
// Each node of a cluster ([StartKafkaCluster], [StartRedisSentinels], [StartTemporalCluster], [StartWeaviateCluster])
// has a separate folder below the directory, and is a server value like the others.
//
// Every server value has the same methods:
//
//   - Addr, HTTP or GRPC: the address, the same after a restart
//   - Stop(ctx): request the end, wait for a bounded time, then kill
//   - Kill(): end at once, as kill -9 or a power cut does; for fault tests
//   - Restart(ctx): start again on the same ports and directory, after a stop if it still runs
//   - Keep(ctx): restart after each unexpected end, until restarts no longer help
//   - Done(): closed when the current run has ended, for any reason
//   - Err(): nil while it runs and after Stop or Kill; after an unexpected end the reason with the last log lines
//
// Methods may be called from several goroutines. On Linux the kernel kills a child when its parent dies, even if the
// parent is killed. On other systems the next start on the directory stops remaining processes.
package servers
