// Package traceview is a small trace viewer for a laptop: an OTLP/HTTP receiver, a bounded store
// in memory, pages that work without scripts, and traces as text. It is no substitute for a tracing
// system: what it holds is gone with the process.
//
// Names and attributes come from whoever sends them: pages escape them, and texts quote what is
// not printable.
package traceview
