package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/node"
	"example.com/petstore/internal/processtest"
)

// operate runs a command on a server of operators, where the workspace acme has the id 7. As soon as that was told, another
// workspace has the name.
func operate(t *testing.T, server http.HandlerFunc, args ...string) (code int, out, said string) {
	t.Helper()
	id := 7
	return call(t, func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("name") == "acme" {
			fmt.Fprintf(w, `[{"id":%d,"name":"acme"}]`, id)
			id++
			return
		}
		server(w, r)
	}, args...)
}

// TestOperatorsRequests: arguments and flags arrive where the description of the operator's API says. A workspace that was
// looked up by its name is the one that is asked for, also when another has the name by then.
func TestOperatorsRequests(t *testing.T) {
	t.Parallel()
	const id = "key_0123456789abcdef"
	for _, test := range []struct{ command, method, path, body string }{
		{"workspace create zoo --plan enterprise --per-minute 5 --per-day 50", "POST", "/workspaces", `{"name":"zoo","perDay":50,"perMinute":5,"plan":"enterprise"}`},
		{"workspace list", "GET", "/workspaces?limit=100", ""},
		{"workspace show acme", "GET", "/workspaces/7", ""},
		{"workspace rename acme zoo", "PATCH", "/workspaces/7", `{"name":"zoo"}`},
		{"workspace set-plan acme pro", "PUT", "/workspaces/7/plan", `{"plan":"pro"}`},
		{"workspace set-plan acme enterprise --per-minute 5 --per-day 50", "PUT", "/workspaces/7/plan", `{"perDay":50,"perMinute":5,"plan":"enterprise"}`},
		{"workspace reset acme --yes", "POST", "/workspaces/7/reset", ""},
		{"workspace delete acme --yes", "DELETE", "/workspaces/7", ""},
		{"key list acme", "GET", "/workspaces/7/keys?limit=100", ""},
		{"key create acme", "POST", "/workspaces/7/keys", `{"name":"default"}`},
		{"key create acme --name till --scope read,write --scope read", "POST", "/workspaces/7/keys", `{"name":"till","scopes":["read","write"]}`},
		{"key show " + id, "GET", "/keys/" + id, ""},
		{"key update " + id + " --expires never", "PATCH", "/keys/" + id, `{"expiresAt":null}`},
		{"key rotate " + id, "POST", "/keys/" + id + "/rotate", `{}`},
		{"key rotate " + id + " --overlap 1500ms", "POST", "/keys/" + id + "/rotate", `{"overlap":"2s"}`},
		{"key revoke " + id, "DELETE", "/keys/" + id, ""},
		{"key ban " + id + " --for 1h --reason why", "PUT", "/keys/" + id + "/ban", `{"for":"3600s","reason":"why"}`},
		{"key unban " + id, "DELETE", "/keys/" + id + "/ban", ""},
	} {
		t.Run(test.command, func(t *testing.T) {
			t.Parallel()
			asked := false
			code, _, said := operate(t, func(w http.ResponseWriter, r *http.Request) {
				asked = true
				var body bytes.Buffer
				_, _ = body.ReadFrom(r.Body)
				if r.Method != test.method || r.RequestURI != "/admin/v1"+test.path || body.String() != test.body {
					t.Errorf("the request is %s %s %s, want %s %s %s", r.Method, r.RequestURI, &body, test.method, test.path, test.body)
				}
				if body := "{}"; test.method != "GET" || !strings.Contains(test.path, "?") {
					fmt.Fprint(w, body)
				} else {
					fmt.Fprint(w, "[]")
				}
			}, strings.Fields(test.command)...)
			if code != Success || !asked {
				t.Errorf("%s = %d, said %q", test.command, code, said)
			}
		})
	}
}

