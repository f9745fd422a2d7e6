package cli

import (
	"cmp"
	"context"
	"math"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/client"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/petstore"
)

func (a *app) webhookCommand() *cobra.Command {
	cmd := a.group("webhook", "Create, list, show, change, test and replay the webhooks of a workspace",
		a.webhookCreate(), a.webhookList(), a.webhookShow(), a.webhookUpdate(), a.webhookDelete(), a.webhookRotate(), a.webhookTest(), a.webhookReplay(), a.webhookDeliveries())
	cmd.Long = "Manage the webhooks of a workspace over its API. This needs a key with the scopes\nread and manage, which is best given as PETSTORE_KEY. Secrets are printed once. A webhook\nbelongs to the workspace: it goes on when the key that created it is revoked or expires."
	cmd.Example = "  export PETSTORE_SERVER=https://petstore.example PETSTORE_KEY=pst_…\n  petstore webhook create https://example.com/petstore --type order.created"
	return cmd
}

func webhookRows(all []client.Webhook) rows {
	r := rows{{"ID", "URL", "TYPES", "STATE", "AFTER", "FAILING SINCE"}}
	for _, w := range all {
		r.add(w.ID, w.URL, typesOf(w.Types), string(w.State), number(w.After), moment(w.FailingSince, "-"))
	}
	return r
}

func typesOf(types []client.EventType) string { return cmp.Or(commas(types), "all") }

// eventTypeFlag reads the types of events.
func eventTypeFlag(f *pflag.FlagSet, to *[]client.EventType, usage string) {
	f.Var(listOf(to, config.Word(new(client.EventType), eventTypes()...)), "type", usage)
}

func eventTypes() (all []client.EventType) {
	for _, t := range petstore.EventTypes() {
		all = append(all, client.EventType(t))
	}
	return all
}

func (a *app) webhookCreate() *cobra.Command {
	var n client.NewWebhook
	return a.remote(remote{
		use: "create URL [--type TYPE,...] [--description TEXT]", args: cobra.ExactArgs(1), short: "Create a webhook and print its secret, once",
		flags: func(f *pflag.FlagSet) {
			eventTypeFlag(f, &n.Types, "send only events of the types `TYPE,...` (default all)")
			f.Var(text(&n.Description), "description", "a description `TEXT`")
		},
		run: func(ctx context.Context, c *client.Client, args []string) error {
			n.URL = args[0]
			made, err := c.CreateWebhook(ctx, n)
			if err != nil {
				return err
			}
			return a.showSecret(made)
		},
	})
}

func (a *app) showSecret(made client.MadeWebhook) error {
	return a.printSecret("secret", made.ID, made, rows{{"ID", made.ID}, {"URL", made.URL}, {"TYPES", typesOf(made.Types)}, {"STATE", string(made.State)}, {}, {made.Secret}})
}

func (a *app) webhookList() *cobra.Command {
	var page pageFlags
	return a.remote(remote{
		use: "list [--limit N] [--cursor CURSOR | --all]", short: "List the webhooks", flags: page.register,
		run: func(ctx context.Context, c *client.Client, _ []string) error {
			params := client.ListWebhooksParams{Limit: page.limit, Cursor: page.cursor}
			return listed(a, page, func() (client.Page[client.Webhook], error) { return c.ListWebhooks(ctx, params) },
				c.AllWebhooks(ctx, params), webhookRows)
		},
	})
}

func (a *app) webhookShow() *cobra.Command {
	return item(a, remote{use: "show ID", args: cobra.ExactArgs(1), short: "Show a webhook"}, webhookRows,
		func(ctx context.Context, c *client.Client, args []string) (client.Webhook, error) {
			return c.GetWebhook(ctx, args[0])
		})
}

