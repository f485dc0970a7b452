// Package servers gives local runs and tests the real servers behind the services: Weaviate and Temporal as child
// processes built from pinned modules, a Kafka broker in process, Redis as a child process where redis-server is installed and in
// process where it is not, and (where Java is installed) Apache Kafka itself. Production uses clusters instead and
// does not import this package.
//
// All servers keep their state below [Options.Dir] and may share one directory: a server called x owns x/ (data),
// x.log, x.pid, x.lock and x.ports.json in it. They listen on 127.0.0.1 at free ports, which are remembered in the
// directory, so a later run on the same directory finds clients' and clusters' addresses still valid. What a
// server has no setting for is edited in what it is built of: Weaviate's gRPC and cluster data ports would be of all interfaces.
//
// Where nodes of a cluster are started ([StartKafkaCluster], [StartRedisSentinels], [StartTemporalCluster],
// [StartWeaviateCluster]), each has a folder of its own below the directory, and is a server value like the others.
//
// Every server value has the same life:
//
//   - Addr, HTTP or GRPC: where it listens, the same after a restart
//   - Stop(ctx): ask it to end, wait for a bounded time, then kill it
//   - Kill(): end it at once, as kill -9 or a power switch would; for fault tests
//   - Restart(ctx): start it again on the same ports and directory, stopping it first if it still runs
//   - Keep(ctx): restart it when it ends by itself, until that does not help
//   - Done(): closed when the current run has ended, for whatever reason
//   - Err(): nil while it runs and after Stop or Kill; after an unexpected end the reason with the last log lines
//
// Methods may be called from several goroutines. A child never outlives its parent: on Linux the kernel kills it even
// when the parent gets no chance to; elsewhere the next start on the directory stops what was left.
package servers
