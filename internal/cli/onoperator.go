package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.com/petstore/client"
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/node"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
)

// onOperator returns the command of s. It calls the operator's API: of a server, or in this process on the database.
func (c *apiCommand) onOperator(s spec) *cobra.Command {
	var server, token string
	s.settings = []string{"db"}
	s.run = func(ctx context.Context, _ []string) error {
		toServer, err := wantsServer(c.app)
		switch {
		case err != nil:
			return err
		case toServer:
			return c.onServer(ctx, server, token)
		}
		if err := c.checkNew(); err != nil {
			return err
		}
		return c.withStoreFor(ctx, store.OpenOptions{NoMigrate: !c.migrates}, func(db node.Store) error {
			if err := c.onStore(ctx, db); err != nil || c.asks == "" {
				return err
			}
			return db.Resume(ctx) // removes the rows, also if there is no server that does
		})
	}
	cmd := newCommand(c.app, s)
	c.registerFlags(cmd.Flags())
	cmd.Flags().StringVar(&server, "server", "http://127.0.0.1:9090", "with a token: use the server whose operations listener is at `URL` (or PETSTORE_OPS_SERVER) instead of the database")
	cmd.Flags().StringVar(&token, "token", "", "the operator's `TOKEN` for --server")
	config.FromVariable(cmd.Flags(), "server", "PETSTORE_OPS_SERVER") // PETSTORE_SERVER is the API's, which must not get the token
	config.FromEnvironment(cmd.Flags(), "token")
	return cmd
}

// wantsServer reports whether a command calls a server: it does if a server or a token is given, unless --db is on the
// command line.
func wantsServer(a *app) (bool, error) {
	if a.origins.Of("db") != "--db" {
		return a.given("server") || a.given("token"), nil
	}
	if a.origins.Of("server") == "--server" || a.origins.Of("token") == "--token" {
		return false, usagef("give --db, or --server with a token, and not both")
	}
	return false, nil
}

// onServer carries out the command with a server. If only a variable with a token made the command call it, errors say so.
func (c *apiCommand) onServer(ctx context.Context, server, token string) error {
	if token == "" {
		return usagef("an operator's token is needed: set PETSTORE_TOKEN or --token; create one with petstore operator token create")
	}
	attempts := 1
	if c.secret != "" { // the server makes a key once, also if it is asked again
		attempts = 2
	}
	api, err := c.client(server, "token", token, client.WithRetry(client.Retry{Attempts: attempts}))
	if err != nil {
		return err
	}
	if u, err := url.Parse(server); err == nil && u.Scheme == "http" && u.Hostname() != "localhost" {
		if ip, _ := netip.ParseAddr(u.Hostname()); !ip.IsLoopback() {
			fmt.Fprintf(c.err, "petstore: the token is sent to %s unencrypted; use https, or a tunnel to the server's loopback\n", u.Hostname())
		}
	}
	err = c.refusal(ctx, server, c.onWorkspace(ctx, api))
	if from := c.origins.Of("token"); err != nil && from != "--token" && !c.given("server") {
		err = errors.Join(err, fmt.Errorf("%s was asked instead of the database, because %s is set", server, from))
	}
	return err
}

// onStore carries out the command on a database. Its errors have their causes, which no server would tell.
func (c *apiCommand) onStore(ctx context.Context, db node.Store) error {
	secret, err := db.Secret(ctx)
	if err != nil {
		return err
	}
	var cause error
	admin, err := httpapi.NewAdmin(httpapi.AdminOptions{
		Access: db, Counts: operator.Saved(db, c.now), Secret: secret, Now: c.now,
		As: actor, Failed: func(err error) { cause = err },
		Log: slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: slog.LevelError})), // of panics
	})
	if err != nil {
		return err
	}
	api, err := client.New("http://petstore", "none", client.WithHTTPClient(&http.Client{Transport: inProcess{admin}}), client.WithRetry(client.Retry{}))
	if err != nil {
		return err
	}
	if err = c.refusal(ctx, "", c.onWorkspace(ctx, api)); err != nil && cause != nil && ctx.Err() == nil {
		return cause
	}
	return err
}

// inProcess has a handler of this process answer requests.
type inProcess struct{ http.Handler }

// RoundTrip implements [http.RoundTripper].
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	a := &answered{header: http.Header{}}
	p.ServeHTTP(a, r)
	return &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(&a.body), Request: r}, nil
}

