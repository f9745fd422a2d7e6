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
	var (
		addr      = "127.0.0.1:0"
		catalogue = sandbox.Catalogues[0]
		plan      = string(access.Enterprise)
		untilEOF  bool
	)
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
			return runSandbox(ctx, a, sandboxRun{addr, catalogue, plan, untilEOF, args})
		},
	})
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.Var(config.Word(&catalogue, sandbox.Catalogues...), "catalogue", "begin with `CATALOGUE` demo, empty or large")
	flags.StringVar(&addr, "addr", addr, "serve on `HOST:PORT`")
	flags.Var(config.Word(&plan, "free", "pro", "business", plan), "plan", "the `PLAN` of the workspace: free, pro, business, or enterprise without limits")
	flags.BoolVar(&untilEOF, "until-eof", false, "end when the standard input ends")
	return cmd
}

// A sandboxRun is what the command was asked for.
type sandboxRun struct {
	addr, catalogue, plan string
	untilEOF              bool
	command               []string
}

// An exitError is the status of a command that was run.
type exitError int

func (exitError) Error() string { return "the command failed" }

func runSandbox(ctx context.Context, a *app, r sandboxRun) (err error) {
	folder, err := scratch.Make("sandbox")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	result := make(chan error, 1)
	waits := false // for the command
	err = node.Run(ctx, node.Options{
		Config: r.config(folder.Path), Getenv: a.getenv, Version: version().Version, Log: a.err, Sandbox: r.catalogue,
		Ready: func(s node.Serving) error {
			if waits = len(r.command) > 0; waits {
				go func() {
					result <- a.runBeside(ctx, r.command, s)
					stop()
				}()
				return nil
			}
			if r.untilEOF {
				go func() {
					_, _ = io.Copy(io.Discard, a.in) // an error is an end, too
					stop()
				}()
			}
			return json.NewEncoder(a.out).Encode(startedOf(s))
		},
	})
	if waits {
		err = errors.Join(<-result, err)
	}
	return err
}

func (r *sandboxRun) config(folder string) *config.Config {
	c := config.New()
	c.Addr, c.OpsAddr, c.DB, c.LogLevel, c.DrainTimeout = r.addr, "127.0.0.1:0", filepath.Join(folder, "petstore.db"), slog.LevelWarn, 2*time.Second
	c.Sandbox = config.Sandbox{On: true, Plan: r.plan, Life: sandboxLife, Webhooks: true}
	c.WebhookAllowHTTP = true
	c.WebhookAllowTo = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	return c
}

// runBeside runs a command that knows where the service is. The end of ctx asks it to end.
func (a *app) runBeside(ctx context.Context, command []string, s node.Serving) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // it is what the user asks to run
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, a.out, a.err
	cmd.Env = append(cmd.Environ(), "PETSTORE_URL="+s.URL, "PETSTORE_KEY="+s.Demo.Key)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	if ended, is := errors.AsType[*exec.ExitError](err); is {
		return exitError(max(ended.ExitCode(), Failure))
	}
	return err
}
