package cli

import (
	"context"
	"log/slog"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/trace"
)

// startTraces returns the tracer that the environment asks for and the log with
// the ids of traces in it, or nil and log.
func (a *app) startTraces(ctx context.Context, log *slog.Logger) (*trace.Tracer, *slog.Logger, error) {
	wanted, err := trace.Wanted(a.getenv)
	if err != nil || !wanted {
		return nil, log, err
	}
	t, err := trace.Start(ctx, trace.Options{Version: version().Version, Log: log, Trusted: a.config.TrustedProxies})
	if err != nil {
		return nil, log, err
	}
	return t, trace.Log(log), nil
}

// stopTraces sends what waits. That it cannot is no failure of the service.
func (a *app) stopTraces(t *trace.Tracer, log *slog.Logger) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), a.config.DrainTimeout)
	defer cancel()
	if err := t.Stop(ctx); err != nil {
		log.Warn("traces", "err", err)
	}
}

// traced returns store, or with traces a store that makes spans.
func (a *app) traced(store petstore.Store) petstore.Store {
	if a.tracer == nil {
		return store
	}
	return a.tracer.Store(store)
}