// answered is an [http.ResponseWriter] that keeps the answer.
type answered struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (a *answered) Header() http.Header         { return a.header }
func (a *answered) WriteHeader(status int)      { a.status = status }
func (a *answered) Write(p []byte) (int, error) { return a.body.Write(p) }

// onWorkspace carries out the command, on the workspace that its first argument names if it is about one. It is the one
// that was confirmed, should another have its name by now.
func (c *apiCommand) onWorkspace(ctx context.Context, api *client.Client) error {
	if !strings.Contains(c.req.Path, "{"+workspaceID+"}") {
		return c.run(ctx, api)
	}
	if err := c.find(ctx, api, fmt.Sprint(c.args[0].value)); err != nil {
		return err
	}
	if c.asks != "" {
		if err := c.confirm(ctx, c.yes, fmt.Sprintf(c.asks, c.found.Name), c.found.Name); err != nil {
			return err
		}
	}
	c.req.Path = strings.Replace(c.req.Path, "{"+workspaceID+"}", strconv.FormatInt(c.found.ID, 10), 1)
	return c.run(ctx, api)
}

// find looks up the workspace with a name.
func (c *apiCommand) find(ctx context.Context, api *client.Client, name string) error {
	text, _, err := api.Do(ctx, client.Request{Operation: "listWorkspaces", Method: http.MethodGet, Path: operator.Root + "/workspaces", Query: url.Values{"name": {name}}})
	if err != nil {
		return err
	}
	var found []access.Workspace
	if err := json.Unmarshal(text, &found); err != nil {
		return fmt.Errorf("the answer to listWorkspaces: %w", err)
	}
	if len(found) == 0 {
		return petstore.Errorf(access.CodeWorkspaceNotFound, "There is no workspace named %.100q.", name)
	}
	c.found = found[0]
	return nil
}

// printChange says what was done: to the workspace that was found, or to the key of the answer.
func (c *apiCommand) printChange(answer json.RawMessage) error {
	if c.asks != "" {
		return c.printDone(c.found, "%s the workspace %s", c.did, c.found.Name)
	}
	var k operator.Key
	if err := json.Unmarshal(answer, &k); err != nil {
		return fmt.Errorf("the answer to %s: %w", c.OperationID, err)
	}
	return c.printDone(answer, "%s the key %s (%s) of %s", c.did, k.ID, k.Name, k.Workspace)
}

// refusal returns the error of a command in the words of the command line: without the request and its codes, and with the
// flag or the argument that is at fault.
func (c *apiCommand) refusal(ctx context.Context, server string, err error) error {
	e, answered := errors.AsType[*client.Error](err)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case server != "" && (isUnreadable(err) || answered && (e.Code == "" && e.Status < http.StatusInternalServerError || e.Code == "route_not_found")): // such as the public listener
		const meant = "give the URL of the operations listener (--ops-addr of serve)"
		return fmt.Errorf("%s has no operator's API; %s: %s", server, meant, withoutPrefix(err))
	case !answered || e.Code == "":
		return err
	}
	for _, f := range e.Errors {
		if err := c.blame(f.Pointer, f.Message); err != nil {
			return err
		}
	}
	return &petstore.Error{Code: petstore.Code(e.Code), Message: e.Message}
}

// isUnreadable reports whether err is about an answer that is no JSON, or not that of the operation.
func isUnreadable(err error) bool {
	_, noJSON := errors.AsType[*json.SyntaxError](err)
	_, other := errors.AsType[*json.UnmarshalTypeError](err)
	return noJSON || other
}

// checkNew refuses the name or the plan of a new workspace before a database is created or migrated for it.
func (c *apiCommand) checkNew() error {
	var n operator.NewWorkspace
	text, _ := json.Marshal(c.req.Body) // a map of texts and numbers
	_ = json.Unmarshal(text, &n)
	if _, faults := n.Check(); c.migrates && len(faults) > 0 {
		return c.blame(faults[0].Pointer, faults[0].Message)
	}
	return nil
}

// blame returns the error for the flag or the argument that is a member of the body with the pointer, or nil if none is.
func (c *apiCommand) blame(pointer, why string) error {
	for _, m := range slices.Concat(c.args, c.flags) {
		if m.in != "body" || !strings.HasPrefix(pointer+"/", "/"+m.name+"/") {
			continue
		}
		why = strings.TrimPrefix(why, m.name+" ") // it is said before the colon
		if slices.Contains(c.args, m) {
			return usagef("%s: %s", m.argument(c.noun), why)
		}
		return usagef("--%s: %s", m.flag, why)
	}
	return nil
}
