package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelpSaysDefaultsOnce looks at the flags of every command. A flag that must be given has no default.
func TestHelpSaysDefaultsOnce(t *testing.T) {
	t.Parallel()
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			one := pflag.NewFlagSet("", pflag.ContinueOnError)
			one.AddFlag(f)
			most := 1
			if strings.Contains(cmd.Use, " --"+f.Name+" ") { // not in brackets
				most = 0
			}
			if usage := one.FlagUsages(); strings.Count(usage, "(default") > most {
				t.Errorf("%s --help says more than %d defaults: %s", cmd.CommandPath(), most, usage)
			} else if strings.Contains(usage, "default default") {
				t.Errorf("%s --help does not quote a default: %s", cmd.CommandPath(), usage)
			}
		})
		for _, c := range cmd.Commands() {
			look(c)
		}
	}
	look(Root())
}
