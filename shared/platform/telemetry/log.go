package telemetry

import (
	"context"
	"io"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// NewLogger makes the logger of a process without a Telemetry: lines on w only. A line whose context has a span
// carries its trace_id and span_id.
func NewLogger(cfg Config, w io.Writer) *slog.Logger {
	return slog.New(stderrHandler(cfg, w))
}

func stderrHandler(cfg Config, w io.Writer) slog.Handler {
	options := &slog.HandlerOptions{Level: cfg.level()}
	if cfg.LogFormat == "text" {
		return correlated{root: slog.NewTextHandler(w, options)}
	}
	return correlated{root: slog.NewJSONHandler(w, options)}
}

// correlated adds trace_id and span_id from the context. They belong at the top level of a line. So groups and
// attributes from With are added only after them, when a record comes.
type correlated struct {
	root slog.Handler
	with []func(slog.Handler) slog.Handler
}

func (h correlated) Enabled(ctx context.Context, level slog.Level) bool {
	return h.root.Enabled(ctx, level)
}

func (h correlated) Handle(ctx context.Context, r slog.Record) error {
	target := h.root
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		target = target.WithAttrs([]slog.Attr{
			slog.String("trace_id", span.TraceID().String()),
			slog.String("span_id", span.SpanID().String()),
		})
	}
	for _, apply := range h.with {
		target = apply(target)
	}
	return target.Handle(ctx, r)
}

func (h correlated) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.and(func(next slog.Handler) slog.Handler { return next.WithAttrs(attrs) })
}

func (h correlated) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.and(func(next slog.Handler) slog.Handler { return next.WithGroup(name) })
}

func (h correlated) and(apply func(slog.Handler) slog.Handler) slog.Handler {
	with := make([]func(slog.Handler) slog.Handler, 0, len(h.with)+1)
	return correlated{root: h.root, with: append(append(with, h.with...), apply)}
}

// atLeast drops records below a level. The bridge to OTLP logs has no level setting.
type atLeast struct {
	slog.Handler
	level slog.Level
}

func (h atLeast) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.level && h.Handler.Enabled(ctx, level)
}

func (h atLeast) WithAttrs(attrs []slog.Attr) slog.Handler {
	return atLeast{h.Handler.WithAttrs(attrs), h.level}
}

func (h atLeast) WithGroup(name string) slog.Handler {
	return atLeast{h.Handler.WithGroup(name), h.level}
}
