package cli

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/config"
)

// settingView is a setting as it is printed.
type settingView struct {
	Name   string        `json:"name"`
	Value  string        `json:"value"`
	Source config.Origin `json:"source"`
}

func configPrint(a *app) *cobra.Command {
	cmd := newCommand(a, spec{
		use:   "print",
		short: "Print each setting, its value and where it comes from",
		long: `Print each setting, its value, and where it comes from: a flag, a variable, a line of
the file, or the default. Give it the same flags as serve. Passwords are hidden.

The file of --config is YAML, with one line for each setting, named like its flag.
Values with commas can also be lists:

  addr: 0.0.0.0:8080
  log-level: warn
  trusted-proxies: [10.0.0.0/8, 192.168.0.0/16]`,
		output: tables(),
		run: func(context.Context, []string) error {
			views, table := []settingView{}, rows{{"NAME", "VALUE", "SOURCE"}}
			for _, s := range a.config.Settings() {
				v := settingView{s.Name, s.Value(), a.origins.Of(s.Name)}
				views, table = append(views, v), append(table, []string{v.Name, v.Value, string(v.Source)})
			}
			return a.print(views, table)
		},
	})
	a.config.Register(cmd.Flags())
	return cmd
}
