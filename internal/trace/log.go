package trace

import (
	"context"
	"log/slog"

	api "go.opentelemetry.io/otel/trace"
)

// Log returns a logger that adds trace_id and span_id to what is logged in the
// context of a span.
func Log(log *slog.Logger) *slog.Logger { return slog.New(lines{log.Handler()}) }

type lines struct{ slog.Handler }

// Handle implements slog.Handler.
func (l lines) Handle(ctx context.Context, r slog.Record) error {
	if span := api.SpanContextFromContext(ctx); span.IsValid() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (l lines) WithAttrs(attrs []slog.Attr) slog.Handler { return lines{l.Handler.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (l lines) WithGroup(name string) slog.Handler { return lines{l.Handler.WithGroup(name)} }
