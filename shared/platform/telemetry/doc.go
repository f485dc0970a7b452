// Package telemetry makes the traces, metrics and logs of a service, and holds every name they
// use. Nothing is global: a Telemetry is built at start and handed to whoever needs it, so several
// services can live in one process, each with its own.
//
// The text of users (turns, queries, memories) does not belong in logs, spans or metrics.
package telemetry
