package operator

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/processtest"
)

// TestClientWaits: a server that does not answer ends a command, but not one that
// removes all of a workspace, which takes its time.
func TestClientWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, err := NewClient("http://127.0.0.1:9090", "token")
		processtest.Must(t, err)
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go answerLate(far, 10*time.Minute)
			return near, nil
		}}
		c.http.Transport = transport
		defer transport.CloseIdleConnections()
		began := time.Now()
		if _, err := c.Rename(t.Context(), 1, "beta"); err == nil || time.Since(began) != 30*time.Second {
			t.Errorf("Rename = %v after %v, want an error after 30s", err, time.Since(began))
		}
		for name, remove := range map[string]func(context.Context, int64) error{"Delete": c.Delete, "Reset": c.Reset} {
			began = time.Now()
			if err := remove(t.Context(), 1); err != nil || time.Since(began) != 10*time.Minute {
				t.Errorf("%s = %v after %v, want none after 10m", name, err, time.Since(began))
			}
		}
	})
}

// TestNewClientTellsNoSecret: an error about the URL does not repeat what may be a password.
func TestNewClientTellsNoSecret(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"user:hunter2@h", "http://user:hunter2@h", "http://user:hunter2/@h", "http://h?token=hunter2"} {
		if _, err := NewClient(server, "token"); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("NewClient(%q) = %v, want an error without the secret", server, err)
		}
	}
}

// TestNotAnOperatorsAPI: an error about an answer of something else says what it answers.
func TestNotAnOperatorsAPI(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status     int
		body, want string
	}{
		{400, "Client sent an HTTP request to an HTTPS server.\n", `SERVER has no operator's API: 400: this is not a response of Petstore: Bad Request: "Client sent an HTTP request to an HTTPS server."`},
		{302, "", `GET /admin/v1/workspaces: 302 leads to "/signin": is the URL of the server right?`},
		{200, "<html>", `SERVER has no operator's API: its answer is something else: invalid character '<' looking for beginning of value`},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/signin")
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		}))
		t.Cleanup(server.Close)
		c, err := NewClient(server.URL, "token")
		processtest.Must(t, err)
		want := strings.Replace(test.want, "SERVER", server.URL, 1)
		if _, err := c.Workspaces(t.Context()); err == nil || err.Error() != want {
			t.Errorf("Workspaces = %v, want %s", err, want)
		}
	}
}

// answerLate answers the requests of a connection after a time.
func answerLate(conn net.Conn, after time.Duration) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		time.Sleep(after) // by the bubble's clock
		if _, err := io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n"); err != nil {
			return
		}
	}
}