// TestOperatorsMistakes: what a server refuses names the argument or the flag, and what is no key's id leads to no path of
// the server's.
func TestOperatorsMistakes(t *testing.T) {
	t.Parallel()
	const id = "key_0123456789abcdef"
	for command, want := range map[string]string{
		"workspace rename acme zoo":                  "2 NEW: must not be bad",
		"key create acme --name zoo":                 "2 --name: must not be bad",
		"key create acme --name a\xff":               `2 --name: "a\xff": must be valid UTF-8`,
		"workspace rename acme a\xff":                `2 NEW: "a\xff": must be valid UTF-8`,
		"key ban " + id + " --for 1h --reason a\xff": `2 --reason: "a\xff": must be valid UTF-8`,
		"key rotate " + id:                           "1 All is bad",
		"key revoke ..":                              `1 There is no key with the id ".."`,
		"key unban ../workspaces/1":                  `1 There is no key with the id "../workspaces/1"`,
		"key rotate " + id + "/ban":                  `1 There is no key with the id "key_0123456789abcdef/ban"`,
		"key ban key_x --for 1h --reason x":          `1 There is no key with the id "key_x"`,
		"key update pst_x --name x":                  "1 This is a key, not its id. Ids of keys begin with key_",
		"workspace show zoo":                         `1 There is no workspace named "zoo"`,
		"workspace delete acme":                      "2 --yes is needed to delete the workspace acme with its keys and all its data: there is no terminal to ask on",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			code, out, said := operate(t, func(w http.ResponseWriter, r *http.Request) {
				if r.FormValue("name") != "" {
					fmt.Fprint(w, "[]")
					return
				}
				if !strings.Contains(want, "bad") {
					t.Errorf("the server was asked for %s", r.URL)
				}
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"code":"validation_failed","message":"All is bad.","status":400,"errors":[{"pointer":"/name","code":"x","message":"name must not be bad."}]}`)
			}, strings.Fields(command)...)
			if got := fmt.Sprint(code, " ", strings.TrimPrefix(said, "petstore: ")); got != want+"\n" || out != "" {
				t.Errorf("%s = %q, printed %q, want %q", command, got, out, want)
			}
		})
	}
}

// TestNotAnOperatorsAPI: an error about an answer of something else says what it answers.
func TestNotAnOperatorsAPI(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status     int
		body, want string
	}{
		{400, "Client sent an HTTP request to an HTTPS server.\n", `has no operator's API; give the URL of the operations listener (--ops-addr of serve): GET /admin/v1/workspaces: 400: this is not a response of Petstore: Bad Request: "Client sent an HTTP request to an HTTPS server."`},
		{302, "", `GET /admin/v1/workspaces: 302 leads to "/signin": is the URL of the server right?`},
		{503, "no upstream", `petstore: GET /admin/v1/workspaces: 503: this is not a response of Petstore: Service Unavailable: "no upstream"`},
		{200, "<html>", `has no operator's API; give the URL of the operations listener (--ops-addr of serve): the answer to listWorkspaces: invalid character '<' looking for beginning of value`},
		{200, "", `has no operator's API; give the URL of the operations listener (--ops-addr of serve): the answer to listWorkspaces: unexpected end of JSON input`},
		{200, `{"pets":[]}`, `has no operator's API; give the URL of the operations listener (--ops-addr of serve): the answer to listWorkspaces: json: cannot unmarshal object into Go value of type []json.RawMessage`},
		{404, `{"code":"route_not_found","message":"No.","status":404}`, "has no operator's API; give the URL of the operations listener (--ops-addr of serve): GET /admin/v1/workspaces: 404 route_not_found: No"},
	} {
		code, _, said := call(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/signin")
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		}, "workspace", "list")
		if code != Failure || !strings.HasSuffix(said, test.want+"\n") {
			t.Errorf("workspace list = %d, said %q, want %q", code, said, test.want)
		}
	}
}

// TestLostKeysComeBack: if the answer with a new key is lost, the request is repeated with the same Idempotency-Key. What
// makes no key is not repeated.
func TestLostKeysComeBack(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]int{
		"key create acme --name till":     2,
		"key rotate key_0123456789abcdef": 2,
		"workspace create zoo --plan pro": 1,
		"key revoke key_0123456789abcdef": 1,
		"workspace rename acme zoo":       1,
	} {
		var keys []string
		code, out, _ := operate(t, func(w http.ResponseWriter, r *http.Request) {
			if keys = append(keys, r.Header.Get("Idempotency-Key")); len(keys) == 1 {
				panic(http.ErrAbortHandler)
			}
			fmt.Fprint(w, `{"id":"key_1","key":"pst_1"}`)
		}, strings.Fields(command)...)
		if (code == Success) != (want == 2) || len(keys) != want || want == 2 && (keys[0] != keys[1] || !strings.Contains(out, "pst_1")) {
			t.Errorf("%s = %d, asked with the keys %q, want %d requests", command, code, keys, want)
		}
	}
}

// A brokenStore cannot be read.
type brokenStore struct{ node.Store }

var errBroken = errors.New("the disk is gone")

func (brokenStore) Secret(context.Context) ([]byte, error) { return make([]byte, 32), nil }

func (brokenStore) WorkspacePage(context.Context, int64, int, ...string) ([]access.Workspace, error) {
	return nil, errBroken
}

// TestOperatorsCauses: on a database, an error says its cause.
func TestOperatorsCauses(t *testing.T) {
	t.Parallel()
	a := &app{out: io.Discard, err: io.Discard, now: time.Now, config: config.New(), output: tables()}
	c := newAPICommand(a, readAdmin(), operationOf(t, "listWorkspaces"))
	processtest.Must(t, c.prepare(nil))
	if err := c.onStore(t.Context(), brokenStore{}); !errors.Is(err, errBroken) {
		t.Errorf("workspace list = %v, want %v", err, errBroken)
	}
}

func operationOf(t *testing.T, id string) *operation {
	t.Helper()
	for _, o := range readAdmin().Operations() {
		if o.OperationID == id {
			return o
		}
	}
	t.Fatalf("there is no operation %s", id)
	return nil
}
