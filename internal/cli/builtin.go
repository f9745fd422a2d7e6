package cli

import (
	"slices"

	"github.com/spf13/cobra"
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

// knownCommand returns an error unless the words are those of a command.
func knownCommand(help *cobra.Command, words []string) error {
	cmd, rest, err := help.Root().Find(slices.Clone(words))
	if err == nil && len(rest) > 0 {
		err = unknownCommand(cmd, rest[0])
	}
	return err
}
