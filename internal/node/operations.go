package node

import (
	"context"
	"net/http"
	"strings"

	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/portal/console"
)

// operations returns the handler of the operations listener, with the console and
// the API of the operator.
func (n *node) operations(ctx context.Context, phase *phase) (http.Handler, error) {
	secret, err := n.store.Secret(ctx)
	if err != nil {
		return nil, err
	}
	checks := []check{{"service", phase.err}, {"store", n.store.Err}}
	pages, err := console.NewOperator(console.OperatorOptions{
		Access: n.store, Keys: n.keys, Limiter: n.limiter, Usage: n.usage, Secret: secret, Now: n.now, Log: n.log,
		Health: func() []console.Figure { return n.health(ctx, checks) }, Done: ctx.Done(),
	})
	if err != nil {
		return nil, err
	}
	admin, err := httpapi.NewAdmin(httpapi.AdminOptions{
		Access: n.store, Keys: n.keys, Counts: operator.Live(n.limiter), Backups: n.backups, Secret: secret, Log: n.log, Now: n.now,
	})
	if err != nil {
		return nil, err
	}
	machines := probes(checks, n.metrics, n.log)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path + "/"; {
		case strings.HasPrefix(path, "/console/"):
			pages.Serve(w, r, nil)
		case strings.HasPrefix(path, "/admin/"):
			admin.ServeHTTP(w, r)
		default:
			machines.ServeHTTP(w, r)
		}
	}), nil
}
