package node

import (
	"context"
	"net/http"
	"strings"

	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/portal/admin"
)

// operations returns the handler of the operations listener, with the console and the
// API of the operator. public is the URL of the public listener.
func (n *node) operations(ctx context.Context, phase *phase, public string) (http.Handler, error) {
	checks := []check{{"service", phase.err}, {"store", n.store.Err}}
	pages, err := admin.New(admin.Options{
		Page:   n.pages(""),
		Public: public,
		Health: func() []admin.Figure { return n.health(ctx, checks) },
	})
	if err != nil {
		return nil, err
	}
	api, err := httpapi.NewAdmin(httpapi.AdminOptions{
		Access: n.store, Keys: n.keys, Counts: operator.Live(n.limiter), Backups: n.backups, Secret: n.secret, Log: n.log, Now: n.now,
	})
	if err != nil {
		return nil, err
	}
	machines := probes(checks, n.metrics.Registry, n.log)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path + "/"; {
		case path == "//":
			http.Redirect(w, r, "/console", http.StatusFound)
		case strings.HasPrefix(path, "/console/"):
			pages.ServeHTTP(w, r)
		case strings.HasPrefix(path, "/admin/"):
			api.ServeHTTP(w, r)
		default:
			machines.ServeHTTP(w, r)
		}
	}), nil
}