func (a *app) webhookUpdate() *cobra.Command {
	var patch client.WebhookPatch
	var types []client.EventType
	return item(a, remote{
		use: "update ID [--url URL] [--state STATE] [--type TYPE,...] [--description TEXT]", args: cobra.ExactArgs(1),
		short: "Change a webhook, pause it, or make it active again", changes: []string{"url", "state", "type", "description"},
		flags: func(f *pflag.FlagSet) {
			f.Var(text(&patch.URL), "url", "post to `URL`")
			f.Var(config.Word(&patch.State, client.WebhookPatchStateActive, client.WebhookPatchStatePaused), "state", "`STATE` active or paused")
			eventTypeFlag(f, &types, "send only events of the types `TYPE,...`")
			f.Var(nullable(&patch.Description, text(nil)), "description", "the new description `TEXT`; an empty one removes it")
		},
	}, webhookRows, func(ctx context.Context, c *client.Client, args []string) (client.Webhook, error) {
		if a.given("type") {
			patch.Types = client.Set(types)
		}
		return c.UpdateWebhook(ctx, args[0], patch)
	})
}

func (a *app) webhookReplay() *cobra.Command {
	var after int64
	return item(a, remote{
		use: "replay ID [--after ID]", args: cobra.ExactArgs(1), short: "Deliver events again",
		flags: func(f *pflag.FlagSet) {
			f.Var(config.Whole(&after, 0, math.MaxInt64), "after", "deliver the events after the one with this `ID`; 0 is the beginning")
		},
	}, webhookRows, func(ctx context.Context, c *client.Client, args []string) (client.Webhook, error) {
		return c.ReplayWebhook(ctx, args[0], client.WebhookReplay{After: after})
	})
}

func (a *app) webhookDelete() *cobra.Command {
	return a.remote(remote{
		use: "delete ID", args: cobra.ExactArgs(1), short: "Delete a webhook and its deliveries",
		run: func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.DeleteWebhook(ctx, args[0]); err != nil {
				return err
			}
			return a.done(removal[string]{args[0], true}, "Deleted the webhook %s", args[0])
		},
	})
}

func (a *app) webhookRotate() *cobra.Command {
	return a.remote(remote{
		use: "rotate ID", args: cobra.ExactArgs(1), short: "Replace the secret of a webhook and print it, once",
		run: func(ctx context.Context, c *client.Client, args []string) error {
			made, err := c.RotateWebhook(ctx, args[0])
			if err != nil {
				return err
			}
			return a.showSecret(made)
		},
	})
}

func (a *app) webhookTest() *cobra.Command {
	return item(a, remote{use: "test ID", args: cobra.ExactArgs(1), short: "Send a test event and print the response"}, testRows,
		func(ctx context.Context, c *client.Client, args []string) (client.WebhookAnswer, error) {
			return c.TestWebhook(ctx, args[0])
		})
}

func testRows(answers []client.WebhookAnswer) rows {
	answer := answers[0] // a test has one
	return rows{{"STATUS", statusOf(answer.Status)}, {"LATENCY", number(answer.LatencyMs) + " ms"}, {"ANSWER", answer.Answer + answer.Error}}
}

func statusOf(status int) string {
	if status == 0 {
		return "none"
	}
	return number(int64(status))
}

func (a *app) webhookDeliveries() *cobra.Command {
	var page pageFlags
	return a.remote(remote{
		use: "deliveries ID [--limit N] [--cursor CURSOR | --all]", args: cobra.ExactArgs(1), short: "List what was sent to a webhook, the newest event first", flags: page.register,
		run: func(ctx context.Context, c *client.Client, args []string) error {
			params := client.ListDeliveriesParams{Limit: page.limit, Cursor: page.cursor}
			return listed(a, page, func() (client.Page[client.Delivery], error) { return c.ListDeliveries(ctx, args[0], params) },
				c.AllDeliveries(ctx, args[0], params), deliveryRows)
		},
	})
}

func deliveryRows(all []client.Delivery) rows {
	r := rows{{"EVENT", "TYPE", "STATE", "TRIES", "STATUS", "NEXT TRY", "ANSWER"}}
	for _, d := range all {
		answer, _, _ := strings.Cut(d.Answer+d.Error, "\n")
		r.add(number(d.ID), string(d.Type), string(d.State), number(d.Tries), statusOf(d.Status), moment(d.NextTryAt, "-"), answer)
	}
	return r
}
