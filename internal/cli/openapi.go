package cli

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/petstore/api"
)

func openapiCommand(a *app) *cobra.Command {
	return newCommand(a, spec{
		use: "openapi [-o json|yaml]", short: "Print the OpenAPI description of the API",
		long:     "Print the OpenAPI description of the API. Its server is the one at --base-url; without it, a\nrelative URL, which many tools cannot use.",
		settings: []string{"base-url"}, output: &output{forms: []string{"yaml", "json"}},
		run: func(context.Context, []string) error {
			text := api.JSONAt(a.config.BaseURL)
			if a.chosen() == "yaml" {
				text = api.YAMLAt(a.config.BaseURL)
			}
			_, err := a.out.Write(text)
			return err
		},
	})
}
