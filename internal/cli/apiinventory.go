package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/client"
	"example.com/petstore/internal/config"
)

func (a *app) apiInventory() *cobra.Command {
	return a.group("inventory", "List, show and set the stock", a.inventoryList(), a.inventoryGet(), a.inventorySet(), a.inventoryMovements())
}

func inventoryRows(items []client.InventoryItem) rows {
	r := rows{{"PET", "QUANTITY", "STATUS"}}
	for _, i := range items {
		r.add(number(i.PetID), strconv.Itoa(i.Quantity), string(i.Status))
	}
	return r
}

func (a *app) inventoryList() *cobra.Command {
	var page pageFlags
	var params client.ListInventoryParams
	var most int
	return a.remote(remote{
		use: "list [--status S,...] [--max-quantity N] [--newest] [--limit N] [--cursor CURSOR | --all]", short: "List the stock of pets",
		flags: func(f *pflag.FlagSet) {
			f.Var(listOf(&params.Status, status(nil)), "status", "only pets with the status `S,...`: available, pending or sold")
			f.Var(config.Whole(&most, 0, 1_000_000_000), "max-quantity", "only pets with at most `N` units")
			page.sorted(f)
		},
		run: func(ctx context.Context, c *client.Client, _ []string) error {
			params.Limit, params.Cursor, params.Sort = page.limit, page.cursor, page.sort()
			if a.given("max-quantity") {
				params.MaxQuantity = &most
			}
			return listed(a, page, func() (client.Page[client.InventoryItem], error) { return c.ListInventory(ctx, params) },
				c.AllInventory(ctx, params), inventoryRows)
		},
	})
}

func (a *app) inventoryGet() *cobra.Command {
	return item(a, remote{use: "get PET", args: cobra.ExactArgs(1), short: "Show the stock of a pet"}, inventoryRows,
		byID("PET", func(ctx context.Context, c *client.Client, id int64) (client.InventoryItem, error) {
			return c.GetInventoryItem(ctx, id)
		}))
}

func (a *app) inventorySet() *cobra.Command {
	return item(a, remote{
		use: "set PET QUANTITY", args: cobra.ExactArgs(2), aliases: []string{"update"}, short: "Set how many units of a pet can be ordered",
	}, inventoryRows, func(ctx context.Context, c *client.Client, args []string) (none client.InventoryItem, err error) {
		id, err := idOf("PET", args[0])
		if err != nil {
			return none, err
		}
		quantity, err := strconv.Atoi(args[1])
		if err != nil {
			return none, usagef("QUANTITY: %q is not a whole number", args[1])
		}
		return c.UpdateInventory(ctx, id, client.InventoryUpdate{Quantity: quantity})
	})
}

func (a *app) inventoryMovements() *cobra.Command {
	var page pageFlags
	return a.remote(remote{
		use: "movements PET [--limit N] [--cursor CURSOR | --all]", args: cobra.ExactArgs(1), short: "List the stock movements of a pet, the newest first",
		flags: page.register,
		run: func(ctx context.Context, c *client.Client, args []string) error {
			id, err := idOf("PET", args[0])
			if err != nil {
				return err
			}
			params := client.ListMovementsParams{Limit: page.limit, Cursor: page.cursor}
			return listed(a, page, func() (client.Page[client.Movement], error) { return c.ListMovements(ctx, id, params) },
				c.AllMovements(ctx, id, params), movementRows)
		},
	})
}

func movementRows(movements []client.Movement) rows {
	r := rows{{"NUMBER", "AT", "KIND", "ORDER", "DELTA", "QUANTITY"}}
	for _, m := range movements {
		order := ""
		if m.OrderID != 0 {
			order = number(m.OrderID)
		}
		r.add(number(m.Number), moment(m.At, ""), string(m.Kind), order, strconv.Itoa(m.Delta), strconv.Itoa(m.Quantity))
	}
	return r
}

func (a *app) apiAccount() *cobra.Command {
	return item(a, remote{use: "account", short: "Show the workspace and plan of the key, and how much of the plan is left"}, accountRows,
		func(ctx context.Context, c *client.Client, _ []string) (client.Account, error) {
			return c.GetAccount(ctx)
		})
}

func accountRows(accounts []client.Account) rows {
	v := accounts[0] // a key has one
	r := rows{
		{"WORKSPACE", v.Workspace.Name},
		{"PLAN", string(v.Plan)},
		{"KEY", v.Key.ID + " (" + v.Key.Name + ")"},
		{"SCOPES", commas(v.Key.Scopes)},
		{"EXPIRES", moment(v.Key.ExpiresAt, "never")},
		{"STRIKES LEFT", strconv.Itoa(v.Key.StrikesLeft)},
	}
	for _, w := range []struct {
		name   string
		window client.RateLimitWindow
	}{{"MINUTE", v.Limits.Minute}, {"DAY", v.Limits.Day}} {
		r.add(w.name, number(w.window.Remaining)+" of "+number(w.window.Limit)+" left until "+moment(time.Unix(w.window.Reset, 0), ""))
	}
	return r
}
