// Package servers starts the servers behind the services, for local runs and tests. Weaviate and Temporal are child
// processes built from pinned modules. A Kafka broker runs in this process. Redis is a child process if redis-server is
// installed, and runs in this process otherwise. Production uses clusters instead and does not import this package.
//
// Every server value embeds a [process.Server] and has its methods. The servers listen on 127.0.0.1. A server called x
// has its data in x/ below [process.Options.Dir]. Package process describes the other files.
//
// Where a server has no setting, the build changes its code. Without a change, Weaviate's gRPC and cluster data ports
// would listen on all interfaces. The build also leaves out parts that need minutes to compile and are never used:
// Weaviate's modules for models and clouds, and Temporal's workers and archives in clouds.
package servers
