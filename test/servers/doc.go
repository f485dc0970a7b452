// Package servers starts servers that only tests need: Apache Kafka, PostgreSQL, Redis with Sentinels, clusters of
// Temporal and Weaviate, and a Kubernetes control plane. Package local/servers starts the servers of `mneme up`.
//
// A value of one server embeds a [process.Server] and has its methods. A value of several servers has their values. A
// server called x has its data in x/ below [process.Options.Dir]. Each node of a cluster has a separate folder there.
package servers
