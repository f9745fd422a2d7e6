package cli

import (
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/config"
)

// addBuiltin adds the commands of the library, help and completion. They refuse unknown words as our commands do.
func addBuiltin(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = knownCommand
		case "completion":
			cmd.Args, cmd.RunE, cmd.SuggestionsMinimumDistance = cobra.ArbitraryArgs, runGroup, 2
			for _, shell := range cmd.Commands() {
				shell.Args = arguments(cobra.NoArgs)
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

// Root returns the command petstore with all its commands, for a program that describes them.
func Root() *cobra.Command {
	a := &app{out: io.Discard, err: io.Discard, getenv: func(string) string { return "" }, now: time.Now, config: config.New()}
	return newRoot(a, "api", "workspace")
}
