package node

import (
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
