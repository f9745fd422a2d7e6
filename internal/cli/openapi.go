package cli

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/petstore/api"
)

func openapiCommand(a *app) *cobra.Command {
	return newCommand(a, spec{
		use: "openapi [-o json|yaml]", short: "Print the OpenAPI description of the API",
		output: &output{forms: []string{"yaml", "json"}},
		run: func(context.Context, []string) error {
			text := api.JSON()
			if a.chosen() == "yaml" {
				text = api.YAML()
			}
			_, err := a.out.Write(text)
			return err
		},
	})
}
