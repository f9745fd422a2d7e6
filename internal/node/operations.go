package node

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/ops"
	"example.com/petstore/internal/portal/console"
)

// operations returns the handler of the operations listener, with the console and
// the API of the operator.
func (n *node) operations(ctx context.Context, phase *ops.Phase) (http.Handler, error) {
	secret, err := n.store.Secret(ctx)
	if err != nil {
		return nil, err
	}
	checks := []ops.Check{{Name: "service", Err: phase.Err}, {Name: "store", Err: n.store.Err}}
	pages, err := console.NewOperator(console.OperatorOptions{
		Access: n.store, Keys: n.keys, Limiter: n.limiter, Usage: n.usage, Secret: secret, Now: n.now, Log: n.log,
		Health: func() []console.Figure { return n.health(checks) }, Done: ctx.Done(),
	})
	if err != nil {
		return nil, err
	}
	admin, err := httpapi.NewAdmin(httpapi.AdminOptions{
		Access: n.store, Keys: n.keys, Counts: operator.Live(n.limiter, n.keys), Backups: n.backups, Secret: secret, Log: n.log, Now: n.now,
	})
	if err != nil {
		return nil, err
	}
	machines := ops.Handler(ops.Options{Checks: checks, Metrics: n.metrics, Log: n.log})
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

// health returns how the node stands, in words.
func (n *node) health(checks []ops.Check) []console.Figure {
	list := []console.Figure{{Name: "version", Value: n.Version}}
	for _, c := range checks {
		f := console.Figure{Name: c.Name, Value: "ready", State: true}
		if err := c.Err(); err != nil {
			f.Value, f.Bad = err.Error(), true
		}
		list = append(list, f)
	}
	l, s := n.limits(), n.store.Figures()
	return append(list,
		console.Figure{Name: "limiter", Value: fmt.Sprintf("workspaces %d, keys %d, bans %d", l.Workspaces, l.Keys, l.Bans)},
		console.Figure{Name: "addresses without a key", Value: fmt.Sprintf("%d of %d places, %d requests beyond", l.Addresses, l.AddressCapacity, l.OverflowAdmitted)},
		console.Figure{Name: "saves of limits that failed", Value: fmt.Sprint(l.FailedSaves), Bad: l.FailedSaves > 0},
		console.Figure{Name: "writes", Value: fmt.Sprintf("%d in %d commits, at most %d together, %d waiting", s.Writes, s.Groups, s.Largest, s.Waiting)},
		console.Figure{Name: "requests lost to the charts", Value: fmt.Sprint(n.usage.Lost()), Bad: n.usage.Lost() > 0},
	)
}
