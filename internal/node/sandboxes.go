package node

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/sandbox"
)

// newSandboxes returns the service that creates sandboxes. With the plan enterprise,
// their quotas are the greatest possible.
func (n *node) newSandboxes() *sandbox.Service {
	c := n.Config.Sandbox
	plan := access.Plan(c.Plan)
	quota, err := access.QuotaFor(plan, access.Quota{})
	if err != nil {
		quota = access.Quota{PerMinute: access.MaxQuota, PerDay: access.MaxQuota}
	}
	return sandbox.New(sandbox.Options{
		Store: n.store, Now: n.now, Log: n.log, Most: c.Most, PerAddress: c.PerAddress, Plan: plan, Quota: quota, Life: c.Life, Webhooks: c.Webhooks,
	})
}

// newSandboxCollector returns the metrics of sandboxes.
func newSandboxCollector(read func() sandbox.Stats, count func(context.Context) (int64, error)) prometheus.Collector {
	return collector(func(to metricSink) {
		s := read()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if n, err := count(ctx); err == nil {
			to.gauge("petstore_sandboxes", "Sandboxes that there are, on all nodes.", float64(n))
		}
		to.count("petstore_sandboxes_created_total", "Sandboxes that were created.", float64(s.Created))
		to.count("petstore_sandboxes_refused_total", "Sandboxes that were refused, because there were too many of one address or of all.", float64(s.Refused))
		to.count("petstore_sandbox_resets_total", "Resets of sandboxes by their keys.", float64(s.Resets))
		to.count("petstore_simulated_faults_total", "Requests that failed, or took long, because they asked for it.", float64(s.Simulated))
	})
}
