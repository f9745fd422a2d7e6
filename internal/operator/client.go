package operator

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// A Client is an [Operator] that calls the API on a server's operations listener.
// Errors of the API are returned as [petstore.Error].
type Client struct {
	base, token string
	http        http.Client
}

var _ Operator = (*Client)(nil)

// NewClient returns the client of the server at a URL. It does not call it yet.
func NewClient(server, token string) (*Client, error) {
	u, err := url.Parse(server)
	wrong := err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == ""
	switch {
	case wrong && strings.ContainsAny(server, "@?#"), !wrong && (u.User != nil || u.RawQuery != ""): // a password may stand in it
		return nil, errors.New("the URL has more than scheme, host and path")
	case wrong:
		return nil, fmt.Errorf("%q is not an absolute http or https URL", server)
	}
	// A redirection could lead the token elsewhere.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{strings.TrimRight(u.String(), "/"), token, http.Client{CheckRedirect: stay}}, nil
}

// answerWithin is how long a server may take to answer, except for the removal of a
// workspace's contents.
const answerWithin = 30 * time.Second

// mostAnswer is how many bytes of an answer are read. It is more than a page of a list
// can have.
const mostAnswer = 16 << 20

// A request is a request to the operator's API.
type request struct {
	method, target string
	body           any    // nil for none
	once           string // the Idempotency-Key, or ""
	long           bool   // it may take long
}

// call sends a request and returns its result or its error, and the header Link. If the
// answer was lost, it repeats a request with an Idempotency-Key once.
func call[T any](ctx context.Context, c *Client, r request) (result T, link string, err error) {
	a, err := c.send(ctx, r)
	if err != nil && r.once != "" && ctx.Err() == nil {
		a, err = c.send(ctx, r)
	}
	switch {
	case err != nil:
		return result, "", err
	case a.status >= http.StatusMultipleChoices:
		return result, "", a.refusal()
	case len(a.text) > 0:
		err = json.Unmarshal(a.text, &result)
	}
	return result, a.link, err
}

// An answer is an answer with its whole body. It may be an error.
type answer struct {
	host   string
	status int
	link   string
	text   []byte
}

// send sends a request and reads the answer.
func (c *Client) send(ctx context.Context, r request) (answer, error) {
	var sent bytes.Buffer
	if r.body != nil {
		if err := json.NewEncoder(&sent).Encode(r.body); err != nil {
			return answer{}, err
		}
	}
	if !r.long {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, answerWithin)
		defer cancel()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.target, &sent)
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept", "application/json")
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.once != "" {
		req.Header.Set("Idempotency-Key", r.once)
	}
	resp, err := c.http.Do(req) //nolint:gosec // the URL is the operator's own
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close() // only read
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	return answer{resp.Request.URL.Host, resp.StatusCode, resp.Header.Get("Link"), text}, err
}

// refusal returns the error in the answer.
func (a answer) refusal() error {
	var e petstore.Error
	ours := json.Unmarshal(a.text, &e) == nil && e.Code != "" && e.Message != ""
	switch {
	case ours && e.Code == "route_not_found": // of the public listener
		return fmt.Errorf("%s has no operator's API; give the URL of the operations listener (--ops-addr of serve)", a.host)
	case ours:
		return &e
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(a.text)), "\n")
	return fmt.Errorf("%s is no operations listener with the operator's API: it answers %d %.200s", a.host, a.status, line)
}

// list reads all pages of a list.
func list[T any](ctx context.Context, c *Client, target string) ([]T, error) {
	all := []T{}
	for target != "" {
		page, link, err := call[[]T](ctx, c, request{method: http.MethodGet, target: target})
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if target, _, _ = strings.Cut(strings.TrimPrefix(link, "<"), ">"); target != "" && !strings.HasPrefix(target, Root) {
			return nil, errors.New("the list goes on elsewhere")
		}
	}
	return all, nil
}

func one[T any](ctx context.Context, c *Client, r request) (T, error) {
	result, _, err := call[T](ctx, c, r)
	return result, err
}

// Root is the path of the operator's API.
const Root = "/admin/v1"

