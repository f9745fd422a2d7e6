package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/client"
	"example.com/petstore/internal/config"
)

func (a *app) apiCommand() *cobra.Command {
	cmd := a.group("api", "Call the API of any server",
		a.apiPets(), a.apiCategories(), a.apiOrders(), a.apiInventory(), a.apiKeys(), a.apiAccount())
	cmd.Long = `Call the API of any server, with an API key.

Give the key as PETSTORE_KEY rather than as a flag: other users of this machine can see
the command lines of running programs. The key is never printed.

If the rate limit refuses a request, it is repeated when the server says so, unless that
takes more than two minutes. If a response is lost, the request is repeated if that is
safe.`
	cmd.Example = "  export PETSTORE_SERVER=https://petstore.example PETSTORE_KEY=pst_…\n  petstore api pets list --status available --all"
	return cmd
}

// A remote is a command on a server.
type remote struct {
	use, short, long string
	args             cobra.PositionalArgs
	aliases, needs   []string
	changes          []string // flags of which one must be given at least
	flags            func(*pflag.FlagSet)
	run              func(ctx context.Context, c *client.Client, args []string) error
}

// remote returns the command of r, with the flags that each has.
func (a *app) remote(r remote) *cobra.Command {
	var server, key string
	cmd := a.command(spec{
		use: r.use, args: r.args, needs: r.needs, short: r.short, long: r.long, output: tables(),
		run: func(ctx context.Context, args []string) error {
			c, err := a.dial(server, key)
			if err != nil {
				return err
			}
			if len(r.changes) > 0 && !slices.ContainsFunc(r.changes, a.given) {
				last := len(r.changes) - 1
				return usagef("nothing to change: give --%s or --%s", strings.Join(r.changes[:last], ", --"), r.changes[last])
			}
			return apiError(ctx, r.run(ctx, c, args))
		},
	})
	if r.flags != nil {
		r.flags(cmd.Flags())
	}
	cmd.Flags().StringVar(&server, "server", "http://127.0.0.1:8080", "`URL` of the server")
	cmd.Flags().StringVar(&key, "key", "", "the API `KEY`")
	config.FromEnvironment(cmd.Flags(), "server", "key")
	cmd.Aliases = r.aliases
	return cmd
}

// item returns the command that has the server do something, and prints the item that it answers.
func item[T any](a *app, r remote, table func([]T) rows, do func(ctx context.Context, c *client.Client, args []string) (T, error)) *cobra.Command {
	r.run = func(ctx context.Context, c *client.Client, args []string) error {
		got, err := do(ctx, c, args)
		if err != nil {
			return err
		}
		return a.print(got, func() rows { return table([]T{got}) })
	}
	return a.remote(r)
}

// byID is the work of a command whose first argument, which use names as what, is the id of a row.
func byID[T any](what string, do func(ctx context.Context, c *client.Client, id int64) (T, error)) func(context.Context, *client.Client, []string) (T, error) {
	return func(ctx context.Context, c *client.Client, args []string) (result T, err error) {
		id, err := idOf(what, args[0])
		if err != nil {
			return result, err
		}
		return do(ctx, c, id)
	}
}

// dial returns the client for a command. It does not call the server yet.
func (a *app) dial(server, key string) (*client.Client, error) {
	if key == "" {
		return nil, usagef("an API key is needed: set PETSTORE_KEY, or --key")
	}
	c, err := client.New(server, key,
		client.WithUserAgent("petstore-cli"),
		client.OnRetry(func(t client.Attempt) {
			fmt.Fprintf(a.err, "petstore: trying again in %v: %s\n", t.Wait.Round(100*time.Millisecond), withoutPrefix(t.Err))
		}),
		client.OnDeprecation(func(d client.Deprecation) {
			fmt.Fprintf(a.err, "petstore: the operation %s is deprecated and ends on %s; a newer petstore may not need it\n", d.Operation, moment(d.Sunset, "a day to come"))
		}),
	)
	if err != nil {
		return nil, usagef("--server or --key: %s", withoutPrefix(err))
	}
	return c, nil
}

// apiError returns err in the words of the command line.
func apiError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	}
	if usage, ok := errors.AsType[*usageError](err); ok {
		return usage
	}
	return errors.New(withoutPrefix(err))
}

// withoutPrefix returns the text of err without the program's name, which is said once for all errors.
func withoutPrefix(err error) string { return strings.TrimPrefix(err.Error(), "petstore: ") }

// given reports whether a flag has a value from anywhere but its default.
func (a *app) given(flag string) bool { return a.origins.Of(flag) != config.Default }

// idOf reads an id, which use names as what.
func idOf(what, text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, usagef("%s: %q is not an id: must be a whole number from 1 on", what, text)
	}
	return id, nil
}

// pageFlags choose what part of a list is printed.
type pageFlags struct {
	limit  int
	cursor string
	all    bool
	newest bool
}

func (p *pageFlags) register(flags *pflag.FlagSet) {
	flags.Var(config.Whole(&p.limit, 1, 100), "limit", "print at most `N` items, 1 to 100 (default 20)")
	flags.Var(text(&p.cursor), "cursor", "continue at `CURSOR`, which the previous page printed")
	flags.BoolVar(&p.all, "all", false, "print all pages")
}

// sorted is register for a list that can begin with the newest.
func (p *pageFlags) sorted(flags *pflag.FlagSet) {
	p.register(flags)
	flags.BoolVar(&p.newest, "newest", false, "print the newest first")
}

func (p *pageFlags) sort() string {
	if p.newest {
		return string(client.SortNewestFirst)
	}
	return ""
}

// listed prints a page, or all pages, of items. It says on stderr where the next page starts.
func listed[T any](a *app, p pageFlags, page func() (client.Page[T], error), all iter.Seq2[T, error], table func([]T) rows) error {
	items := []T{}
	if p.all {
		for item, err := range all {
			if err != nil {
				return err
			}
			items = append(items, item)
		}
		return a.print(items, func() rows { return table(items) })
	}
	got, err := page()
	if err != nil {
		return err
	}
	if err := a.print(append(items, got.Items...), func() rows { return table(got.Items) }); err != nil {
		return err
	}
	if got.Next != "" {
		fmt.Fprintf(a.err, "petstore: there is more: use --all, or --cursor %s\n", got.Next)
	}
	return nil
}

// removal is what is printed of something that is no more.
type removal[ID int64 | string] struct {
	ID      ID   `json:"id"`
	Deleted bool `json:"deleted"`
}

// removed returns the command that does away with what has an id.
func (a *app) removed(r remote, did string, remove func(*client.Client, context.Context, int64, ...client.CallOption) error) *cobra.Command {
	r.args = cobra.ExactArgs(1)
	r.run = func(ctx context.Context, c *client.Client, args []string) error {
		id, err := idOf("ID", args[0])
		if err != nil {
			return err
		}
		if err := remove(c, ctx, id); err != nil {
			return err
		}
		return a.done(removal[int64]{id, true}, "%s %d", did, id)
	}
	return a.remote(r)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
