package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/petstore"
)

// A Client is an [Operator] over HTTP: by the API on the operations listener of a
// server. What the server refuses is a [petstore.Error].
type Client struct {
	base  string
	token string
	http  *http.Client
}

var _ Operator = (*Client)(nil)

// NewClient returns the client of the server at a URL. It does not call it yet.
func NewClient(server, token string) (*Client, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, fmt.Errorf("%q is not an absolute http or https URL", server)
	}
	return &Client{
		base: strings.TrimRight(u.String(), "/"), token: token,
		// A redirection could lead the token elsewhere.
		http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// mostAnswer is more than a page of a list can have, in bytes.
const mostAnswer = 16 << 20

// call sends a request and reads the answer to it, or its error.
func call[T any](ctx context.Context, c *Client, method, target string, body any) (result T, link string, err error) {
	req, err := c.request(ctx, method, target, body)
	if err != nil {
		return result, "", err
	}
	resp, err := c.http.Do(req) //nolint:gosec // the URL is the operator's own
	if err != nil {
		return result, "", err
	}
	defer resp.Body.Close() // only read
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	switch {
	case err != nil:
		return result, "", err
	case resp.StatusCode >= http.StatusMultipleChoices:
		return result, "", refused(resp, text)
	case len(text) > 0:
		err = json.Unmarshal(text, &result)
	}
	return result, resp.Header.Get("Link"), err
}

func (c *Client) request(ctx context.Context, method, target string, body any) (*http.Request, error) {
	var sent bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&sent).Encode(body); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+target, &sent)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// refused returns the error of an answer.
func refused(resp *http.Response, text []byte) error {
	var e petstore.Error
	if json.Unmarshal(text, &e) == nil && e.Code != "" && e.Message != "" {
		return &e
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return fmt.Errorf("%s is no operations listener with the operator's API: it answers %d %.200s", resp.Request.URL.Host, resp.StatusCode, line)
}

// list reads all pages of a list.
func list[T any](ctx context.Context, c *Client, target string) ([]T, error) {
	all := []T{}
	for target != "" {
		page, link, err := call[[]T](ctx, c, http.MethodGet, target, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if target, _, _ = strings.Cut(strings.TrimPrefix(link, "<"), ">"); target != "" && !strings.HasPrefix(target, root) {
			return nil, errors.New("the list goes on elsewhere")
		}
	}
	return all, nil
}

func one[T any](ctx context.Context, c *Client, method, target string, body any) (T, error) {
	result, _, err := call[T](ctx, c, method, target, body)
	return result, err
}

// root is where the operator's API stands.
const root = "/admin/v1"

// Find implements [Operator].
func (c *Client) Find(ctx context.Context, name string) (Workspace, error) {
	found, err := list[Workspace](ctx, c, root+"/workspaces?name="+url.QueryEscape(name))
	if err != nil {
		return Workspace{}, err
	}
	if len(found) == 0 {
		return Workspace{}, noWorkspace(name)
	}
	return found[0], nil
}

// at returns the path of a workspace.
func (c *Client) at(ctx context.Context, name string) (string, error) {
	w, err := c.Find(ctx, name)
	return root + "/workspaces/" + strconv.FormatInt(w.ID, 10), err
}

func atKey(id string) string { return root + "/keys/" + url.PathEscape(id) }

// onWorkspace makes a request about the workspace of that name.
func onWorkspace[T any](ctx context.Context, c *Client, method, name, rest string, body any) (result T, err error) {
	at, err := c.at(ctx, name)
	if err != nil {
		return result, err
	}
	return one[T](ctx, c, method, at+rest, body)
}

// CreateWorkspace implements [Operator].
func (c *Client) CreateWorkspace(ctx context.Context, n NewWorkspace) (Workspace, error) {
	return one[Workspace](ctx, c, http.MethodPost, root+"/workspaces", n)
}

// Workspaces implements [Operator].
func (c *Client) Workspaces(ctx context.Context) ([]Workspace, error) {
	all, err := list[Workspace](ctx, c, root+"/workspaces?limit=100")
	return byName(all), err
}

// Workspace implements [Operator].
func (c *Client) Workspace(ctx context.Context, name string) (Detail, error) {
	return onWorkspace[Detail](ctx, c, http.MethodGet, name, "", nil)
}

// Rename implements [Operator].
func (c *Client) Rename(ctx context.Context, name, to string) (Workspace, error) {
	return onWorkspace[Workspace](ctx, c, http.MethodPatch, name, "", map[string]string{"name": to})
}

// SetPlan implements [Operator].
func (c *Client) SetPlan(ctx context.Context, name string, p Plan) (Workspace, error) {
	return onWorkspace[Workspace](ctx, c, http.MethodPut, name, "/plan", p)
}

// Reset implements [Operator].
func (c *Client) Reset(ctx context.Context, name string) error {
	_, err := onWorkspace[struct{}](ctx, c, http.MethodPost, name, "/reset", nil)
	return err
}

// Delete implements [Operator].
func (c *Client) Delete(ctx context.Context, name string) error {
	_, err := onWorkspace[struct{}](ctx, c, http.MethodDelete, name, "", nil)
	return err
}

// Keys implements [Operator].
func (c *Client) Keys(ctx context.Context, workspace string) ([]Key, error) {
	at, err := c.at(ctx, workspace)
	if err != nil {
		return nil, err
	}
	return list[Key](ctx, c, at+"/keys?limit=100")
}

// CreateKey implements [Operator].
func (c *Client) CreateKey(ctx context.Context, workspace string, n NewKey) (Key, error) {
	return onWorkspace[Key](ctx, c, http.MethodPost, workspace, "/keys", n)
}

// RotateKey implements [Operator].
func (c *Client) RotateKey(ctx context.Context, id string, overlap time.Duration) (Key, error) {
	return one[Key](ctx, c, http.MethodPost, atKey(id)+"/rotate", map[string]string{"overlap": seconds(overlap)})
}

// RevokeKey implements [Operator].
func (c *Client) RevokeKey(ctx context.Context, id string) (Key, error) {
	return one[Key](ctx, c, http.MethodDelete, atKey(id), nil)
}

// BanKey implements [Operator].
func (c *Client) BanKey(ctx context.Context, id string, b NewBan) (Key, error) {
	return one[Key](ctx, c, http.MethodPut, atKey(id)+"/ban", map[string]string{"for": seconds(b.For), "reason": b.Reason})
}

// UnbanKey implements [Operator].
func (c *Client) UnbanKey(ctx context.Context, id string) (Key, error) {
	return one[Key](ctx, c, http.MethodDelete, atKey(id)+"/ban", nil)
}

// seconds returns a duration as the API takes it, a part of a second as a whole one.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10) + "s"
}