// Find implements [Operator].
func (c *Client) Find(ctx context.Context, name string) (Workspace, error) {
	found, err := list[Workspace](ctx, c, Root+"/workspaces?name="+url.QueryEscape(name))
	if err != nil {
		return Workspace{}, err
	}
	if len(found) == 0 {
		return Workspace{}, noWorkspace(name)
	}
	return found[0], nil
}

// workspacePath returns the path of a workspace.
func workspacePath(id int64) string { return Root + "/workspaces/" + strconv.FormatInt(id, 10) }

// onKey sends a request about a key. r.target is appended to the key's path. An id that
// is not well formed is refused, since one such as ".." would lead to another path.
func (c *Client) onKey(ctx context.Context, id string, r request) (Key, error) {
	if !access.WellFormedID(id) {
		return Key{}, access.NoKey(id)
	}
	r.target = Root + "/keys/" + id + r.target
	return one[Key](ctx, c, r)
}

// CreateWorkspace implements [Operator].
func (c *Client) CreateWorkspace(ctx context.Context, n NewWorkspace) (Workspace, error) {
	return one[Workspace](ctx, c, request{method: http.MethodPost, target: Root + "/workspaces", body: n})
}

// Workspaces implements [Operator].
func (c *Client) Workspaces(ctx context.Context) ([]Workspace, error) {
	all, err := list[Workspace](ctx, c, Root+"/workspaces?limit=100")
	return byName(all), err
}

// Workspace implements [Operator].
func (c *Client) Workspace(ctx context.Context, id int64) (WorkspaceDetail, error) {
	return one[WorkspaceDetail](ctx, c, request{method: http.MethodGet, target: workspacePath(id)})
}

// Rename implements [Operator].
func (c *Client) Rename(ctx context.Context, id int64, to string) (Workspace, error) {
	return one[Workspace](ctx, c, request{method: http.MethodPatch, target: workspacePath(id), body: map[string]string{"name": to}})
}

// SetPlan implements [Operator].
func (c *Client) SetPlan(ctx context.Context, id int64, p Plan) (Workspace, error) {
	return one[Workspace](ctx, c, request{method: http.MethodPut, target: workspacePath(id) + "/plan", body: p})
}

// Reset implements [Operator].
func (c *Client) Reset(ctx context.Context, id int64) error {
	_, err := one[struct{}](ctx, c, request{method: http.MethodPost, target: workspacePath(id) + "/reset", long: true})
	return err
}

// Delete implements [Operator].
func (c *Client) Delete(ctx context.Context, id int64) error {
	_, err := one[struct{}](ctx, c, request{method: http.MethodDelete, target: workspacePath(id), long: true})
	return err
}

// Keys implements [Operator].
func (c *Client) Keys(ctx context.Context, workspace int64) ([]Key, error) {
	return list[Key](ctx, c, workspacePath(workspace)+"/keys?limit=100")
}

// CreateKey implements [Operator].
func (c *Client) CreateKey(ctx context.Context, workspace int64, n NewKey) (Key, error) {
	return one[Key](ctx, c, request{method: http.MethodPost, target: workspacePath(workspace) + "/keys", body: n, once: rand.Text()})
}

// RotateKey implements [Operator].
func (c *Client) RotateKey(ctx context.Context, id string, overlap time.Duration) (Key, error) {
	return c.onKey(ctx, id, request{method: http.MethodPost, target: "/rotate", body: map[string]string{"overlap": seconds(overlap)}, once: rand.Text()})
}

// RevokeKey implements [Operator].
func (c *Client) RevokeKey(ctx context.Context, id string) (Key, error) {
	return c.onKey(ctx, id, request{method: http.MethodDelete})
}

// BanKey implements [Operator].
func (c *Client) BanKey(ctx context.Context, id string, b NewBan) (Key, error) {
	return c.onKey(ctx, id, request{method: http.MethodPut, target: "/ban", body: map[string]string{"for": seconds(b.For), "reason": b.Reason}})
}

// UnbanKey implements [Operator].
func (c *Client) UnbanKey(ctx context.Context, id string) (Key, error) {
	return c.onKey(ctx, id, request{method: http.MethodDelete, target: "/ban"})
}

// seconds returns a duration in the form of the API, rounded up to whole seconds.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10) + "s"
}
