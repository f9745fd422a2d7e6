package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/client"
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// A Client is an [Operator] that calls the API on a server's operations listener.
// Errors of the API are returned as [petstore.Error].
type Client struct {
	server  string
	http    *http.Client
	api     *client.Client // it repeats no request
	makeKey *client.Client // it repeats a request once if the answer was lost
}

var _ Operator = (*Client)(nil)

// NewClient returns the client of the server at a URL. It does not call it yet.
func NewClient(server, token string) (c *Client, err error) {
	// A redirection could lead the token elsewhere.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c = &Client{server: server, http: &http.Client{CheckRedirect: stay}}
	open := func(attempts int) (*client.Client, error) {
		return client.New(server, token, client.WithHTTPClient(c.http), client.WithUserAgent("petstore-cli"), client.WithRetry(client.Retry{Attempts: attempts}))
	}
	if c.api, err = open(1); err != nil {
		return nil, err
	}
	c.makeKey, err = open(2)
	return c, err
}

// answerWithin is how long a server may take to answer, except for the removal of a
// workspace's contents.
const answerWithin = 30 * time.Second

// A request is a request to the operator's API.
type request struct {
	method, path string
	query        url.Values
	body         any  // nil for none
	makesKey     bool // the server carries it out once, also if it is repeated
	long         bool // it may take long
}

// call sends a request and returns its result or its error, and the cursor of the next page.
func call[T any](ctx context.Context, c *Client, r request) (result T, next string, err error) {
	if !r.long {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, answerWithin)
		defer cancel()
	}
	api := c.api
	if r.makesKey {
		api = c.makeKey
	}
	text, resp, err := api.Do(ctx, client.Request{Operation: r.method + " " + r.path, Method: r.method, Path: Root + r.path, Query: r.query, Body: r.body, MediaType: "application/json"})
	switch {
	case err != nil:
		return result, "", c.refusal(err)
	case len(text) > 0:
		if err := json.Unmarshal(text, &result); err != nil {
			return result, "", fmt.Errorf("%s has no operator's API: its answer is something else: %w", c.server, err)
		}
	}
	return result, resp.Next(), nil
}

// refusal returns the error of a request without the words of the package client.
func (c *Client) refusal(err error) error {
	e, answered := errors.AsType[*client.Error](err)
	switch {
	case !answered:
		return cmp.Or(errors.Unwrap(err), errors.New(strings.TrimPrefix(err.Error(), "petstore: ")))
	case e.Code == "route_not_found": // of the public listener
		return fmt.Errorf("%s has no operator's API; give the URL of the operations listener (--ops-addr of serve)", c.server)
	case e.Code == "":
		return fmt.Errorf("%s has no operator's API: %d: %s", c.server, e.Status, e.Message)
	}
	return &petstore.Error{Code: petstore.Code(e.Code), Message: e.Message}
}

// list reads all pages of a list.
func list[T any](ctx context.Context, c *Client, path string, query url.Values) ([]T, error) {
	for all := []T{}; ; {
		page, next, err := call[[]T](ctx, c, request{method: http.MethodGet, path: path, query: query})
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); next == "" {
			return all, nil
		}
		query.Set("cursor", next)
	}
}

// longPages asks for pages that are as long as they may be.
func longPages() url.Values { return url.Values{"limit": {"100"}} }

func one[T any](ctx context.Context, c *Client, r request) (T, error) {
	result, _, err := call[T](ctx, c, r)
	return result, err
}

// Root is the path of the operator's API.
const Root = "/admin/v1"

// Find implements [Operator].
func (c *Client) Find(ctx context.Context, name string) (Workspace, error) {
	found, err := list[Workspace](ctx, c, "/workspaces", url.Values{"name": {name}})
	if err != nil {
		return Workspace{}, err
	}
	if len(found) == 0 {
		return Workspace{}, noWorkspace(name)
	}
	return found[0], nil
}

