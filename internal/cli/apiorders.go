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
	return a.group("orders", "List, read, place, change and cancel orders",
		a.ordersList(), a.ordersGet(), a.ordersCreate(), a.ordersUpdate(), a.ordersCancel())
}

func orderRows(orders []client.Order) rows {
	r := rows{{"ID", "PET", "QUANTITY", "SHIP DATE", "COMPLETE"}}
	for _, o := range orders {
		r.add(number(o.ID), number(o.PetID), strconv.Itoa(o.Quantity), moment(o.ShipDate, ""), strconv.FormatBool(o.Complete))
	}
	return r
}

// dateOf reads the value of a flag: the zero time for none.
func dateOf(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, usagef("--%s: %q is not an instant as 2026-03-01T09:30:00Z", flag, text)
	}
	return t, nil
}

func (a *app) ordersList() *cobra.Command {
	var page pageFlags
	var params client.ListOrdersParams
	var complete bool
	var from, to string
	return a.remote(remote{
		use: "list [--pet ID] [--complete=BOOL] [--from INSTANT] [--to INSTANT] [--limit N] [--cursor CURSOR | --all]", short: "List orders",
		flags: func(f *pflag.FlagSet) {
			f.Int64Var(&params.PetID, "pet", 0, "only those of the pet with `ID`")
			f.BoolVar(&complete, "complete", false, "only completed ones; --complete=false: only open ones")
			f.StringVar(&from, "from", "", "only those that ship at or after `INSTANT` (RFC 3339)")
			f.StringVar(&to, "to", "", "only those that ship at or before `INSTANT`")
			page.register(f)
		},
		run: func(ctx context.Context, c *client.Client, o *output, _ []string) (err error) {
			params.Limit, params.Cursor = page.limit, page.cursor
			if a.given("complete") {
				params.Complete = &complete
			}
			if params.ShipDateFrom, err = dateOf("from", from); err != nil {
				return err
			}
			if params.ShipDateTo, err = dateOf("to", to); err != nil {
				return err
			}
			return listed(a, o, page, func() (client.Page[client.Order], error) { return c.ListOrders(ctx, params) }, c.AllOrders(ctx, params), orderRows)
		},
	})
}

func (a *app) ordersGet() *cobra.Command {
	return a.remote(remote{
		use: "get ID", short: "Read an order",
		run: func(ctx context.Context, c *client.Client, o *output, args []string) error {
			id, err := idOf("ID", args[0])
			if err != nil {
				return err
			}
			order, err := c.GetOrder(ctx, id)
			if err != nil {
				return err
			}
			return one(a, o, order, orderRows)
		},
	})
}

func (a *app) ordersCreate() *cobra.Command {
	var order client.NewOrder
	var ship, key string
	return a.remote(remote{
		use: "create PET [--quantity N] [--ship-date INSTANT] [--complete] [--idempotency-key KEY]", short: "Place an order for the pet with this id",
		flags: func(f *pflag.FlagSet) {
			f.IntVar(&order.Quantity, "quantity", 1, "order `N` units")
			f.StringVar(&ship, "ship-date", "", "ship at `INSTANT` (RFC 3339)")
			f.BoolVar(&order.Complete, "complete", false, "complete it at once")
			f.StringVar(&key, "idempotency-key", "", "order once only, however often it is run with this `KEY` within 24 hours")
		},
		run: func(ctx context.Context, c *client.Client, o *output, args []string) (err error) {
			if order.PetID, err = idOf("PET", args[0]); err != nil {
				return err
			}
			if order.ShipDate, err = dateOf("ship-date", ship); err != nil {
				return err
			}
			if order.Quantity < 1 {
				return usagef("--quantity: must be at least 1")
			}
			var opts []client.CallOption
			if key != "" {
				opts = append(opts, client.IdempotencyKey(key))
			}
			placed, err := c.CreateOrder(ctx, order, opts...)
			if err != nil {
				return err
			}
			return one(a, o, placed, orderRows)
		},
	})
}

func (a *app) ordersUpdate() *cobra.Command {
	var ship string
	var complete bool
	return a.remote(remote{
		use: "update ID [--ship-date INSTANT] [--complete]", short: "Change or complete an open order",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&ship, "ship-date", "", "ship at `INSTANT` (RFC 3339); an empty one removes the date")
			f.BoolVar(&complete, "complete", false, "complete it, which is final")
		},
		run: func(ctx context.Context, c *client.Client, o *output, args []string) error {
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
			return one(a, o, order, orderRows)
		},
	})
}

func (a *app) orderPatch(ship string, complete bool) (client.OrderPatch, error) {
	var patch client.OrderPatch
	date, err := dateOf("ship-date", ship)
	switch {
	case err != nil:
		return patch, err
	case !date.IsZero():
		patch.ShipDate = client.Set(date)
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
	return a.remote(remote{
		use: "cancel ID", short: "Cancel an open order, which returns its units to the stock",
		run: func(ctx context.Context, c *client.Client, _ *output, args []string) error {
			id, err := idOf("ID", args[0])
			if err != nil {
				return err
			}
			return c.CancelOrder(ctx, id)
		},
	})
}
