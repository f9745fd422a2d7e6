package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/client"
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
	return a.remote(remote{
		use: "get ID", args: cobra.ExactArgs(1), short: "Show an order",
		run: func(ctx context.Context, c *client.Client, args []string) error {
			id, err := idOf("ID", args[0])
			if err != nil {
				return err
			}
			order, err := c.GetOrder(ctx, id)
			if err != nil {
				return err
			}
			return one(a, order, orderRows)
		},
	})
}

func (a *app) ordersCreate() *cobra.Command {
	order := client.NewOrder{Quantity: 1}
	var key string
	return a.remote(remote{
		use: "create PET [--quantity N] [--ship-date INSTANT] [--complete] [--idempotency-key KEY]", args: cobra.ExactArgs(1), short: "Place an order for the pet with this id",
		flags: func(f *pflag.FlagSet) {
			f.Var(whole(&order.Quantity, 1, 1_000_000), "quantity", "order `N` units (default 1)")
			f.Var(instantFlag(&order.ShipDate), "ship-date", "ship at `INSTANT` (RFC 3339)")
			f.BoolVar(&order.Complete, "complete", false, "complete the order immediately")
			f.Var(text(&key), "idempotency-key", "place the order only once, however often you repeat the command with this `KEY` within 24 hours")
		},
		run: func(ctx context.Context, c *client.Client, args []string) (err error) {
			if order.PetID, err = idOf("PET", args[0]); err != nil {
				return err
			}
			var opts []client.CallOption
			if key != "" {
				opts = append(opts, client.IdempotencyKey(key))
			}
			placed, err := c.CreateOrder(ctx, order, opts...)
			if err != nil {
				return err
			}
			return one(a, placed, orderRows)
		},
	})
}

func (a *app) ordersUpdate() *cobra.Command {
	var ship time.Time
	var complete bool
	return a.remote(remote{
		use: "update ID [--ship-date INSTANT] [--complete]", args: cobra.ExactArgs(1), short: "Change or complete an open order",
		flags: func(f *pflag.FlagSet) {
			f.Var(removable(instantFlag(&ship)), "ship-date", "ship at `INSTANT` (RFC 3339); an empty one removes the date")
			f.BoolVar(&complete, "complete", false, "complete the order, which is final")
		},
		run: func(ctx context.Context, c *client.Client, args []string) error {
			id, err := idOf("ID", args[0])
			if err != nil {
				return err
			}
			patch, err := a.orderPatch(ship, complete)
			if err != nil {
				return err
			}
			order, err := c.UpdateOrder(ctx, id, patch)
			if err != nil {
				return err
			}
			return one(a, order, orderRows)
		},
	})
}

func (a *app) orderPatch(ship time.Time, complete bool) (client.OrderPatch, error) {
	var patch client.OrderPatch
	switch {
	case !ship.IsZero():
		patch.ShipDate = client.Set(ship)
	case a.given("ship-date"):
		patch.ShipDate = client.Null[time.Time]()
	case !a.given("complete"):
		return patch, usagef("nothing to change: give --ship-date or --complete")
	}
	if a.given("complete") {
		patch.Complete = client.Set(complete)
	}
	return patch, nil
}

func (a *app) ordersCancel() *cobra.Command {
	return a.removed(remote{
		use: "cancel ID", aliases: []string{"delete"}, short: "Cancel an open order and return its units to the stock",
	}, "Cancelled the order", (*client.Client).CancelOrder)
}