// workspacePath returns the path of a workspace.
func workspacePath(id int64) string { return "/workspaces/" + strconv.FormatInt(id, 10) }

// onKey sends a request about a key. r.path is appended to the key's path. An id that
// is not well formed is refused, since one such as ".." would lead to another path.
func (c *Client) onKey(ctx context.Context, id string, r request) (Key, error) {
	if !access.WellFormedID(id) {
		return Key{}, access.NoKey(id)
	}
	r.path = "/keys/" + id + r.path
	return one[Key](ctx, c, r)
}

// CreateWorkspace implements [Operator].
func (c *Client) CreateWorkspace(ctx context.Context, n NewWorkspace) (Workspace, error) {
	return one[Workspace](ctx, c, request{method: http.MethodPost, path: "/workspaces", body: n})
}

// Workspaces implements [Operator].
func (c *Client) Workspaces(ctx context.Context) ([]Workspace, error) {
	all, err := list[Workspace](ctx, c, "/workspaces", longPages())
	return byName(all), err
}

// Workspace implements [Operator].
func (c *Client) Workspace(ctx context.Context, id int64) (WorkspaceDetail, error) {
	return one[WorkspaceDetail](ctx, c, request{method: http.MethodGet, path: workspacePath(id)})
}

// Rename implements [Operator].
func (c *Client) Rename(ctx context.Context, id int64, to string) (Workspace, error) {
	return one[Workspace](ctx, c, request{method: http.MethodPatch, path: workspacePath(id), body: map[string]string{"name": to}})
}

// SetPlan implements [Operator].
func (c *Client) SetPlan(ctx context.Context, id int64, p Plan) (Workspace, error) {
	return one[Workspace](ctx, c, request{method: http.MethodPut, path: workspacePath(id) + "/plan", body: p})
}

// Reset implements [Operator].
func (c *Client) Reset(ctx context.Context, id int64) error {
	_, err := one[struct{}](ctx, c, request{method: http.MethodPost, path: workspacePath(id) + "/reset", long: true})
	return err
}

// Delete implements [Operator].
func (c *Client) Delete(ctx context.Context, id int64) error {
	_, err := one[struct{}](ctx, c, request{method: http.MethodDelete, path: workspacePath(id), long: true})
	return err
}

// Keys implements [Operator].
func (c *Client) Keys(ctx context.Context, workspace int64) ([]Key, error) {
	return list[Key](ctx, c, workspacePath(workspace)+"/keys", longPages())
}

// CreateKey implements [Operator].
func (c *Client) CreateKey(ctx context.Context, workspace int64, n NewKey) (Key, error) {
	return one[Key](ctx, c, request{method: http.MethodPost, path: workspacePath(workspace) + "/keys", body: n, makesKey: true})
}

// RotateKey implements [Operator].
func (c *Client) RotateKey(ctx context.Context, id string, overlap time.Duration) (Key, error) {
	return c.onKey(ctx, id, request{method: http.MethodPost, path: "/rotate", body: map[string]string{"overlap": seconds(overlap)}, makesKey: true})
}

// RevokeKey implements [Operator].
func (c *Client) RevokeKey(ctx context.Context, id string) (Key, error) {
	return c.onKey(ctx, id, request{method: http.MethodDelete})
}

// BanKey implements [Operator].
func (c *Client) BanKey(ctx context.Context, id string, b NewBan) (Key, error) {
	return c.onKey(ctx, id, request{method: http.MethodPut, path: "/ban", body: map[string]string{"for": seconds(b.For), "reason": b.Reason}})
}

// UnbanKey implements [Operator].
func (c *Client) UnbanKey(ctx context.Context, id string) (Key, error) {
	return c.onKey(ctx, id, request{method: http.MethodDelete, path: "/ban"})
}

// seconds returns a duration in the form of the API, rounded up to whole seconds.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10) + "s"
}
