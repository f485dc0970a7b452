// Package telemetry makes the traces, metrics and logs of a service, and defines every name that they use. It has
// no global state. A Telemetry is built at start and passed to its users. So several services can run in one
// process, each with a separate Telemetry.
//
// The text of users (turns, queries, memories) does not belong in logs, spans or metrics.
package telemetry
