package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/node"
	"example.com/petstore/internal/sandbox"
	"example.com/petstore/internal/scratch"
)

// sandboxLife is how long the sandbox of the command lasts: longer than anybody tests.
const sandboxLife = 365 * 24 * time.Hour

func sandboxCommand(a *app) *cobra.Command {
	c := config.New()
	c.Addr, c.OpsAddr, c.LogLevel, c.DrainTimeout = "127.0.0.1:0", "127.0.0.1:0", slog.LevelWarn, 2*time.Second
	c.Sandbox = config.Sandbox{On: true, Plan: string(access.Enterprise), Life: sandboxLife, Webhooks: true}
	c.WebhookAllowHTTP = true
	c.WebhookAllowTo = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	r := sandboxRun{app: a, settings: c, catalogue: sandbox.Catalogues[0]}
	cmd := newCommand(a, spec{
		use:   "sandbox [-- COMMAND ARG...]",
		args:  cobra.ArbitraryArgs,
		short: "Start a server for a test suite, with a database that is gone afterwards",
		long: `Start a server for a test suite, on a free port of this machine and with a database of
its own that is gone afterwards. It has one workspace, a sandbox: POST /account/reset
puts it back into its first state, and the header Petstore-Simulate makes requests fail.

With COMMAND, run that with PETSTORE_URL and PETSTORE_KEY set, and end with its exit
status. Without, print one line of JSON when the server is ready, with the members url,
key, manageKey, console, operations and pid, and run until a signal.`,
		example: "  petstore sandbox -- npm test\n  petstore sandbox --catalogue large",
		run: func(ctx context.Context, args []string) error {
			r.command = args
			return r.run(ctx)
		},
	})
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.Var(config.Word(&r.catalogue, sandbox.Catalogues...), "catalogue", "begin with `CATALOGUE` demo, empty or large")
	flags.StringVar(&c.Addr, "addr", c.Addr, "serve on `HOST:PORT`")
	flags.Var(config.Word(&c.Sandbox.Plan, "free", "pro", "business", c.Sandbox.Plan), "plan", "the `PLAN` of the workspace: free, pro, business, or enterprise without limits")
	flags.BoolVar(&r.untilEOF, "until-eof", false, "end when the standard input ends")
	return cmd
}

// A sandboxRun is what the command was asked for.
type sandboxRun struct {
	*app
	settings  *config.Config // but for the database
	catalogue string
	untilEOF  bool
	command   []string
}

// An exitError is the status of a command that was run.
type exitError int

func (exitError) Error() string { return "the command failed" }

func (r *sandboxRun) run(ctx context.Context) (err error) {
	folder, err := scratch.Make("sandbox")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	r.settings.DB = filepath.Join(folder.Path, "petstore.db")
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	result := make(chan error, 1)
	waits := false // for the command
	err = node.Run(ctx, node.Options{
		Config: r.settings, Getenv: r.getenv, Version: version().Version, Log: r.err, Sandbox: r.catalogue,
		Ready: func(s node.Serving) error {
			if waits = len(r.command) > 0; waits {
				go func() {
					result <- r.runBeside(ctx, s)
					stop()
				}()
				return nil
			}
			if r.untilEOF {
				go func() {
					_, _ = io.Copy(io.Discard, r.in) // an error is an end, too
					stop()
				}()
			}
			return json.NewEncoder(r.out).Encode(startedOf(s))
		},
	})
	if waits {
		err = errors.Join(<-result, err)
	}
	return err
}

// runBeside runs the command, which knows where the service is. The end of ctx asks it to end.
func (r *sandboxRun) runBeside(ctx context.Context, s node.Serving) error {
	cmd := exec.CommandContext(ctx, r.command[0], r.command[1:]...) //nolint:gosec // it is what the user asks to run
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r.in, r.out, r.err
	cmd.Env = append(cmd.Environ(), "PETSTORE_URL="+s.URL, "PETSTORE_KEY="+s.Demo.Key)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	if ended, is := errors.AsType[*exec.ExitError](err); is {
		return exitError(max(ended.ExitCode(), Failure))
	}
	return err
}
