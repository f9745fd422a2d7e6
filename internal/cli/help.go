package cli

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// builtin adds the commands of the library, help and completion, which then
// refuse what they do not know as ours do.
func (a *app) builtin(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = knownCommand
		case "completion":
			cmd.Args, cmd.RunE = cobra.ArbitraryArgs, runGroup
			for _, shell := range cmd.Commands() {
				shell.Args = argumentsOf(shell.Use)
			}
		}
	}
}

// A worded value of a flag knows the words that it takes.
type worded interface{ Words() []string }

// complete lets shells complete the flags of cmd, and of the commands below it,
// with the words that they take; with names of files only where those are meant.
func complete(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		words := cobra.NoFileCompletions
		if v, ok := f.Value.(worded); ok {
			words = cobra.FixedCompletions(v.Words(), cobra.ShellCompDirectiveNoFileComp)
		}
		if is, _ := pflag.UnquoteUsage(f); slices.Contains([]string{"FILE", "PATH", "DIR"}, is) {
			return
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, words); err != nil {
			panic(err) // it was registered twice
		}
	})
	for _, c := range cmd.Commands() {
		complete(c)
	}
}

// knownCommand returns an error unless the words are those of a command.
func knownCommand(help *cobra.Command, words []string) error {
	cmd, rest, err := help.Root().Find(slices.Clone(words))
	if err == nil && len(rest) > 0 {
		err = unknownCommand(cmd, rest[0])
	}
	return err
}
