package node

import (
	"context"

	"example.com/petstore/internal/trace"
)

// startTraces starts the tracer if the environment enables it, and adds trace ids to
// the log.
func (n *node) startTraces(ctx context.Context) error {
	wanted, err := trace.Wanted(n.Getenv)
	if err != nil || !wanted {
		return err
	}
	t, err := trace.Start(ctx, trace.Options{Version: n.Version, Log: n.log, Getenv: n.Getenv, Trusted: n.Config.TrustedProxies})
	if err != nil {
		return err
	}
	n.tracer, n.log = t, trace.Log(n.log)
	return nil
}

// stopTraces sends the remaining spans. It only logs if that fails.
func (n *node) stopTraces() {
	if n.tracer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), n.Config.DrainTimeout)
	defer cancel()
	if err := n.tracer.Stop(ctx); err != nil {
		n.log.Warn("traces", "err", err)
	}
}
