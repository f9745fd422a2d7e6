package cli

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/client"
	"example.com/petstore/internal/config"
)

func (a *app) apiPets() *cobra.Command {
	return a.group("pets", "List, show, create, change and delete pets",
		a.petsList(), a.petsGet(), a.petsCreate(), a.petsUpdate(), a.petsDelete())
}

func petRows(pets []client.Pet) rows {
	r := rows{{"ID", "NAME", "CATEGORY", "STATUS"}}
	for _, p := range pets {
		r.add(number(p.ID), p.Name, number(p.CategoryID), string(p.Status))
	}
	return r
}

// status returns a flag that takes a status.
func status(to *client.PetStatus) *value[client.PetStatus] {
	return config.Word(to, "available", "pending", "sold")
}

func (a *app) petsList() *cobra.Command {
	var page pageFlags
	var params client.ListPetsParams
	return a.remote(remote{
		use: "list [--id ID,...] [--status S,...] [--category ID] [--name TEXT] [--newest] [--limit N] [--cursor CURSOR | --all]", short: "List pets",
		flags: func(f *pflag.FlagSet) {
			f.Var(listOf(&params.ID, id(nil)), "id", "only the pets `ID,...`")
			f.Var(listOf(&params.Status, status(nil)), "status", "only pets with the status `S,...`: available, pending or sold")
			f.Var(id(&params.CategoryID), "category", "only pets in the category with `ID`")
			f.Var(text(&params.Name), "name", "only pets whose name contains `TEXT`")
			page.sorted(f)
		},
		run: func(ctx context.Context, c *client.Client, _ []string) error {
			params.Limit, params.Cursor, params.Sort = page.limit, page.cursor, page.sort()
			return listed(a, page, func() (client.Page[client.Pet], error) { return c.ListPets(ctx, params) }, c.AllPets(ctx, params), petRows)
		},
	})
}

func (a *app) petsGet() *cobra.Command {
	return item(a, remote{use: "get ID", args: cobra.ExactArgs(1), short: "Show a pet"}, petRows,
		byID("ID", func(ctx context.Context, c *client.Client, id int64) (client.Pet, error) { return c.PetByID(ctx, id) }))
}

func (a *app) petsCreate() *cobra.Command {
	var pet client.NewPet
	return item(a, remote{
		use: "create NAME --category ID [--status S]", needs: []string{"category"}, args: cobra.ExactArgs(1), short: "Create a pet",
		flags: func(f *pflag.FlagSet) {
			f.Var(id(&pet.CategoryID), "category", "put the pet into the category with `ID`")
			f.Var(status(&pet.Status), "status", "the status `S`: available, pending or sold (default available)")
		},
	}, petRows, func(ctx context.Context, c *client.Client, args []string) (client.Pet, error) {
		pet.Name = args[0]
		return c.CreatePet(ctx, pet)
	})
}

func (a *app) petsUpdate() *cobra.Command {
	var patch client.PetPatch
	return item(a, remote{
		use: "update ID [--name N] [--category ID] [--status S]", args: cobra.ExactArgs(1), short: "Change a pet", changes: []string{"name", "category", "status"},
		flags: func(f *pflag.FlagSet) {
			f.Var(text(&patch.Name), "name", "the new name `N`")
			f.Var(id(&patch.CategoryID), "category", "put the pet into the category with `ID`")
			f.Var(nullable(&patch.Status, status(nil), "none"), "status", "the new status `S`: available, pending or sold; an empty one lets the stock decide")
		},
	}, petRows, byID("ID", func(ctx context.Context, c *client.Client, id int64) (client.Pet, error) {
		return c.UpdatePet(ctx, id, patch)
	}))
}

func (a *app) petsDelete() *cobra.Command {
	return a.removed(remote{use: "delete ID", short: "Delete a pet that has no open orders"}, "Deleted the pet", (*client.Client).DeletePet)
}
