package cli

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/client"
)

func (a *app) apiPets() *cobra.Command {
	return a.group("pets", "List, read, make, change and delete pets",
		a.petsList(), a.petsGet(), a.petsCreate(), a.petsUpdate(), a.petsDelete())
}

func petRows(pets []client.Pet) rows {
	r := rows{{"ID", "NAME", "CATEGORY", "STATUS"}}
	for _, p := range pets {
		r.add(number(p.ID), p.Name, number(p.CategoryID), string(p.Status))
	}
	return r
}

// statuses returns the words of --status.
func statuses(words []string) []client.PetStatus {
	var s []client.PetStatus
	for _, w := range words {
		s = append(s, client.PetStatus(w))
	}
	return s
}

func (a *app) petsList() *cobra.Command {
	var page pageFlags
	var params client.ListPetsParams
	var ids []int64
	var status []string
	return a.remote(remote{
		use: "list [--id ID,…] [--status S,…] [--category ID] [--name TEXT] [--limit N] [--cursor CURSOR | --all]", short: "List pets",
		flags: func(f *pflag.FlagSet) {
			f.Int64SliceVar(&ids, "id", nil, "only those with these `ID,…`")
			f.Lookup("id").DefValue = ""
			f.StringSliceVar(&status, "status", nil, "only those with `S,…`: available, pending or sold")
			f.Int64Var(&params.CategoryID, "category", 0, "only those of the category with `ID`")
			f.StringVar(&params.Name, "name", "", "only those whose name contains `TEXT`")
			page.register(f)
		},
		run: func(ctx context.Context, c *client.Client, o *output, _ []string) error {
			params.ID, params.Status, params.Limit, params.Cursor = ids, statuses(status), page.limit, page.cursor
			return listed(a, o, page, func() (client.Page[client.Pet], error) { return c.ListPets(ctx, params) }, c.AllPets(ctx, params), petRows)
		},
	})
}

func (a *app) petsGet() *cobra.Command {
	return a.remote(remote{
		use: "get ID", short: "Read a pet",
		run: func(ctx context.Context, c *client.Client, o *output, args []string) error {
			id, err := idOf("ID", args[0])
			if err != nil {
				return err
			}
			pet, err := c.PetByID(ctx, id)
			if err != nil {
				return err
			}
			return one(a, o, pet, petRows)
		},
	})
}

func (a *app) petsCreate() *cobra.Command {
	var pet client.NewPet
	var status string
	return a.remote(remote{
		use: "create NAME --category ID [--status S]", short: "Make a pet",
		flags: func(f *pflag.FlagSet) {
			f.Int64Var(&pet.CategoryID, "category", 0, "put it into the category with `ID`")
			f.StringVar(&status, "status", "", "make it `S`: available, pending or sold (default available)")
		},
		run: func(ctx context.Context, c *client.Client, o *output, args []string) error {
			if pet.CategoryID == 0 {
				return usagef("--category is needed")
			}
			pet.Name, pet.Status = args[0], client.PetStatus(status)
			made, err := c.CreatePet(ctx, pet)
			if err != nil {
				return err
			}
			return one(a, o, made, petRows)
		},
	})
}

func (a *app) petsUpdate() *cobra.Command {
	var patch client.PetPatch
	var status string
	return a.remote(remote{
		use: "update ID [--name N] [--category ID] [--status S]", short: "Change a pet",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&patch.Name, "name", "", "call it `N`")
			f.Int64Var(&patch.CategoryID, "category", 0, "put it into the category with `ID`")
			f.StringVar(&status, "status", "", "make it `S`: available, pending or sold; none lets the stock decide")
		},
		run: func(ctx context.Context, c *client.Client, o *output, args []string) error {
			id, err := idOf("ID", args[0])
			if err != nil {
				return err
			}
			switch {
			case status == "none":
				patch.Status = client.Null[client.PetStatus]()
			case a.given("status"):
				patch.Status = client.Set(client.PetStatus(status))
			case !a.given("name") && !a.given("category"):
				return usagef("nothing to change: give --name, --category or --status")
			}
			pet, err := c.UpdatePet(ctx, id, patch)
			if err != nil {
				return err
			}
			return one(a, o, pet, petRows)
		},
	})
}

func (a *app) petsDelete() *cobra.Command {
	return a.remote(remote{
		use: "delete ID", short: "Delete a pet that has no open orders",
		run: func(ctx context.Context, c *client.Client, _ *output, args []string) error {
			id, err := idOf("ID", args[0])
			if err != nil {
				return err
			}
			return c.DeletePet(ctx, id)
		},
	})
}
