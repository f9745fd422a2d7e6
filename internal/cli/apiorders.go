package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/client"
	"example.com/petstore/internal/config"
)

func (a *app) apiOrders() *cobra.Command {
	return a.group("orders", "List, show, place, change and cancel orders",
		a.ordersList(), a.ordersGet(), a.ordersCreate(), a.ordersUpdate(), a.ordersCancel())
}

func orderRows(orders []client.Order) rows {
	r := rows{{"ID", "PET", "QUANTITY", "SHIP DATE", "COMPLETE"}}
	for _, o := range orders {
		r.add(number(o.ID), number(o.PetID), strconv.Itoa(o.Quantity), moment(o.ShipDate, ""), strconv.FormatBool(o.Complete))
	}
	return r
}

func (a *app) ordersList() *cobra.Command {
	var page pageFlags
	var params client.ListOrdersParams
	var complete bool
	return a.remote(remote{
		use: "list [--pet ID] [--complete=BOOL] [--from INSTANT] [--to INSTANT] [--newest] [--limit N] [--cursor CURSOR | --all]", short: "List orders",
		flags: func(f *pflag.FlagSet) {
			f.Var(id(&params.PetID), "pet", "only orders for the pet with `ID`")
			f.BoolVar(&complete, "complete", false, "only completed orders; with --complete=false only open ones")
			f.Var(instantFlag(&params.ShipDateFrom), "from", "only orders that ship at or after `INSTANT` (RFC 3339)")
			f.Var(instantFlag(&params.ShipDateTo), "to", "only orders that ship at or before `INSTANT`")
			page.sorted(f)
		},
		run: func(ctx context.Context, c *client.Client, _ []string) error {
			params.Limit, params.Cursor, params.Sort = page.limit, page.cursor, page.sort()
			if a.given("complete") {
				params.Complete = &complete
			}
			return listed(a, page, func() (client.Page[client.Order], error) { return c.ListOrders(ctx, params) }, c.AllOrders(ctx, params), orderRows)
		},
	})
}

func (a *app) ordersGet() *cobra.Command {
	return item(a, remote{use: "get ID", args: cobra.ExactArgs(1), short: "Show an order"}, orderRows,
		byID("ID", func(ctx context.Context, c *client.Client, id int64) (client.Order, error) {
			return c.GetOrder(ctx, id)
		}))
}

func (a *app) ordersCreate() *cobra.Command {
	order := client.NewOrder{Quantity: 1}
	var key string
	return item(a, remote{
		use: "create PET [--quantity N] [--ship-date INSTANT] [--complete] [--idempotency-key KEY]", args: cobra.ExactArgs(1), short: "Place an order for the pet with this id",
		flags: func(f *pflag.FlagSet) {
			f.Var(config.Whole(&order.Quantity, 1, 1_000_000), "quantity", "order `N` units (default 1)")
			f.Var(instantFlag(&order.ShipDate), "ship-date", "ship at `INSTANT` (RFC 3339)")
			f.BoolVar(&order.Complete, "complete", false, "complete the order immediately")
			f.Var(text(&key), "idempotency-key", "place the order only once, however often you repeat the command with this `KEY` within 24 hours")
		},
	}, orderRows, byID("PET", func(ctx context.Context, c *client.Client, id int64) (client.Order, error) {
		order.PetID = id
		if key == "" {
			return c.CreateOrder(ctx, order)
		}
		return c.CreateOrder(ctx, order, client.IdempotencyKey(key))
	}))
}

func (a *app) ordersUpdate() *cobra.Command {
	var patch client.OrderPatch
	var complete bool
	return item(a, remote{
		use: "update ID [--ship-date INSTANT] [--complete]", args: cobra.ExactArgs(1), short: "Change or complete an open order", changes: []string{"ship-date", "complete"},
		flags: func(f *pflag.FlagSet) {
			f.Var(nullable(&patch.ShipDate, instantFlag(nil)), "ship-date", "ship at `INSTANT` (RFC 3339); an empty one removes the date")
			f.BoolVar(&complete, "complete", false, "complete the order, which is final")
		},
	}, orderRows, byID("ID", func(ctx context.Context, c *client.Client, id int64) (client.Order, error) {
		if a.given("complete") {
			patch.Complete = client.Set(complete)
		}
		return c.UpdateOrder(ctx, id, patch)
	}))
}

func (a *app) ordersCancel() *cobra.Command {
	return a.removed(remote{
		use: "cancel ID", aliases: []string{"delete"}, short: "Cancel an open order and return its units to the stock",
	}, "Cancelled the order", (*client.Client).CancelOrder)
}
