package cli

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/client"
)

func (a *app) apiCategories() *cobra.Command {
	return a.group("categories", "List, show, create, change and delete categories",
		a.categoriesList(), a.categoriesGet(), a.categoriesCreate(), a.categoriesUpdate(), a.categoriesDelete())
}

func categoryRows(categories []client.Category) rows {
	r := rows{{"ID", "NAME", "DESCRIPTION"}}
	for _, c := range categories {
		r.add(number(c.ID), c.Name, c.Description)
	}
	return r
}

func (a *app) categoriesList() *cobra.Command {
	var page pageFlags
	var params client.ListCategoriesParams
	return a.remote(remote{
		use: "list [--name TEXT] [--newest] [--limit N] [--cursor CURSOR | --all]", short: "List categories",
		flags: func(f *pflag.FlagSet) {
			f.Var(text(&params.Name), "name", "only categories whose name contains `TEXT`")
			page.sorted(f)
		},
		run: func(ctx context.Context, c *client.Client, _ []string) error {
			params.Limit, params.Cursor, params.Sort = page.limit, page.cursor, page.sort()
			return listed(a, page, func() (client.Page[client.Category], error) { return c.ListCategories(ctx, params) },
				c.AllCategories(ctx, params), categoryRows)
		},
	})
}

func (a *app) categoriesGet() *cobra.Command {
	return item(a, remote{use: "get ID", args: cobra.ExactArgs(1), short: "Show a category"}, categoryRows,
		byID("ID", func(ctx context.Context, c *client.Client, id int64) (client.Category, error) {
			return c.GetCategory(ctx, id)
		}))
}

func (a *app) categoriesCreate() *cobra.Command {
	var category client.NewCategory
	return item(a, remote{
		use: "create NAME [--description TEXT]", args: cobra.ExactArgs(1), short: "Create a category",
		flags: func(f *pflag.FlagSet) {
			f.Var(text(&category.Description), "description", "the description `TEXT`")
		},
	}, categoryRows, func(ctx context.Context, c *client.Client, args []string) (client.Category, error) {
		category.Name = args[0]
		return c.CreateCategory(ctx, category)
	})
}

func (a *app) categoriesUpdate() *cobra.Command {
	var patch client.CategoryPatch
	return item(a, remote{
		use: "update ID [--name N] [--description TEXT]", args: cobra.ExactArgs(1), short: "Change a category", changes: []string{"name", "description"},
		flags: func(f *pflag.FlagSet) {
			f.Var(text(&patch.Name), "name", "the new name `N`")
			f.Var(nullable(&patch.Description, text(nil)), "description", "the new description `TEXT`; an empty one removes it")
		},
	}, categoryRows, byID("ID", func(ctx context.Context, c *client.Client, id int64) (client.Category, error) {
		return c.UpdateCategory(ctx, id, patch)
	}))
}

func (a *app) categoriesDelete() *cobra.Command {
	return a.removed(remote{use: "delete ID", short: "Delete a category that no pet belongs to"}, "Deleted the category", (*client.Client).DeleteCategory)
}
