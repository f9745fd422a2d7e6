package cli

import (
	"github.com/spf13/cobra"
)

// webhooks is the noun of the operations that are the commands of "petstore webhook".
const webhooks = "webhooks"

// newWebhookGroup returns "petstore webhook", whose commands are made as those of "petstore api".
func newWebhookGroup(a *app, described bool) *cobra.Command {
	group := newGroup("webhook", "Create, list, show, change, test and replay the webhooks of a workspace")
	group.Long = "Manage the webhooks of a workspace over its API. This needs a key with the scopes\nread and manage, which is best given as PETSTORE_KEY. Secrets are printed once. A webhook\nbelongs to the workspace: it goes on when the key that created it is revoked or expires."
	group.Example = "  export PETSTORE_SERVER=https://petstore.example PETSTORE_KEY=pst_…\n  petstore webhook create https://example.com/petstore --type order.created"
	if described {
		for _, c := range apiCommands(a)[webhooks] {
			group.AddCommand(c.command())
		}
	}
	return group
}
