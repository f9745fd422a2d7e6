// Package cli is the command line: one file for each noun. What serve serves, package
// node assembles. Package cli alone may import every other package.
package cli

import (
	"context"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"example.com/petstore/internal/config"
)

// An app is one run of the program. Commands are made by functions that take it.
type app struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
	now      func() time.Time

	config  *config.Config
	origins config.Origins // where the flags of the command that runs have their values from
	output  *output        // how the command that runs prints
}

// Main runs the command that args name, without the program's name, and returns the exit
// code. It writes results to stdout and everything else to stderr. The end of ctx interrupts
// the command; serve then stops as after a SIGTERM.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	a := &app{in: stdin, out: stdout, err: stderr, getenv: getenv, now: time.Now, config: config.New()}
	root := newRoot(a, args...)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	return a.exit(ctx, err)
}

const rootLong = `Petstore is an HTTP API for pets, categories, stock and orders.

Every setting of the server can also be given as an environment variable, such as
PETSTORE_LOG_LEVEL for --log-level, or in the YAML file of --config. A flag takes
precedence over its variable, a variable over the file, and the file over the default.
"petstore config print" shows each value and where it comes from.

These flags have variables too: --config, --key, --secret, --token, -o (PETSTORE_OUTPUT)
and --server (PETSTORE_SERVER for "petstore api"; PETSTORE_OPS_SERVER for "petstore
workspace" and "petstore key"). All other flags can only be given on the command line.

Exit codes: 0 success, 1 failure, 2 wrong usage, 130 interrupted.`

// newRoot returns the command petstore. Those of its commands that are made from a description are empty unless one of
// words, which the user gave, is their name, because a description takes some milliseconds to read.
func newRoot(a *app, words ...string) *cobra.Command {
	root := newGroup("petstore", "An HTTP API for pets, categories, stock and orders.")
	given := func(word string) bool { return slices.Contains(words, word) }
	var operations, managing map[string][]*apiCommand
	if given("api") || given("webhook") {
		operations = apiCommands(a, readDescription())
	}
	if given("workspace") || given("key") {
		managing = apiCommands(a, readAdmin())
	}
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"service", "Run a server:", []*cobra.Command{
			serveCommand(a), sandboxCommand(a), healthcheckCommand(a), doctorCommand(a),
			newGroup("config", "Show the settings of the server", configPrint(a)), operatorCommand(a),
		}},
		{"access", "Workspaces and keys:", []*cobra.Command{
			newGroup("workspace", "Create, list, change and delete workspaces", commandsOf(managing["workspaces"])...),
			newGroup("key", "Create, list, change, rotate, revoke and ban API keys", commandsOf(managing["keys"])...),
		}},
		{"data", "Data:", []*cobra.Command{
			importCommand(a), exportCommand(a), eventsCommand(a), backupCommand(a), restoreCommand(a), migrateCommand(a), migrateStoreCommand(a),
		}},
		{"api", "The API:", []*cobra.Command{newAPIGroup(operations), newWebhookGroup(operations[webhooks]), listenCommand(a), openapiCommand(a)}},
		{"other", "Other:", []*cobra.Command{versionCommand(a)}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, cmd := range g.commands {
			cmd.GroupID = g.id
		}
		root.AddCommand(g.commands...)
	}
	root.SetHelpCommandGroupID("other")
	root.SetCompletionCommandGroupID("other")
	root.Version = version().Version
	root.SetVersionTemplate("petstore {{.Version}}\n")
	root.Long = rootLong
	root.Example = "  petstore serve --demo"
	root.PersistentFlags().String(config.FileFlag, "", "read settings from the YAML `FILE`")
	config.FromEnvironment(root.PersistentFlags(), config.FileFlag)
	addBuiltin(root)
	return root
}

// A spec describes a command.
type spec struct {
	use     string               // the words of the command line, arguments in capitals
	args    cobra.PositionalArgs // nil for none
	short   string
	long    string
	example string

	needs    []string                  // flags that must be given
	settings []string                  // of package config, registered as flags
	output   *output                   // how results are printed; nil if there is no choice
	check    func(args []string) error // what can be wrong with arguments and flags together; may be nil
	run      func(ctx context.Context, args []string) error
}

// newCommand returns the command of s. Before it runs, its flags take their values from the environment and the file.
func newCommand(a *app, s spec) *cobra.Command {
	cmd := &cobra.Command{
		Use: s.use, Short: s.short, Long: s.long, Example: s.example,
		Args:                  arguments(s.args),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			origins, err := a.config.Load(cmd.Flags(), a.getenv)
			if err != nil {
				return err
			}
			a.origins, a.output = origins, s.output
			if err := a.checkURLs(); err != nil {
				return err
			}
			if err := needed(cmd.Flags(), s.needs); err != nil {
				return err
			}
			if s.check != nil {
				if err := s.check(args); err != nil {
					return err
				}
			}
			return s.run(cmd.Context(), args)
		},
	}
	if len(s.settings) > 0 {
		a.config.Register(cmd.Flags(), s.settings...)
	}
	if s.output != nil {
		s.output.register(cmd.Flags())
	}
	return configure(cmd)
}

// needed returns an error unless the flags of these names are given.
func needed(flags *pflag.FlagSet, names []string) error {
	for _, name := range names {
		if f := flags.Lookup(name); !f.Changed {
			_, usage := pflag.UnquoteUsage(f)
			return usagef("--%s is needed: %s", name, usage)
		}
	}
	return nil
}

// newGroup returns a command that only holds others.
func newGroup(name, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: short,
		Args: cobra.ArbitraryArgs, SuggestionsMinimumDistance: 2,
		RunE: runGroup,
	}
	cmd.AddCommand(commands...)
	return configure(cmd)
}

// runGroup returns the error for a word that is no command, or for a group without one. The root without a word prints
// its help.
func runGroup(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 0:
		return unknownCommand(cmd, args[0])
	case cmd.HasParent():
		return usagef("%q needs a command; see %[1]s --help", cmd.CommandPath())
	}
	return cmd.Help()
}

// configure sets what all commands have in common.
func configure(cmd *cobra.Command) *cobra.Command {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.Flags().SortFlags = false
	cmd.SetFlagErrorFunc(flagError)
	return cmd
}

// terminal reports whether a stream of the program is a terminal.
func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
