// Package traceview is a small trace viewer for a laptop. It has an OTLP/HTTP receiver, a bounded store in memory,
// pages that work without scripts, and traces as text. It does not replace a tracing system, because its traces end
// with the process.
//
// Names and attributes come from the senders. Pages escape them, and texts quote unprintable characters.
package traceview
